import fc from 'fast-check'
import type { Sender } from '../../../cli/simulate/requests/logged-request'
import { sharedSenders, sharedTargets } from '../../../cli/simulate/requests/shared'

const few = fc.option(fc.constantFrom('a', 'b'), { nil: undefined })

describe('senders and targets', () => {
  it('are one object exactly where they are equal', () => {
    const sender = fc.record({ subject: few, client: few, user: few, key: few, ip: few, tier: few })
    fc.assert(
      fc.property(fc.array(sender, { maxLength: 30 }), (list) => {
        const senders = sharedSenders()
        const byText = new Map<string, Sender>()
        for (const one of list) {
          const shared = senders.of({ ...one })
          expect({ ...shared, known: undefined }).toEqual({ ...one, known: undefined })
          const text = JSON.stringify(one, (_, value) => value ?? null)
          expect(byText.get(text) ?? shared).toBe(shared)
          byText.set(text, shared)
        }
        expect(new Set(byText.values()).size).toBe(byText.size)
      }),
      { numRuns: 50 },
    )
  })

  it('are told apart also where a thousand have one path', () => {
    const targets = sharedTargets()
    const list = Array.from({ length: 1000 }, (_, i) => targets.of({ path: '/', stage: String(i) }))
    expect(new Set(list).size).toBe(1000)
    expect(list.map(({ stage }) => stage)).toEqual(list.map((_, i) => String(i)))
    expect(targets.of({ path: '/', stage: '999' })).toBe(list[999])
  })
})
