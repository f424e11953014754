import type { Mistake } from '../../limiter/errors'
import { parsePolicies, syncMsOf } from '../../limiter/policies/parse-policies'
import { observing } from '../../limiter/policies/variants'
import { parsed, policy } from './issues'

/** The code and the sentence of each mistake. */
function mistakesIn(...policies: unknown[]) {
  const issues: Mistake[] = []
  parsePolicies(policies, [], issues)
  return issues.map((issue) => [issue.code, String(issue)] as const)
}

describe('programs know a mistake in a policy by its code:', () => {
  const eventual = { consistency: 'eventual' }
  it.each<[code: string, ...policies: unknown[]]>([
    ['unknown_field', policy({ limmit: 1 })],
    ['missing_field', policy({ window: undefined })],
    ['too_many', ...Array.from({ length: 31 }, (_, i) => policy({ name: `p${i}` }))],
    ['duplicate_name', policy(), policy()],
    ['field_not_applicable', policy({ syncMs: 100 })],
    ['field_not_applicable', policy({ refill: 'interval' })],
    ['fields_conflict', policy({ algorithm: 'leaky-bucket', mode: 'queue', consistency: 'leased' })],
    ['fields_conflict', policy({ algorithm: 'sliding-log', ...eventual })],
    ['fields_conflict', policy({ action: 'observe', ...eventual })],
    ['fields_conflict', policy({ maxDelay: '1s' })],
    ['unsuitable_number', policy({ action: 'delay', maxDelay: '1h' })],
    ['unsuitable_number', policy({ limit: Number.MAX_SAFE_INTEGER })],
    ['unsuitable_number', policy({ algorithm: 'gcra', window: '49ms', ...eventual })],
  ])('%s', (code, ...policies) => {
    expect(mistakesIn(...policies).map(([found]) => found)).toEqual([code])
  })

  it('invalid_value, of a list that is none', () => {
    const issues: Mistake[] = []
    expect(parsePolicies({}, [], issues)).toEqual([])
    expect(issues.map(({ code }) => code)).toEqual(['invalid_value'])
  })
})

describe('the time from one sync to the next', () => {
  const syncMs = (changes: object) =>
    syncMsOf(parsed({ algorithm: 'fixed-window', consistency: 'eventual', ...changes }))

  it.each([
    ['50ms', 50],
    ['1s', 100],
    ['5s', 500],
    ['10s', 1000],
    ['1h', 1000],
  ])('is a tenth of a window of %s, from 50 ms to a second: %d ms', (window, ms) => {
    expect(syncMs({ window })).toBe(ms)
  })

  it('is what is written, up to the whole window', () => {
    expect(syncMs({ window: '5s', syncMs: 200 })).toBe(200)
    expect(syncMs({ window: '5s', syncMs: 5000 })).toBe(5000)
    expect(mistakesIn(policy({ window: '5s', consistency: 'eventual', syncMs: 5001 }))).toEqual([
      ['unsuitable_number', expect.stringContaining('syncMs must be at most the window, 5000 ms, got 5001')],
    ])
  })

  it('needs a window of 50 ms', () => {
    expect(mistakesIn(policy({ window: '49ms', consistency: 'eventual' }))).toEqual([
      ['unsuitable_number', expect.stringContaining('consistency "eventual" needs a window of at least 50ms')],
    ])
  })
})

test('a queue keeps its longest delay while the service only observes, and who would wait by action does not', () => {
  const queue = parsed({ algorithm: 'leaky-bucket', mode: 'queue', maxDelay: '2s' })
  expect(observing(queue).written).toMatchObject({ mode: 'queue', maxDelay: '2s', action: 'observe' })
  expect(observing(parsed({ action: 'delay', maxDelay: '2s' })).written).not.toHaveProperty('maxDelay')
})
