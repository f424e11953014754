import fc from 'fast-check'
import { apply, holds } from '../../limiter/algorithms/conditional-write'
import { createLimiter } from '../../limiter/create-limiter'
import type { Mistake } from '../../limiter/errors'
import { MAX_DURATION_MS } from '../../limiter/policies/duration'
import { MAX_POLICIES, POLICY_FIELDS, parsePolicies } from '../../limiter/policies/parse-policies'
import { ALGORITHM_NAMES, type PolicyInput } from '../../limiter/policies/policy'
import { withoutLimit, withShare } from '../../limiter/policies/variants'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'
import { issuesIn, issuesOf, parsed, policy, RUBBISH } from './issues'

const HERE = '(policy "per-minute")'
const NAMES = 'a name of 1 to 64 letters, digits, ".", "_" or "-"'
const ALGORITHMS =
  'one of fixed-window, anchored-window, sliding-window, sliding-buckets, sliding-log, token-bucket, leaky-bucket, gcra, concurrency'
const WINDOWS =
  'a duration such as "250ms", "30s", "1m", "12h" or "7d", at most ten years, or one of day, week, month, year'
const FIELDS =
  'name, algorithm, limit, window, timeout, cost, timezone, overage, burst, refill, mode, maxDelay, action, delayIn, blockFor, after, extend, overrun, buckets, countDenied, consistency, syncMs, fair'

const BLOCKS = 'a duration such as "500ms" or "2s"'
const BY_ITSELF =
  'consistency must be "strict" where each unit is charged by itself: a leaky-bucket in mode "queue", a sliding-log with countDenied, ' +
  'overage "allow", blockFor, action "delay" or concurrency'

