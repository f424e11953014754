import { clientAt, numbersOf, parseClientItem } from '../../lambda/config-table/items/client-item'
import { Mistake } from '../../limiter/errors'

const ITEM = { pk: 'client#abc', sk: 'client', id: 'acme', tier: 'pro' }

function parsed(more: Record<string, unknown>) {
  const issues: Mistake[] = []
  return { client: parseClientItem({ ...ITEM, ...more }, issues), issues: issues.map(String) }
}

const SECRET = '0123456789abcdefghij'

test.each([SECRET, 'x'.repeat(128), true])('a client may have the usage identifier key %s', (usageIdentifierKey) =>
  expect(parsed({ usageIdentifierKey })).toMatchObject({ client: { usageIdentifierKey }, issues: [] }),
)

test.each([SECRET.slice(1), `${SECRET}\n`, 'x'.repeat(129), false])(
  'no part of the usage identifier key %j is shown where it is a mistake',
  (usageIdentifierKey) =>
    expect(parsed({ usageIdentifierKey })).toEqual({
      client: undefined,
      issues: [
        'usageIdentifierKey must be the value of an API Gateway key, 20 to 128 characters, or true, got something else (client)',
      ],
    }),
)

test('a client is an id and a tier', () => {
  expect(parsed({})).toEqual({ client: { id: 'acme', tier: 'pro', overrides: {}, disabled: false }, issues: [] })
})

test('a client may also have a name, overrides, an expiry and notes', () => {
  const more = {
    name: 'Acme Ltd',
    overrides: { 'per-minute': { limit: 100 }, paced: { limit: 5, burst: 2 } },
    disabled: true,
    notes: 'since 2024',
  }
  expect(parsed({ ...more, expiresAt: '2027-01-31T12:00:00+02:00' }).client).toEqual({
    id: 'acme',
    tier: 'pro',
    name: 'Acme Ltd',
    overrides: { 'per-minute': { limit: 100 }, paced: { limit: 5, burst: 2 } },
    disabled: true,
    expiresAt: Date.UTC(2027, 0, 31, 10),
  })
})

test('a client may have a name and notes of 1,024 characters each', () => {
  const text = 'x'.repeat(1024)
  expect(parsed({ name: text, notes: text })).toMatchObject({ client: { name: text }, issues: [] })
})

test.each([
  ['2027-01-31', Date.UTC(2027, 0, 31)],
  ['2027-01-31T12:00Z', Date.UTC(2027, 0, 31, 12)],
  ['2027-01-31T12:00:30.5-01:00', Date.UTC(2027, 0, 31, 13, 0, 30, 500)],
])('the date %s', (expiresAt, at) => expect(parsed({ expiresAt }).client!.expiresAt).toBe(at))

test.each([
  [
    { expiresAt: '31.1.2027' },
    /^expiresAt must be a date such as "2027-01-31" or "2027-01-31T12:00:00Z", got "31.1.2027" \(client\)$/,
  ],
  [{ expiresAt: '2027-01-31T12:00:00' }, /^expiresAt must be a date/], // whose noon?
  [{ expiresAt: '2027-13-31' }, /^expiresAt must be a date/],
  [{ expiresAt: 1_800_000_000 }, /^expiresAt must be a date/],
  [{ overrides: null }, /^overrides must be numbers by the name of a policy.*, got null/],
  [{ overrides: 'a' }, /^overrides must be numbers by the name of a policy.*, got "a"/],
  [{ overrides: { a: 5 } }, /^an override must be an object, got 5 \(client, override "a"\)$/],
  [{ overrides: [] }, /^overrides must be numbers by the name of a policy.*, got a list \(client\)$/],
  [{ overrides: { a: { limit: 0 } } }, /^limit must be a positive integer, got 0 \(client, override "a"\)$/],
  [
    { overrides: { a: { lmit: 5, limit: 5 } } },
    /^unknown field "lmit", did you mean "limit"\? \(client, override "a"\)$/,
  ],
  [{ overrides: { a: {} } }, /^limit or factor must be set, and not both \(client, override "a"\)$/],
  [{ overrides: { a: { limit: 5, factor: 2 } } }, /^limit or factor must be set, and not both/],
  [{ overrides: { a: { burst: 5, factor: 2 } } }, /^burst needs limit; factor applies to both/],
  [{ overrides: { a: { factor: 0 } } }, /^factor must be a number from 0.001 to 1000000, got 0/],
  [{ overrides: { a: { limit: 5, until: 'friday' } } }, /^until must be a date such as/],
  [
    { overrides: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, { limit: 1 }])) },
    /^overrides must be at most 100, got 101/,
  ],
  [{ disabled: 'yes' }, /^disabled must be true or false, got "yes" \(client\)$/],
  [{ notes: 'x'.repeat(1025) }, /^notes must be a text of at most 1024 characters/],
  [{ name: 'x'.repeat(1025) }, /^name must be a text of at most 1024 characters/],
])('%j is a mistake, and no client', (more, sentence) => {
  const { client, issues } = parsed(more)
  expect(client).toBeUndefined()
  expect(issues.map(String)).toEqual([expect.stringMatching(sentence)])
})

test('a client is parsed although another item had a mistake, and may have a hundred overrides', () => {
  const issues = [new Mistake('invalid_value', 'one from before')]
  const overrides = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${i}`, { limit: 1 }]))
  expect(parseClientItem({ ...ITEM, overrides }, issues)?.overrides).toEqual(overrides)
  expect(issues).toHaveLength(1)
})

describe('an override', () => {
  it('of a limit replaces it, and the burst if it has one', () => {
    expect(numbersOf({ limit: 5 }, { limit: 60, burst: 9 })).toEqual({ limit: 5 })
    expect(numbersOf({ limit: 5, burst: 2 }, { limit: 60 })).toEqual({ limit: 5, burst: 2 })
  })

  it('ends to the millisecond, and other overrides stay in force', () => {
    const { client } = parsed({ overrides: { a: { limit: 5, until: '2027-01-31T12:00:00Z' }, b: { factor: 2 } } })
    const end = Date.UTC(2027, 0, 31, 12)
    expect(client!.overrides).toEqual({ a: { limit: 5, until: end }, b: { factor: 2 } })
    expect(clientAt(client!, end - 1)).toBe(client)
    expect(clientAt(client!, end)).toEqual({ ...client, overrides: { b: { factor: 2 } } })
  })

  it.each([
    [2, { limit: 600 }, { limit: 1200 }],
    [2.3, { limit: 100, burst: 10 }, { limit: 230, burst: 23 }],
    [0.001, { limit: 600, burst: 1 }, { limit: 1, burst: 1 }],
  ])('of %d times %j is %j', (factor, own, expected) => expect(numbersOf({ factor }, own)).toEqual(expected))
})
