import fc from 'fast-check'
import { parseList } from 'structured-headers'
import { costKey, MAX_COST_NAMES } from '../../lambda/config-table/items/cost-names'
import { headersFromContext } from '../../lambda/responses/backend-headers'
import { plain, toContext } from '../../lambda/responses/context'
import { MAX_RESERVATION, NEVER_SECONDS } from '../../lambda/responses/headers'
import type { Decision } from '../../limiter/decision'
import { codePoint } from '../code-point'
import { ALLOWED, DENIED, decisionOf, IMPOSSIBLE, NOW, OVER, SHAPES, standing } from './decisions'
import { draft10, overage, retryAfter, xRateLimit } from './expected-headers'

const FACTS = { shapes: SHAPES, tier: 'free', subject: 'client:abc', now: NOW }
const NOW_SECONDS = Math.ceil(NOW / 1000)

test('an allowed request', () => {
  expect(toContext({ decision: ALLOWED, ...FACTS })).toEqual({
    allowed: true,
    rateLimited: false,
    reason: 'ok',
    policy: 'per-minute',
    tier: 'free',
    subject: 'client:abc',
    limit: 60,
    remaining: 59,
    cost: 0,
    reset: Math.ceil((NOW + 59_001) / 1000),
    resetAfter: 60,
    retryAfter: 0,
    delayMs: 0,
    priority: 'normal',
    overrun: false,
    observed: false,
    overage: 0,
    degraded: false,
    reservation: '',
    detail: '59 of 60 units are left in the policy per-minute.',
    rateLimit: '"per-minute";r=59;t=60, "per-day";r=8123;t=30126',
    rateLimitPolicy: '"per-minute";q=60;w=60, "per-day";q=10000;w=86400',
  })
})

test('every key is in the context of every request', () => {
  const outcomes = [
    ...[ALLOWED, DENIED, IMPOSSIBLE, OVER].map((decision) => ({ decision, ...FACTS })),
    ...(['uncounted', 'exempt', 'blocked', 'unauthorized', 'unverified', 'unavailable', 'malformed'] as const).map(
      (reason) => ({ reason, now: NOW }),
    ),
  ]
  const keys = Object.keys(toContext({ decision: ALLOWED, ...FACTS })).sort()
  for (const outcome of outcomes) expect(Object.keys(toContext(outcome)).sort()).toEqual(keys)
})

test('a denied request', () => {
  expect(toContext({ decision: DENIED, ...FACTS })).toMatchObject({
    allowed: false,
    rateLimited: true,
    reason: 'over-limit',
    policy: 'per-minute',
    remaining: 0,
    reset: NOW_SECONDS + 12,
    resetAfter: 46,
    retryAfter: 13,
    detail: 'The limit of 60 units in the policy per-minute is used up. Try again in 13 seconds.',
  })
})

test('a policy of running requests counts requests, not units', () => {
  const shapes = [{ name: 'running', limit: 3, windowMs: 60_000, counter: { isEndedByOthers: true } }, ...SHAPES]
  const detailOf = (given: Parameters<typeof standing>[0]) =>
    toContext({ decision: decisionOf('running', { running: standing({ limit: 3, ...given }) }), ...FACTS, shapes })
      .detail
  expect(detailOf({ allowed: false, remaining: 0, retryAfterMs: 1000 })).toBe(
    'The limit of 3 concurrent requests in the policy running is used up. Try again in 1 second.',
  )
  expect(detailOf({ remaining: 2 })).toBe('2 of 3 concurrent requests are left in the policy running.')
})

test('a request of a caller who is locked out', () => {
  expect(toContext({ decision: { ...DENIED, lockedOut: true, retryAfterMs: 900_000 }, ...FACTS })).toMatchObject({
    allowed: false,
    rateLimited: true,
    reason: 'over-limit',
    retryAfter: 900,
    detail: 'The policy per-minute has locked this caller out. Try again in 900 seconds.',
  })
  const never = toContext({ decision: { ...IMPOSSIBLE, lockedOut: true }, ...FACTS })
  expect(never.detail).toContain('costs more than the policy')
})

test('a request that can never pass', () => {
  expect(toContext({ decision: IMPOSSIBLE, ...FACTS })).toMatchObject({
    retryAfter: NEVER_SECONDS,
    detail: 'This request costs more than the policy per-minute ever admits: its limit is 60.',
  })
})