describe('a mistake is reported in one sentence with the field, what was wanted, what was got and where:', () => {
  it.each<[field: string, got: unknown, sentence: string, others?: Record<string, unknown>]>([
    ['limit', 0, 'limit must be a positive integer, got 0'],
    ['limit', -1, 'limit must be a positive integer, got -1'],
    ['limit', 1.5, 'limit must be a positive integer, got 1.5'],
    ['limit', '60', 'limit must be a positive integer, got "60"'],
    ['limit', Number.NaN, 'limit must be a positive integer, got NaN'],
    ['limit', Infinity, 'limit must be a positive integer, got Infinity'],
    ['limit', null, 'limit must be a positive integer, got null'],
    ['limit', 60n, 'limit must be a positive integer, got 60n'],
    ['limit', [60], 'limit must be a positive integer, got a list'],
    ['limit', undefined, 'limit is missing, it must be a positive integer'],
    ['limit', 1_000_000_000_000_000, 'limit must be at most 999999999999999, got 1000000000000000'],
    ['limit', 1e18, 'limit must be at most 999999999999999, got 1000000000000000000'],
    ['window', '1', `window must be ${WINDOWS}, got "1"`],
    ['window', '0s', `window must be ${WINDOWS}, got "0s"`],
    ['window', '3661d', `window must be ${WINDOWS}, got "3661d"`],
    ['window', 'hour', `window must be ${WINDOWS}, got "hour"`],
    ['window', 60, `window must be ${WINDOWS}, got 60`],
    ['window', undefined, `window is missing, it must be ${WINDOWS}`],
    ['algorithm', 'sliding', `algorithm must be ${ALGORITHMS}, got "sliding"`],
    ['algorithm', 'constructor', `algorithm must be ${ALGORITHMS}, got "constructor"`],
    ['algorithm', '__proto__', `algorithm must be ${ALGORITHMS}, got "__proto__"`],
    ['algorithm', null, `algorithm must be ${ALGORITHMS}, got null`],
    [
      'timezone',
      'Berlin',
      'timezone must be an IANA time zone such as "Europe/Berlin", got "Berlin"',
      { algorithm: 'fixed-window', window: 'day' },
    ],
    [
      'timezone',
      1,
      'timezone must be an IANA time zone such as "Europe/Berlin", got 1',
      { algorithm: 'fixed-window', window: 'day' },
    ],
    ['burst', 0, 'burst must be a positive integer, got 0', { algorithm: 'gcra' }],
    ['burst', '10', 'burst must be a positive integer, got "10"', { algorithm: 'gcra' }],
    ['refill', 'lazy', 'refill must be "greedy" or "interval", got "lazy"', { algorithm: 'token-bucket' }],
    ['mode', 'pipe', 'mode must be "meter" or "queue", got "pipe"', { algorithm: 'leaky-bucket' }],
    [
      'maxDelay',
      500,
      'maxDelay must be a duration such as "500ms" or "2s", got 500',
      { algorithm: 'leaky-bucket', mode: 'queue' },
    ],
    [
      'maxDelay',
      'day',
      'maxDelay must be a duration such as "500ms" or "2s", got "day"',
      { algorithm: 'leaky-bucket', mode: 'queue' },
    ],
    ['buckets', 1, 'buckets must be an integer from 2 to 120, got 1', { algorithm: 'sliding-buckets' }],
    ['buckets', 121, 'buckets must be an integer from 2 to 120, got 121', { algorithm: 'sliding-buckets' }],
    ['buckets', 2.5, 'buckets must be an integer from 2 to 120, got 2.5', { algorithm: 'sliding-buckets' }],
    ['overage', true, 'overage must be "deny" or "allow", got true', { algorithm: 'fixed-window' }],
    ['countDenied', 'yes', 'countDenied must be true or false, got "yes"', { algorithm: 'sliding-log' }],
    ['blockFor', '15 minutes', `blockFor must be ${BLOCKS}, got "15 minutes"`],
    ['blockFor', '0s', `blockFor must be ${BLOCKS}, got "0s"`],
    ['blockFor', '3661d', `blockFor must be ${BLOCKS}, got "3661d"`],
    ['after', 0, 'after must be an integer from 1 to 1000, got 0', { blockFor: '1m' }],
    ['after', 1001, 'after must be an integer from 1 to 1000, got 1001', { blockFor: '1m' }],
    ['extend', 'yes', 'extend must be true or false, got "yes"', { blockFor: '1m' }],
    ['consistency', 'leased', `${BY_ITSELF}, got "leased"`, { blockFor: '1m' }],
    ['consistency', 'eventual', `${BY_ITSELF}, got "eventual"`, { blockFor: '1m' }],
    ['consistency', 'weak', 'consistency must be one of strict, leased, eventual, got "weak"'],
    ['syncMs', 49, 'syncMs must be an integer from 50 to 60000, in milliseconds, got 49', { consistency: 'eventual' }],
    [
      'syncMs',
      '1s',
      'syncMs must be an integer from 50 to 60000, in milliseconds, got "1s"',
      { consistency: 'eventual' },
    ],
    ['syncMs', 500, 'syncMs applies to consistency "eventual" only', { consistency: 'leased' }],
    ['consistency', 'leased', `${BY_ITSELF}, got "leased"`, { algorithm: 'leaky-bucket', mode: 'queue' }],
    ['consistency', 'eventual', `${BY_ITSELF}, got "eventual"`, { algorithm: 'sliding-log', countDenied: true }],
    ['consistency', 'leased', `${BY_ITSELF}, got "leased"`, { algorithm: 'fixed-window', overage: 'allow' }],
    [
      'consistency',
      'eventual',
      'consistency "eventual" may count past the limit, for which a sliding-log has no room, take "leased"',
      { algorithm: 'sliding-log' },
    ],
    ['tiemzone', 'UTC', 'unknown field "tiemzone", did you mean "timezone"?'],
    ['Limit', 60, 'unknown field "Limit", did you mean "limit"?'],
    ['colour', 'red', `unknown field "colour", known are ${FIELDS}`],
  ])('%s: %p', (field, got, sentence, others = {}) => {
    expect(issuesIn([policy({ ...others, [field]: got })])).toEqual([`${sentence} ${HERE}`])
  })

  it('the policy by its position if its name is not a string, and by a short form of a long name', () => {
    expect(issuesIn([policy({ name: undefined })])).toEqual([`name is missing, it must be ${NAMES} (policy 1)`])
    expect(issuesIn([policy(), policy({ name: 7 })])).toEqual([`name must be ${NAMES}, got 7 (policy 2)`])
    expect(issuesIn([policy({ name: '' })])).toEqual([`name must be ${NAMES}, got "" (policy "")`])
    expect(issuesIn([policy({ name: 'per minute' })])).toEqual([
      `name must be ${NAMES}, got "per minute" (policy "per minute")`,
    ])
    expect(issuesIn([policy({ name: '-x' })])).toEqual([`name must be ${NAMES}, got "-x" (policy "-x")`])
    expect(issuesIn([policy({ name: 'x'.repeat(65) })])[0]).toHaveLength(
      `name must be ${NAMES}, got "" (policy "")`.length + 2 * 61,
    )
    expect(issuesIn([policy({ name: 'x"\n' })])).toEqual([`name must be ${NAMES}, got "x\\"\\n" (policy "x\\"\\n")`])
  })

  it('the place with the outermost part first', () => {
    expect(issuesIn([policy({ limit: 0 })], ['tiers.yaml', 'tier "free"'])).toEqual([
      'limit must be a positive integer, got 0 (tiers.yaml, tier "free", policy "per-minute")',
    ])
  })

  it.each(['policies', 1, {}, null, true, new Set([policy()])])('a list of policies that is %p', (list) => {
    expect(issuesIn(list, ['tier "free"'])).toEqual([
      expect.stringMatching(/^policies must be a list, got .* \(tier "free"\)$/),
    ])
  })

  it.each([null, undefined, 5, 'x', [], [policy()]])('a policy that is %p', (item) => {
    expect(issuesIn([policy(), item])).toEqual([
      expect.stringMatching(/^a policy must be an object, got .* \(policy 2\)$/),
    ])
  })

  it('a hole in a list', () => {
    const holes: unknown[] = [policy()]
    holes[2] = policy({ name: 'other' })
    expect(issuesIn(holes)).toEqual(['a policy must be an object, got undefined (policy 2)'])
  })
})

