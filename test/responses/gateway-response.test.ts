import fc from 'fast-check'
import { parseItem, parseList } from 'structured-headers'
import { toContext } from '../../lambda/responses/context'
import { ACCESS_DENIED, render } from '../../provisioning/gateway-response'
import { codePoint } from '../code-point'
import { runs } from '../runs'
import { DENIED, decisionOf, NOW, SHAPES, standing } from './decisions'
import { draft10, retryAfter, xRateLimit } from './expected-headers'

const TEMPLATE = ACCESS_DENIED.templates['application/json']
const context = toContext({ decision: DENIED, shapes: SHAPES, tier: 'free', subject: 'client:abc', now: NOW })

test('a denial is answered 429 with a problem body', () => {
  expect(ACCESS_DENIED).toMatchObject({ type: 'ACCESS_DENIED', statusCode: '429' })
  expect(JSON.parse(render(TEMPLATE, context))).toEqual({
    type: 'about:blank',
    title: 'Too Many Requests',
    status: 429,
    detail: 'The limit of 60 units in the policy per-minute is used up. Try again in 13 seconds.',
    reason: 'over-limit',
    policy: 'per-minute',
    limit: '60',
    remaining: '0',
    retryAfter: '13',
  })
})

test('its headers are those of the decision', () => {
  const headers = Object.fromEntries(
    Object.entries(ACCESS_DENIED.headers).map(([name, mapping]) => [name, render(mapping, context)]),
  )
  expect(headers).toEqual({
    ...{ ...xRateLimit(DENIED, NOW), ...draft10(DENIED, SHAPES), ...retryAfter(DENIED) },
    'X-RateLimit-Reason': 'over-limit',
  })
  expect(parseItem(headers['Retry-After']!)[0]).toBe(13)
  expect(parseList(headers.RateLimit!).map(([name]) => name)).toEqual(['per-minute', 'per-day'])
})

test('every variable in it is a key of every context', () => {
  const expressions = [...Object.values(ACCESS_DENIED.headers), TEMPLATE]
  const used = expressions.flatMap((expression) =>
    [...expression.matchAll(/context\.authorizer\.(\w+)/g)].map(([, key]) => key!),
  )
  expect(used.length).toBeGreaterThanOrEqual(12)
  expect(Object.keys(toContext({ reason: 'malformed', now: NOW }))).toEqual(expect.arrayContaining(used))
})

test('the body is JSON whatever the names', () => {
  const hostile = fc.constantFrom(
    '"',
    '\\',
    '\n',
    '\u2028',
    '"}',
    '$context.authorizer.detail',
    '🙂',
    '\u0000',
    "$&$1$'",
  )
  const names = fc
    .array(fc.oneof(hostile, fc.string({ unit: codePoint })), { maxLength: 6 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(names, fc.boolean(), (policy, never) => {
      const decision = decisionOf('p', { p: standing({ allowed: false, retryAfterMs: never ? Infinity : 1 }) })
      const body = JSON.parse(render(TEMPLATE, toContext({ decision: { ...decision, policy }, now: NOW })))
      expect(Number(body.retryAfter)).toBeGreaterThan(0)
      expect(Object.keys(body)).toHaveLength(9)
    }),
    { numRuns: runs(150, 500) },
  )
})

test('the body for a malformed event is JSON too', () => {
  expect(JSON.parse(render(TEMPLATE, toContext({ now: NOW })))).toMatchObject({
    reason: 'malformed',
    policy: '',
    retryAfter: '1',
  })
})

test('the body is JSON as well when another authorizer denied, which set none of its variables', () => {
  expect(JSON.parse(render(TEMPLATE, {}))).toMatchObject({ status: 429, detail: '', reason: '', policy: '', limit: '' })
})

test.each([
  ["'60'", '60'],
  ["''", ''],
  ["not 'quoted'", "not 'quoted'"],
  ["'quoted' not", "'quoted' not"],
  ['not context.authorizer.limit', 'not context.authorizer.limit'],
  ['context.authorizer.limit', '5'],
  ['context.authorizer.missing', ''],
  ['context.authorizer.constructor', ''],
  ['{"limit":$context.authorizer.limit,"b":"$context.authorizer.b"}', '{"limit":5,"b":"true"}'],
  ['$context.authorizer.text', '$context.authorizer.limit $& $1'],
  ['$context.authorizer.limits', ''],
  ['context.authorizer.limit and more', 'context.authorizer.limit and more'],
  ['#if($context.authorizer.b) x #end', '#if(true) x #end'],
])('%s is rendered as %s', (expression, text) => {
  expect(render(expression, { limit: 5, b: true, text: '$context.authorizer.limit $& $1' })).toBe(text)
})