test('the cost is what was charged: nothing for a denied or an uncounted request', () => {
  const charged = { ...ALLOWED, chargedAt: NOW }
  expect(toContext({ decision: charged, ...FACTS, cost: 5 }).cost).toBe(5)
  expect(toContext({ decision: { ...ALLOWED, chargedAt: null }, ...FACTS, cost: 5 }).cost).toBe(0)
  expect(toContext({ decision: DENIED, ...FACTS, cost: 5 }).cost).toBe(0)
  expect(toContext({ reason: 'uncounted', ...FACTS, cost: 5 }).cost).toBe(0)
})

test('a store that was unavailable', () => {
  const decision = { ...DENIED, degraded: true, retryAfterMs: 1_000 }
  expect(toContext({ decision, reason: 'unavailable', ...FACTS })).toMatchObject({
    allowed: false,
    rateLimited: false,
    degraded: true,
    detail: 'The limit cannot be checked at the moment. Try again in 1 second.',
  })
})

test('a denial counted without the store', () => {
  expect(toContext({ decision: { ...DENIED, degraded: true }, ...FACTS })).toMatchObject({
    allowed: false,
    rateLimited: true,
    reason: 'degraded',
    degraded: true,
    detail: 'The limit of 60 units in the policy per-minute is used up. Try again in 13 seconds.',
  })
})

describe('a request that is allowed over a limit', () => {
  const past = (fields: Partial<Decision>) => {
    const context = toContext({ decision: { ...ALLOWED, ...fields }, ...FACTS })
    return {
      ...context,
      header: headersFromContext(context)['X-RateLimit-Reason'],
      texts: headersFromContext(asTexts(context))['X-RateLimit-Reason'],
    }
  }
  const asTexts = (context: object) =>
    Object.fromEntries(Object.entries(context).map(([key, value]) => [key, String(value)]))
  const LEFT = '59 of 60 units are left in the policy per-minute.'

  test('says why, in a key and a sentence, and in a header where the caller may know', () => {
    expect(past({ overrun: true })).toMatchObject({
      ...{ overrun: true, header: 'overrun', texts: 'overrun' },
      detail: `${LEFT} This request is past a limit that may be overrun.`,
    })
    expect(past({ priority: 'low' })).toMatchObject({
      ...{ priority: 'low', header: undefined, texts: undefined },
      detail: `${LEFT} This request is past a limit that makes its priority low.`,
    })
    expect(past({ observed: true })).toMatchObject({
      ...{ observed: true, header: undefined, texts: undefined },
      detail: `${LEFT} This request is past a limit that is not enforced.`,
    })
    expect(past({ degraded: true })).toMatchObject({
      degraded: true,
      header: 'degraded',
      texts: 'degraded',
      detail: LEFT,
    })
    expect(past({ degraded: true, overrun: true })).toMatchObject({ header: 'overrun', texts: 'overrun' })
    expect(past({})).toMatchObject({ header: undefined, texts: undefined, detail: LEFT })
  })

  test('has the reason in the header when it is denied', () => {
    expect(headersFromContext(toContext({ decision: DENIED, ...FACTS }))['X-RateLimit-Reason']).toBe('over-limit')
    expect(
      headersFromContext(toContext({ decision: { ...DENIED, degraded: true }, ...FACTS }))['X-RateLimit-Reason'],
    ).toBe('degraded')
  })
})

test('a delayed request has its delay in whole milliseconds', () => {
  const decision = decisionOf('queue', { queue: standing({ delayMs: 12.5 }) })
  expect(toContext({ decision, now: NOW })).toMatchObject({ allowed: true, delayMs: 13 })
  expect(toContext({ decision, waitedMs: 10, now: NOW })).toMatchObject({ delayMs: 3 })
  expect(toContext({ decision, waitedMs: 20, now: NOW })).toMatchObject({ delayMs: 0 })
})

