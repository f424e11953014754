import fc from 'fast-check'
import { parseItem, parseList } from 'structured-headers'
import {
  type AdvertisedPolicy,
  NEVER_SECONDS,
  rateLimitPolicyList,
  toInteger,
  toSeconds,
} from '../../lambda/responses/headers'
import type { Decision } from '../../limiter/decision'
import { codePoint } from '../code-point'
import vectors from '../vectors/headers.json'
import { ALLOWED, DENIED, decisionOf, IMPOSSIBLE, NOW, PLAIN, SHAPES, standing } from './decisions'
import { draft10, retryAfter, xRateLimit } from './expected-headers'

/** A list of strings with parameters, as [name, { parameter: value }]. */
const items = (field: string | undefined) =>
  parseList(field!).map(([name, parameters]) => [name, Object.fromEntries(parameters)])

describe('vectors', () => {
  const { windowMs, ...numbers } = vectors.case
  const decision = decisionOf('default', { default: standing(numbers) })
  const shapes = [{ name: 'default', limit: numbers.limit, windowMs }]

  test('X-RateLimit', () => {
    const reset = Math.ceil((NOW + numbers.resetAfterMs) / 1000)
    expect(xRateLimit(decision, NOW)).toEqual({ ...vectors.xRateLimit, 'X-RateLimit-Reset': String(reset) })
  })

  test('draft 8 and later: policies', () => {
    const ours = rateLimitPolicyList([
      { name: 'permin', limit: 50, windowMs: 60_000 },
      { name: 'perhr', limit: 1_000, windowMs: 3_600_000 },
    ])
    expect(parseList(ours)).toEqual(parseList(vectors.draft8AndLater['RateLimit-Policy'][0]!))
  })

  test('draft 8 and later: limits', () => {
    const fifty = decisionOf('default', { default: standing({ remaining: 50, resetAfterMs: 30_000 }) })
    expect(parseList(draft10(fifty, shapes).RateLimit!)).toEqual(parseList(vectors.draft8AndLater.RateLimit[0]!))
  })
})

describe('an allowed request', () => {
  test('lists what is left in every policy, in the order of the configuration', () => {
    const headers = draft10(ALLOWED, SHAPES)
    expect(items(headers.RateLimit)).toEqual([
      ['per-minute', { r: 59, t: 60 }],
      ['per-day', { r: 8_123, t: 30_126 }],
    ])
    expect(items(headers['RateLimit-Policy'])).toEqual([
      ['per-minute', { q: 60, w: 60 }],
      ['per-day', { q: 10_000, w: 86_400 }],
    ])
    expect(items(draft10(ALLOWED, SHAPES.toReversed()).RateLimit).map(([name]) => name)).toEqual([
      'per-day',
      'per-minute',
    ])
  })

  test('has no Retry-After', () => expect(retryAfter(ALLOWED)).toEqual({}))
})

describe('a denied request', () => {
  test('Retry-After is when this request passes, rounded up', () =>
    expect(retryAfter(DENIED)).toEqual({ 'Retry-After': '13' }))

  test('the policy that denied frees up at the same moment, and no policy later', () => {
    expect(items(draft10(DENIED, SHAPES).RateLimit)).toEqual([
      ['per-minute', { r: 0, t: 13 }],
      ['per-day', { r: 8_123 }],
    ])
  })

  test('X-RateLimit-Reset is when this request passes, as Retry-After says', () => {
    expect(xRateLimit(DENIED, NOW)).toEqual({
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil((NOW + DENIED.retryAfterMs) / 1000)),
    })
  })

  test('has a Retry-After of a year when its cost can never pass, though the whole quota is available', () => {
    expect(retryAfter(IMPOSSIBLE)).toEqual({ 'Retry-After': String(365 * 24 * 3600) })
    expect(items(draft10(IMPOSSIBLE, SHAPES).RateLimit)[0]).toEqual(['per-minute', { r: 60, t: 0 }])
  })

  test('has a Retry-After of one second at least', () => {
    expect(retryAfter(standing({ allowed: false, retryAfterMs: 0 }))).toEqual({ 'Retry-After': '1' })
    expect(retryAfter(standing({ allowed: false, retryAfterMs: 1_000 }))).toEqual({ 'Retry-After': '1' })
    expect(retryAfter(standing({ allowed: false, retryAfterMs: 1_001 }))).toEqual({ 'Retry-After': '2' })
  })
})

test('a policy that was not evaluated is not listed', () => {
  const headers = draft10(ALLOWED, [
    { name: 'global', limit: 1, windowMs: 1 },
    { name: 'constructor', limit: 1, windowMs: 1 },
    ...SHAPES,
  ])
  expect(items(headers.RateLimit).map(([name]) => name)).toEqual(['per-minute', 'per-day'])
  expect(items(headers['RateLimit-Policy'])).toHaveLength(4)
})

test('empty lists are not sent', () => {
  expect(draft10(ALLOWED, [])).toEqual({})
})