describe('fields that do not go together', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ timezone: 'UTC', algorithm: 'gcra' }, 'timezone does not apply to algorithm "gcra", only to fixed-window'],
    [{ overage: 'allow' }, 'overage does not apply to algorithm "sliding-window", only to fixed-window'],
    [{ overage: 'deny', algorithm: 'gcra' }, 'overage does not apply to algorithm "gcra", only to fixed-window'],
    [{ burst: 5 }, 'burst does not apply to algorithm "sliding-window", only to token-bucket, leaky-bucket, gcra'],
    [
      { burst: 5, algorithm: 'fixed-window' },
      'burst does not apply to algorithm "fixed-window", only to token-bucket, leaky-bucket, gcra',
    ],
    [{ refill: 'greedy', algorithm: 'gcra' }, 'refill does not apply to algorithm "gcra", only to token-bucket'],
    [
      { mode: 'queue', algorithm: 'token-bucket' },
      'mode does not apply to algorithm "token-bucket", only to leaky-bucket',
    ],
    [
      { buckets: 60, algorithm: 'sliding-window' },
      'buckets does not apply to algorithm "sliding-window", only to sliding-buckets',
    ],
    [{ countDenied: false }, 'countDenied does not apply to algorithm "sliding-window", only to sliding-log'],
    [{ window: 'day', algorithm: 'gcra' }, 'window "day" needs algorithm "fixed-window", got "gcra"'],
    [{ window: 'month' }, 'window "month" needs algorithm "fixed-window", got "sliding-window"'],
    [
      { timezone: 'UTC', algorithm: 'fixed-window' },
      'timezone applies to the windows day, week, month and year only, got "1m"',
    ],
    [
      { algorithm: 'sliding-buckets', buckets: 7 },
      'buckets must divide the window into whole milliseconds, got 7 for window "1m"',
    ],
    [
      { algorithm: 'sliding-buckets', window: '250ms' },
      'buckets must divide the window into whole milliseconds, got the default of 60 for window "250ms"',
    ],
    [
      { algorithm: 'sliding-log', limit: 10_001 },
      'limit must be at most 10000 for a sliding-log, which stores every unit, got 10001',
    ],
    [
      { algorithm: 'gcra', window: '1ms', limit: 1001 },
      'limit must be at most 1000 for this window, a unit per microsecond, got 1001',
    ],
    [
      { algorithm: 'leaky-bucket', window: '1s', limit: 1_000_001 },
      'limit must be at most 1000000 for this window, a unit per microsecond, got 1000001',
    ],
    [
      { algorithm: 'token-bucket', window: '1s', limit: 1_000_001 },
      'limit must be at most 1000000 for this window, a unit per microsecond, got 1000001',
    ],
    [
      { algorithm: 'gcra', limit: 60, burst: 4_503_599_628 },
      'burst must be at most 4503599627 at this pace, which takes 142 years to refill, got 4503599628',
    ],
    [
      { algorithm: 'leaky-bucket', limit: 1, window: '3660d', burst: 15 },
      'burst must be at most 14 at this pace, which takes 142 years to refill, got 15',
    ],
    [
      { algorithm: 'token-bucket', limit: 60, burst: 1e18 },
      'burst must be at most 4503599627 at this pace, which takes 142 years to refill, got 1000000000000000000',
    ],
    [
      { algorithm: 'token-bucket', refill: 'interval', limit: 2, window: '3660d', burst: 29 },
      'burst must be at most 28 at this pace, which takes 142 years to refill, got 29',
    ],
    [
      { algorithm: 'token-bucket', refill: 'interval', limit: 999_999_999, window: '1ms', burst: 1e15 },
      'burst must be at most 999999999999999 at this pace, which takes 142 years to refill, got 1000000000000000',
    ],
  ])('are rejected: %j', (fields, sentence) => {
    expect(issuesIn([policy(fields)])).toEqual([`${sentence} ${HERE}`])
  })

  it.each<Record<string, unknown>>([
    { algorithm: 'sliding-log', limit: 10_000 },
    { algorithm: 'gcra', window: '1ms', limit: 1000 },
    { algorithm: 'gcra', limit: 60, burst: 4_503_599_627 },
    { algorithm: 'leaky-bucket', limit: 1, window: '3660d', burst: 14 },
    { algorithm: 'token-bucket', refill: 'interval', limit: 2, window: '3660d', burst: 28 },
    { algorithm: 'token-bucket', refill: 'interval', window: '1ms', limit: 999_999_999_999_999 },
    { algorithm: 'leaky-bucket', mode: 'queue', maxDelay: '1ms' },
    { algorithm: 'sliding-buckets', buckets: 120 },
    { algorithm: 'sliding-buckets', buckets: 2, window: '2ms' },
    { limit: 999_999_999_999_999, window: '3660d' },
    { name: 'x'.repeat(64) },
    { name: '0._-' },
    { timezone: undefined, burst: undefined, algorithm: undefined },
  ])('at a bound are accepted: %j', (fields) => {
    expect(issuesIn([policy(fields)])).toEqual([])
  })
})