describe('a request past a quota that allows overage', () => {
  test('is allowed like any other, and the context has the recorded overage', () => {
    expect(toContext({ decision: OVER, ...FACTS })).toMatchObject({
      allowed: true,
      rateLimited: false,
      reason: 'ok',
      policy: 'per-day',
      remaining: 0,
      retryAfter: 0,
      overage: 17,
      detail: '17 units past the quota of 10000 in the policy per-day are recorded.',
      rateLimit: '"per-minute";r=59;t=60, "per-day";r=0;t=30126',
    })
    expect(headersFromContext(toContext({ decision: OVER, ...FACTS }))).toMatchObject({ 'X-RateLimit-Overage': '17' })
  })

  test('says “1 unit” in the singular', () => {
    expect(toContext({ decision: { ...OVER, overage: 1 }, ...FACTS }).detail).toBe(
      '1 unit past the quota of 10000 in the policy per-day is recorded.',
    )
  })

  test('has no overage while it is within the quota', () => {
    const context = toContext({ decision: { ...ALLOWED, overage: 0 }, ...FACTS })
    expect(context).toEqual(toContext({ decision: ALLOWED, ...FACTS }))
    expect(Object.keys(headersFromContext(context))).not.toContain('X-RateLimit-Overage')
  })

  test('has no overage when it is denied', () => {
    const context = toContext({ decision: { ...OVER, allowed: false, retryAfterMs: 5 }, ...FACTS })
    expect(context.overage).toBe(0)
    expect(context.detail).not.toContain('record')
    expect(Object.keys(headersFromContext(context))).not.toContain('X-RateLimit-Overage')
  })
})

test('an uncounted request is allowed and has no numbers', () => {
  expect(toContext({ reason: 'uncounted', now: NOW })).toEqual({
    allowed: true,
    rateLimited: false,
    reason: 'uncounted',
    policy: '',
    tier: '',
    subject: '',
    limit: 0,
    remaining: 0,
    cost: 0,
    reset: NOW_SECONDS,
    resetAfter: 0,
    retryAfter: 0,
    delayMs: 0,
    priority: 'normal',
    overrun: false,
    observed: false,
    overage: 0,
    degraded: false,
    reservation: '',
    detail: 'This request is not counted.',
    rateLimit: '',
    rateLimitPolicy: '',
  })
})

test('a request without a decision or a reason is malformed and denied', () => {
  expect(toContext({ now: NOW })).toMatchObject({
    allowed: false,
    rateLimited: false,
    reason: 'malformed',
    retryAfter: 1,
    detail: 'This request cannot be understood.',
  })
})

describe('what API Gateway requires', () => {
  const outcomes: [string, Parameters<typeof toContext>[0]][] = [
    ['allowed', { decision: ALLOWED, ...FACTS }],
    ['denied', { decision: DENIED, ...FACTS }],
    ['impossible', { decision: IMPOSSIBLE, now: NOW }],
    ['uncounted', { reason: 'uncounted', now: NOW }],
    ['malformed', { reason: 'malformed', now: NOW }],
  ]
  const keys = Object.keys(toContext({ now: NOW }))

  test('a cost by name has a key of its own, 0 where nothing was charged', () => {
    const named = { cost: 1, costs: { costTokens: 500, costImages: 0 }, ...FACTS }
    const charged = { ...ALLOWED, chargedAt: NOW }
    expect(toContext({ decision: charged, ...named })).toMatchObject({ cost: 1, costTokens: 500, costImages: 0 })
    for (const uncharged of [{ decision: DENIED }, { decision: { ...ALLOWED, chargedAt: null } }, {}])
      expect(toContext({ ...uncharged, ...named })).toMatchObject({ cost: 0, costTokens: 0, costImages: 0 })
  })

  test.each(outcomes)(
    '%s: every key is there, letters and digits only, with a value that is flat and finite',
    (_, outcome) => {
      const context = toContext(outcome)
      expect(Object.keys(context)).toEqual(keys)
      for (const [key, value] of Object.entries(context)) {
        expect(key).toMatch(/^[A-Za-z0-9]+$/)
        expect(['string', 'boolean'].includes(typeof value) || Number.isSafeInteger(value)).toBe(true)
      }
    },
  )

  test('has strings that are safe in headers and, except the two lists, in JSON strings, whatever the names', () => {
    const text = fc.oneof(
      fc.string({ unit: codePoint, maxLength: 400 }),
      fc.constantFrom('"', '\\', '\r\n', '$context.authorizer.tier', '\u2028'),
    )
    fc.assert(
      fc.property(text, text, text, (policy, tier, subject) => {
        const decision = decisionOf('__proto__x', { __proto__x: standing({ allowed: false, retryAfterMs: 5 }) })
        const shapes = [{ name: policy, limit: 1, windowMs: 1 }]
        const { rateLimit, rateLimitPolicy, ...others } = toContext({
          decision: { ...decision, policy },
          shapes,
          tier,
          subject,
          now: NOW,
        })
        expect(parseList(rateLimit)).toEqual([])
        expect(parseList(rateLimitPolicy)).toHaveLength(1)
        for (const value of Object.values(others)) {
          if (typeof value !== 'string') continue
          expect(value).toMatch(/^[ -~]*$/)
          expect(value).not.toContain('$')
          expect(JSON.parse(`"${value}"`)).toBe(value)
          expect(value.length).toBeLessThanOrEqual(512)
        }
      }),
    )
  })

  test.each([0, 500, MAX_RESERVATION])(
    'has at most the 8 KB of a WebSocket answer, with a reservation of %i',
    (bytes) => {
      const shapes = Array.from({ length: 300 }, (_, index) => ({ name: `"${index}`, limit: 1e15, windowMs: 1e15 }))
      const policies = Object.fromEntries(shapes.map(({ name }) => [name, standing({ remaining: 1e15 })]))
      const decision = { ...decisionOf(shapes[0]!.name, policies), policy: '"'.repeat(1_000) }
      const costs = Object.fromEntries(
        Array.from({ length: MAX_COST_NAMES }, (_, i) => [costKey(`${'x'.repeat(30)}${i}`), Number.MAX_SAFE_INTEGER]),
      )
      const charged = { ...decision, chargedAt: NOW }
      const [tier, subject] = ['é'.repeat(1_000), 'x'.repeat(1_000)]
      const reservation = 'x'.repeat(bytes)
      const context = toContext({ decision: charged, shapes, tier, subject, cost: 1, costs, reservation, now: NOW })
      expect(context.reservation).toBe(reservation)
      expect(JSON.stringify(context).length).toBeLessThan(8_000)
    },
  )
})

