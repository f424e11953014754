import fc from 'fast-check'
import { codePoint } from '../code-point'
import { runs } from '../runs'
import { Gateway, httpEvent, restEvent } from './gateway'
import { expectAnswer, garbage, mangled } from './mangled'

describe('any event is answered, and none makes the authorizer throw', () => {
  it('when it is no event at all', async () => {
    const gateway = new Gateway()
    await fc.assert(
      fc.asyncProperty(garbage, async (event) => {
        const answer = await gateway.authorize(event)
        expectAnswer(answer)
        expect(answer.context.reason).toBe('malformed')
        expect(answer.context.allowed).toBe(false)
      }),
      { numRuns: runs(80, 2000) },
    )
    expect(gateway.entries).toEqual([])
  })

  it('when it is almost a valid event', async () => {
    const gateway = new Gateway()
    await fc.assert(
      fc.asyncProperty(mangled, async (event) => {
        expectAnswer(await gateway.authorize(event))
      }),
      { numRuns: runs(80, 2000) },
    )
    expect(gateway.entries).toEqual([])
    expect(gateway.callers).toBeLessThanOrEqual(4) // two clients, one address, and what is none
  })

  it('with whatever method, path, key and address a client can send', async () => {
    const gateway = new Gateway()
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: codePoint }),
      fc.constantFrom('/search', '/batch', `/${'a/'.repeat(4000)}`),
    )
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        fc.oneof(text, fc.ipV4(), fc.ipV6()),
        fc.boolean(),
        async (path, key, ip, isRest) => {
          const request = { path: `/${path}`, key, ip }
          expectAnswer(await gateway.authorize(isRest ? restEvent(request) : httpEvent(request)))
        },
      ),
      { numRuns: runs(50, 500) },
    )
    expect(gateway.entries).toEqual([])
  })
})