describe('a policy on running requests', () => {
  const running = (fields: Record<string, unknown> = {}) =>
    policy({ algorithm: 'concurrency', limit: 4, window: undefined, timeout: '60s', ...fields })
  const TIMEOUT = 'a duration from "1s" to "24h", such as "60s"'
  const none = (field: string) => `${field} does not apply to algorithm "concurrency"`

  it.each<Record<string, unknown>>([
    {},
    { limit: 1, timeout: '1s' },
    { limit: 1000, timeout: '24h' },
    { action: 'observe' },
    { action: 'deny', consistency: 'strict' },
  ])('is accepted: %j', (fields) => {
    expect(issuesIn([running(fields)])).toEqual([])
  })

  it.each<[fields: Record<string, unknown>, ...sentences: string[]]>([
    [{ timeout: undefined }, `timeout is missing, it must be ${TIMEOUT}`],
    [{ timeout: 60 }, `timeout must be ${TIMEOUT}, got 60`],
    [{ timeout: '999ms' }, 'timeout must be from "1s" to "24h", got "999ms"'],
    [{ timeout: '25h' }, 'timeout must be from "1s" to "24h", got "25h"'],
    [{ limit: 0 }, 'limit must be a positive integer, got 0'],
    [{ limit: 1001 }, 'limit must be at most 1000 for algorithm "concurrency", got 1001'],
    [{ window: '1m' }, none('window')],
    [{ window: 'day' }, none('window')],
    [{ window: undefined, cost: 'tokens' }, none('cost')],
    [{ blockFor: '1m', after: 2, extend: true }, none('blockFor'), none('after'), none('extend')],
    [{ overrun: '10%' }, none('overrun')],
    [{ burst: 5 }, `${none('burst')}, only to token-bucket, leaky-bucket, gcra`],
    [{ overage: 'allow' }, `${none('overage')}, only to fixed-window`],
    [{ action: 'deprioritize' }, 'action must be "deny" or "observe" for algorithm "concurrency", got "deprioritize"'],
    [
      { action: 'delay', maxDelay: '1s' },
      none('maxDelay'),
      'action must be "deny" or "observe" for algorithm "concurrency", got "delay"',
    ],
    [{ consistency: 'leased' }, `${BY_ITSELF}, got "leased"`],
    [{ consistency: 'eventual' }, `${BY_ITSELF}, got "eventual"`],
    [{ syncMs: 500 }, none('syncMs'), 'syncMs applies to consistency "eventual" only'],
  ])('is rejected: %j', (fields, ...sentences) => {
    expect(issuesIn([running(fields)])).toEqual(sentences.map((sentence) => `${sentence} ${HERE}`))
  })

  it('has a timeout, which no other has', () => {
    expect(issuesIn([policy({ timeout: '60s' })])).toEqual([
      `timeout does not apply to algorithm "sliding-window", only to concurrency ${HERE}`,
    ])
  })

  it('counts in the same state whatever its numbers, and apart from what counts in time', () => {
    const schema = ({ stateSchema }: { readonly stateSchema: string }) => stateSchema
    const [one] = parsePolicies([running()], [], [])
    const [other] = parsePolicies([running({ limit: 9, timeout: '5m', action: 'observe' })], [], [])
    expect(schema(one!)).toBe(schema(other!))
    expect(schema(one!)).not.toBe(schema(parsed({})))
    expect(withShare(one!, 0.5)).toMatchObject({ limit: 2, written: { timeout: '60s' } })
    expect(withShare(one!, 0.1)).toMatchObject({ limit: 1 })
    expect(withoutLimit(one!)).toMatchObject({ limit: 1000 })
  })
})