test('a window is at least a second', () => {
  expect(items(rateLimitPolicyList([{ name: 'burst', limit: 5, windowMs: 100 }]))).toEqual([['burst', { q: 5, w: 1 }]])
  const running = { name: 'running', limit: 4, windowMs: 60_000, counter: { isEndedByOthers: true } }
  expect(items(rateLimitPolicyList([running]))).toEqual([['running', { q: 4, qu: 'concurrent-requests' }]])
  expect(items(rateLimitPolicyList([{ name: 'burst', limit: 5, windowMs: 1_001 }]))).toEqual([
    ['burst', { q: 5, w: 2 }],
  ])
})

test.each([
  ['say "hi"', 'say "hi"'],
  ['back\\slash', 'back\\slash'],
  ['größe', 'gr__e'],
  ['a\r\nX-Evil: 1', 'a__X-Evil: 1'],
  ['🙂', '_'],
])('the policy name %j is read back as %j', (name, read) => {
  expect(items(rateLimitPolicyList([{ name, limit: 1, windowMs: 1_000 }]))[0]![0]).toBe(read)
})

test('hundreds of policies are cut off after whole items', () => {
  const shapes = Array.from({ length: 500 }, (_, index) => ({ name: `policy-${index}`, limit: index, windowMs: 1_000 }))
  const list = rateLimitPolicyList(shapes)
  expect(list.length).toBeGreaterThan(2_000)
  expect(list.length).toBeLessThanOrEqual(2_048)
  expect(items(list).at(-1)![0]).toMatch(/^policy-\d+$/)
})

test('the list may have 2,048 characters and not one more', () => {
  const second = { name: 'b', limit: 1, windowMs: 1_000 }
  const first = (length: number) => ({ name: 'a'.repeat(length - '"";q=1;w=1'.length), limit: 1, windowMs: 1_000 })
  const rest = ', "b";q=1;w=1'.length
  expect(rateLimitPolicyList([first(2_048 - rest), second])).toHaveLength(2_048)
  expect(rateLimitPolicyList([first(2_049 - rest), second])).toHaveLength(2_049 - rest)
})

test.each([
  [0, 0],
  [-5, 0],
  [Number.NaN, 0],
  [1, 1],
  [1_000, 1],
  [1_000.5, 2],
  [Infinity, NEVER_SECONDS],
  [-Infinity, 0],
  [Number.MAX_VALUE, 999_999_999_999_999],
])('%d ms are %d seconds', (ms, seconds) => expect(toSeconds(ms)).toBe(seconds))

test.each([
  [1.9, 1],
  [-1, 0],
  [Infinity, 999_999_999_999_999],
])('%d is the integer %d', (value, integer) => expect(toInteger(value)).toBe(integer))

test('a quota that is never whole again resets in a year', () => {
  expect(xRateLimit(standing({ resetAfterMs: Infinity }), 500)['X-RateLimit-Reset']).toBe(String(1 + NEVER_SECONDS))
})

describe('laws', () => {
  const ms = fc.oneof(fc.integer({ min: 0, max: 2 ** 40 }), fc.double(), fc.constant(Infinity))
  const numbers = fc.record({
    allowed: fc.boolean(),
    limit: ms,
    windowMs: ms,
    remaining: ms,
    resetAfterMs: ms,
    retryAfterMs: ms,
    delayMs: ms,
  })
  const policies = fc.dictionary(fc.string({ unit: codePoint }), numbers, {
    minKeys: 1,
    maxKeys: 5,
    noNullPrototype: false,
  })
  const decisions = fc.tuple(policies, fc.boolean(), ms).map(([byName, allowed, retryAfterMs]): Decision => {
    const name = Object.keys(byName)[0]!
    return { ...byName[name]!, allowed, retryAfterMs, policy: name, ...PLAIN, policies: byName }
  })
  const shapesOf = (decision: Decision): AdvertisedPolicy[] =>
    Object.entries(decision.policies).map(([name, { limit, resetAfterMs }]) => ({
      name,
      limit,
      windowMs: resetAfterMs,
    }))

  test('every field can be parsed, r, t and q are integers from 0, w from 1', () => {
    fc.assert(
      fc.property(decisions, (decision) => {
        const headers = draft10(decision, shapesOf(decision))
        for (const [name, { r, t = 0 }] of items(headers.RateLimit) as [unknown, { r: number; t?: number }][]) {
          expect([typeof name, Number.isSafeInteger(r), r >= 0, Number.isSafeInteger(t), t >= 0]).toEqual([
            'string',
            true,
            true,
            true,
            true,
          ])
        }
        for (const [, { q, w }] of items(headers['RateLimit-Policy']) as [unknown, { q: number; w: number }][]) {
          expect([Number.isSafeInteger(q), q >= 0, Number.isSafeInteger(w), w >= 1]).toEqual([true, true, true, true])
        }
        for (const value of Object.values({ ...xRateLimit(decision, NOW), ...retryAfter(decision) })) {
          expect(Number.isSafeInteger(parseItem(value)[0])).toBe(true)
        }
      }),
    )
  })

  test('Retry-After is not earlier than any t', () => {
    fc.assert(
      fc.property(decisions, (decision) => {
        const retry = retryAfter(decision)['Retry-After']
        const times = items(draft10(decision, shapesOf(decision)).RateLimit).map(([, { t = 0 }]) => t)
        expect(retry === undefined || times.every((t: number) => t <= Number(retry))).toBe(true)
      }),
    )
  })
})