test.each([
  ['per-minute', 'per-minute'],
  ['ip:2001:db8:1234:5600::/56', 'ip:2001:db8:1234:5600::/56'],
  ['a"b\\c$d\ne', 'a_b_c_d_e'],
  ['größe 🙂', 'gr__e _'],
  [' spaced ', 'spaced'],
  ['x'.repeat(129), 'x'.repeat(128)],
])('%j is written plainly as %j', (text, written) => expect(plain(text)).toBe(written))

describe('headers for a backend to copy', () => {
  test.each([
    ['allowed', ALLOWED],
    ['denied', DENIED],
    ['impossible', IMPOSSIBLE],
    ['past its quota', OVER],
  ])('%s: the same as made from the decision itself', (_, decision) => {
    const expected = {
      ...{ ...xRateLimit(decision, NOW), ...overage(decision), ...draft10(decision, SHAPES), ...retryAfter(decision) },
      ...(!decision.allowed && { 'X-RateLimit-Reason': 'over-limit' }),
    }
    const context = toContext({ decision, ...FACTS })
    expect(headersFromContext(context)).toEqual(expected)
    expect(headersFromContext(asStrings(context))).toEqual(expected)
  })

  test('are none for an uncounted request', () => {
    expect(headersFromContext(toContext({ reason: 'uncounted', now: NOW }))).toEqual({})
  })

  test('have no list for policies that are not advertised', () => {
    const {
      RateLimit,
      'RateLimit-Policy': policy,
      ...others
    } = headersFromContext(toContext({ decision: ALLOWED, now: NOW }))
    expect([RateLimit, policy, Object.keys(others).length]).toEqual([undefined, undefined, 3])
  })

  test('have no value that would break out of its header', () => {
    expect(
      headersFromContext({
        policy: 'p',
        limit: '1\r\nX-Evil: 1',
        remaining: 'ä',
        reset: {},
        retryAfter: null,
        rateLimit: true,
      }),
    ).toEqual({})
  })

  test('are none, without an error, where Sluice is not in front', () => {
    for (const context of [undefined, null, 'policy', 7, {}, [], { policy: 7, limit: 1 }])
      expect(headersFromContext(context)).toEqual({})
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        headersFromContext(value)
        headersFromContext({ policy: 'p', limit: value, retryAfter: value })
      }),
    )
  })
})

/** As a REST API hands a context to its backend. */
function asStrings(context: object) {
  return Object.fromEntries(Object.entries(context).map(([key, value]) => [key, String(value)]))
}