describe('several mistakes', () => {
  it('are all reported at once, of one policy and of all', () => {
    const wrong = { name: 'a b', limit: 0, window: '1 minute', algorithm: 'gcr', mode: 1, colour: 'red' }
    expect(issuesIn([wrong, 5, policy({ name: 'a' }), policy({ name: 'a', limit: -1, window: undefined })])).toEqual([
      `unknown field "colour", known are ${FIELDS} (policy "a b")`,
      `name must be ${NAMES}, got "a b" (policy "a b")`,
      `algorithm must be ${ALGORITHMS}, got "gcr", did you mean "gcra"? (policy "a b")`,
      'limit must be a positive integer, got 0 (policy "a b")',
      `window must be ${WINDOWS}, got "1 minute" (policy "a b")`,
      'mode must be "meter" or "queue", got 1 (policy "a b")',
      'a policy must be an object, got 5 (policy 2)',
      'limit must be a positive integer, got -1 (policy "a")',
      `window is missing, it must be ${WINDOWS} (policy "a")`,
      'name must be unique, and policy 3 has this one already (policy "a")',
    ])
  })

  it('do not hide each other, if one is in a field and another in a combination of fields', () => {
    expect(issuesIn([policy({ algorithm: 'gcra', limit: 0, buckets: 60, timezone: 'UTC' })])).toEqual([
      `limit must be a positive integer, got 0 ${HERE}`,
      `timezone does not apply to algorithm "gcra", only to fixed-window ${HERE}`,
      `buckets does not apply to algorithm "gcra", only to sliding-buckets ${HERE}`,
    ])
    expect(issuesIn([policy({ name: '!', algorithm: 'gcra', burst: 1e16, colour: 1 })])).toEqual([
      expect.stringContaining('unknown field "colour"'),
      expect.stringContaining('name must be'),
      expect.stringContaining('burst must be at most 4503599627 at this pace'),
    ])
  })

  it('do not include fields whose validity depends on an invalid field', () => {
    expect(issuesIn([policy({ algorithm: 'gcr', burst: 5, buckets: 7, window: 'day' })])).toEqual([
      `algorithm must be ${ALGORITHMS}, got "gcr", did you mean "gcra"? ${HERE}`,
    ])
    expect(issuesIn([policy({ algorithm: 'sliding-buckets', window: '250ms', buckets: 0 })])).toEqual([
      `buckets must be an integer from 2 to 120, got 0 ${HERE}`,
    ])
    expect(issuesIn([policy({ algorithm: 'fixed-window', window: 'hour', timezone: 'UTC' })])).toEqual([
      `window must be ${WINDOWS}, got "hour" ${HERE}`,
    ])
    expect(issuesIn([policy({ algorithm: 'sliding-log', limit: 20_000, window: undefined })])).toEqual([
      `window is missing, it must be ${WINDOWS} ${HERE}`,
    ])
  })

  it('include each later policy with the same name', () => {
    expect(issuesIn([policy(), policy(), policy()])).toEqual([
      `name must be unique, and policy 1 has this one already ${HERE}`,
      `name must be unique, and policy 1 has this one already ${HERE}`,
    ])
    expect(issuesIn([policy({ name: undefined }), policy({ name: undefined })])).toHaveLength(2)
  })

  it('include more than thirty policies', () => {
    const policies = Array.from({ length: MAX_POLICIES }, (_, i) => policy({ name: `p${i}` }))
    expect(issuesIn(policies)).toEqual([])
    expect(issuesIn([...policies, policy()], ['tier "free"'])).toEqual([
      'policies must be at most 30, got 31 (tier "free")',
    ])
    const locking = policies.slice(0, 15).map((one) => ({ ...one, blockFor: '1m' }))
    expect(issuesIn(locking)).toEqual([])
    expect(issuesIn([...locking, policy()], ['tier "free"'])).toEqual([
      'policies must be at most 30, got 31 (tier "free")',
    ])
    expect(issuesIn([...policies.slice(1), { ...policies[0], limit: 0 }, 5, 6])).toEqual([
      'policies must be at most 30, got 32',
      'limit must be a positive integer, got 0 (policy "p0")',
    ])
  })

  it('include twenty unknown fields by name, and the number of the rest', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field-${i}`, i]))
    const issues = issuesIn([{ ...policy(), ...many }])
    expect(issues).toHaveLength(21)
    expect(issues[19]).toContain('unknown field "field-19"')
    expect(issues[20]).toBe(`9980 more unknown fields ${HERE}`)
    expect(issuesIn([{ ...policy(), ...Object.fromEntries(Object.entries(many).slice(0, 20)) }])).toHaveLength(20)
  })
})

describe('an unknown field', () => {
  it.each([
    ['nmae', 'name'],
    ['lmit', 'limit'],
    ['limits', 'limit'],
    ['windows', 'window'],
    ['WINDOW', 'window'],
    ['time_zone', 'timezone'],
    ['max-delay', 'maxDelay'],
    ['node', 'mode'], // closer than "name"
    ['count_denied', 'countDenied'],
    ['bukkets', 'buckets'],
  ])('named %s suggests %s', (written, meant) => {
    expect(issuesIn([policy({ [written]: 1 })])).toEqual([
      `unknown field "${written}", did you mean "${meant}"? ${HERE}`,
    ])
  })

  it.each([
    '',
    'x',
    'xy',
    'period',
    'by',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'limit\u0000\u0000\u0000',
    '限',
  ])('named %p suggests no other', (written) => {
    const own = Object.defineProperty(policy(), written, { value: 1, enumerable: true })
    expect(issuesIn([own])).toEqual([`unknown field ${JSON.stringify(written)}, known are ${FIELDS} ${HERE}`])
  })
})

describe('a valid policy', () => {
  it('is a sliding window by default', () => {
    expect(parsed()).toMatchObject({
      name: 'per-minute',
      limit: 60,
      windowMs: 60_000,
      quota: { limit: 60, windowMs: 60_000 },
    })
    expect(parsed().stateSchema).toBe('sliding-window 60000')
  })

  it('has extra fields only where these are declared', () => {
    const issues: Mistake[] = []
    const extras = { by: { ...POLICY_FIELDS.name, optional: true } } as const
    expect(
      parsePolicies([policy({ by: 'client' }), policy({ name: 'b' })], [], issues, extras).map(({ extra }) => extra),
    ).toEqual([{ by: 'client' }, { by: undefined }])
    expect(parsePolicies([policy({ by: '!' })], [], issues, extras)).toEqual([])
    expect(issues.map(String)).toEqual([`by must be ${NAMES}, got "!" ${HERE}`])
    expect(issuesIn([policy({ by: 'client' })])).toEqual([`unknown field "by", known are ${FIELDS} ${HERE}`])
  })

  it('is returned even if others are invalid', () => {
    const issues: Mistake[] = []
    const good = parsePolicies(
      [policy({ limit: 0 }), policy({ name: 'good' }), policy({ name: 'good' }), null],
      [],
      issues,
    )
    expect(good.map(({ name }) => name)).toEqual(['good'])
    expect(issues).toHaveLength(3)
  })
})

const anyInput: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...RUBBISH),
  fc.anything({
    maxDepth: 1,
    maxKeys: 3,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSparseArray: true,
  }),
  fc.string(),
)
const anyLimit = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.maxSafeNat(), fc.double(), anyInput)
const anyWindow = fc.oneof(fc.constantFrom('1s', '1m', '1d', '250ms', 'day', 'month', '3660d', '1ms'), anyInput)
const nearlyAPolicy: fc.Arbitrary<unknown> = fc.record(
  {
    name: fc.oneof(fc.constantFrom('a', 'b', '__proto__', 'constructor'), anyInput),
    algorithm: fc.oneof(fc.constantFrom(...ALGORITHM_NAMES), anyInput),
    limit: anyLimit,
    window: anyWindow,
    timezone: fc.oneof(fc.constantFrom('UTC', 'Europe/Berlin'), anyInput),
    overage: fc.oneof(fc.constantFrom('deny', 'allow'), anyInput),
    burst: anyLimit,
    refill: fc.oneof(fc.constantFrom('greedy', 'interval'), anyInput),
    mode: fc.oneof(fc.constantFrom('meter', 'queue'), anyInput),
    maxDelay: anyWindow,
    buckets: fc.oneof(fc.integer({ min: 2, max: 120 }), anyInput),
    countDenied: fc.oneof(fc.boolean(), anyInput),
    colour: anyInput,
  },
  { requiredKeys: [] },
)

describe('any input', () => {
  it('is parsed into policies that work or into issues, and nothing is thrown', () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(fc.oneof(nearlyAPolicy, anyInput)), anyInput), (input) => {
        const issues: Mistake[] = []
        const policies = parsePolicies(input, ['x'], issues)
        for (const issue of issues.map(String)) {
          if (!/ \(x(, policy .+)?\)$/s.test(issue) || issue.length > 500) throw new Error(issue)
        }
        if (Array.isArray(input) && issues.length === 0) expect(policies).toHaveLength(input.length)
        for (const { counter, windowMs, limit } of policies) {
          expect(limit).toBeGreaterThanOrEqual(1)
          expect(windowMs).toBeGreaterThanOrEqual(1)
          expect(windowMs).toBeLessThanOrEqual(MAX_DURATION_MS)
          const { verdict } = counter.step(undefined, 1, 1_700_000_000_000)
          expect(verdict.allowed).toBe(true)
          expect(Number.isSafeInteger(Math.ceil((1_700_000_000_000 + counter.retentionMs) / 1000))).toBe(true)
        }
      }),
      { numRuns: runs(100, 600) },
    )
  })

  it('is accepted if it is a complete policy: each algorithm with its own fields', () => {
    const forms: fc.Arbitrary<Partial<PolicyInput>> = fc.oneof(
      fc.record({ algorithm: fc.constantFrom('anchored-window', 'sliding-window', 'fixed-window') }),
      fc.record({ algorithm: fc.constant('fixed-window'), window: fc.constantFrom('day', 'week', 'month', 'year') }),
      fc.record({ algorithm: fc.constant('fixed-window'), overage: fc.constantFrom('deny', 'allow') }),
      fc.record({ algorithm: fc.constant('sliding-buckets'), buckets: fc.constantFrom(2, 10, 50) }),
      fc.record({ algorithm: fc.constant('sliding-log'), countDenied: fc.boolean() }),
      fc.record({
        algorithm: fc.constantFrom('gcra', 'token-bucket', 'leaky-bucket'),
        burst: fc.integer({ min: 1, max: 7000 }),
      }),
      fc.record({ algorithm: fc.constant('token-bucket'), refill: fc.constantFrom('greedy', 'interval') }),
      fc.record({
        algorithm: fc.constant('leaky-bucket'),
        mode: fc.constant('queue'),
        maxDelay: fc.constantFrom('1ms', '30s'),
      }),
    ) as fc.Arbitrary<Partial<PolicyInput>>
    const common = fc.record({
      limit: fc.integer({ min: 1, max: 10_000 }),
      window: fc.constantFrom('1s', '1m', '12h', '7d'),
    })
    fc.assert(
      fc.property(common, forms, (numbers, form) => {
        expect(issuesIn([{ name: 'p', ...numbers, ...form }])).toEqual([])
      }),
    )
  })

  it.each(Object.keys(POLICY_FIELDS))(
    'is rejected at once and not repeated in the issue if it is a megabyte in the field %s or in its name',
    (field) => {
      const megabyte = 'a1/ '.repeat(250_000)
      for (const one of [policy({ [field]: megabyte }), policy({ [`${field}${megabyte}`]: 1 })]) {
        const issues = issuesIn([one])
        expect(issues.length).toBeGreaterThanOrEqual(1)
        for (const issue of issues) expect(issue.length).toBeLessThan(400)
      }
    },
  )

  it('may use names like those of Object.prototype', () => {
    for (const name of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
      expect(issuesIn([policy({ name })])).toEqual([])
    }
    const polluting: unknown = JSON.parse(
      '[{"name": "a", "limit": 1, "window": "1s", "__proto__": {"algorithm": "gcra"}}]',
    )
    expect(issuesIn(polluting)).toEqual([`unknown field "__proto__", known are ${FIELDS} (policy "a")`])
    expect(({} as Record<string, unknown>).algorithm).toBeUndefined()
    const inherited: unknown = Object.create({ limit: 60, window: '1m', name: 'inherited' })
    expect(issuesIn([inherited])).toHaveLength(3)
  })
})

describe('createLimiter', () => {
  const store = new MemoryStore()
  const make = (options: unknown) => () => createLimiter(options as never)

  it('reports mistakes in options and policies together when it is called', () => {
    const options = {
      store: {},
      policies: [policy({ limit: 0 }), policy({ name: 'b', window: '1' })],
      clock: 5,
      deadlineMs: 0,
      firstDeadlineMs: '1s',
      denialTtlMs: -1,
      maxSubjects: 0,
      onStoreError: 'panic',
      deadline: 300,
    }
    expect(issuesOf(make(options))).toEqual([
      'unknown field "deadline", did you mean "deadlineMs"?',
      'store must be a store such as new MemoryStore() or new DynamoDbStore({ client, tableName }), got an object',
      'clock must be a function that returns epoch milliseconds, got 5',
      'deadlineMs must be milliseconds from 1 to 600000, got 0',
      'firstDeadlineMs must be milliseconds from 1 to 600000, got "1s"',
      'denialTtlMs must be milliseconds from 0 to 600000, got -1',
      'maxSubjects must be a positive integer, got 0',
      'onStoreError must be one of local, allow, deny, throw, got "panic"',
      'limit must be a positive integer, got 0 (policy "per-minute")',
      `window must be ${WINDOWS}, got "1" (policy "b")`,
    ])
  })

  it.each(RUBBISH)('rejects %p as its options, store, policies and policy', (rubbish) => {
    expect(issuesOf(make(rubbish)).length).toBeGreaterThan(0)
    expect(issuesOf(make({ store: rubbish, policies: [policy()] })).length).toBeGreaterThan(0)
    expect(issuesOf(make({ store, policies: rubbish })).length).toBeGreaterThan(0)
    expect(issuesOf(make({ store, policies: [rubbish] })).length).toBeGreaterThan(0)
  })

  it('rejects missing options', () => {
    expect(issuesOf(make(undefined))).toEqual(['options must be an object, got undefined'])
    expect(issuesOf(make({}))).toEqual([
      'store is missing, it must be a store such as new MemoryStore() or new DynamoDbStore({ client, tableName })',
      'policies is missing, it must be a list of policies',
    ])
    expect(issuesOf(make({ store, policies: [] }))).toEqual(['policies must have at least one policy, got none'])
  })

  it('accepts valid options', async () => {
    const limiter = createLimiter({ store, policies: [policy() as never], clock: () => 0 })
    expect(await limiter.take('client:a')).toMatchObject({ allowed: true, policy: 'per-minute', remaining: 59 })
  })
})

describe('a variant of a policy', () => {
  it('without a limit continues in the same state, whatever the limit was', () => {
    for (const changes of [
      {},
      { algorithm: 'fixed-window' },
      { algorithm: 'gcra', burst: 3 },
      { algorithm: 'token-bucket', refill: 'interval' },
      { algorithm: 'sliding-buckets' },
      { algorithm: 'anchored-window' },
    ]) {
      const limited = parsed({ limit: 3, ...changes })
      const free = withoutLimit(limited)
      expect(free.stateSchema).toBe(limited.stateSchema)
      const at = 1_763_720_243_456
      const full = apply(limited.counter.step({}, 3, at).write!, {})
      expect(limited.counter.step(full, 1, at).verdict.allowed).toBe(false)
      const { verdict, write } = free.counter.step(full, 1000, at)
      expect(verdict.allowed).toBe(true)
      expect(holds(write!.guard, full)).toBe(true)
      expect(limited.counter.step(apply(write!, full), 1, at).verdict).toMatchObject({
        allowed: false,
        remaining: 0,
      })
    }
  })

  it('for a share admits that part of its units, and at least one', () => {
    expect(withShare(parsed({ limit: 10 }), 0.25).limit).toBe(2)
    expect(withShare(parsed({ limit: 3 }), 0.1).limit).toBe(1)
    const locking = { algorithm: 'fixed-window', limit: 4, blockFor: '10s' } as const
    expect(parsed(locking).quota).toMatchObject({ lockout: { forMs: 10_000, after: 1, extend: false } })
    expect(withShare(parsed(locking), 0.5).quota).toMatchObject({ limit: 2, lockout: { after: Infinity } })
    expect(withShare(parsed({ limit: 4 }), 0.5).written).not.toHaveProperty('after')
    expect(withShare(parsed({ algorithm: 'gcra', limit: 60, burst: 10 }), 0.5)).toMatchObject({
      limit: 30,
      quota: { burst: 5 },
    })
    expect(withShare(parsed({ algorithm: 'gcra', limit: 60 }), 0.5)).toMatchObject({ limit: 30, quota: { burst: 30 } })
  })
})
