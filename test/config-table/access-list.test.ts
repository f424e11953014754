import fc from 'fast-check'
import { AccessList, parseAccess, strictBlock } from '../../lambda/config-table/items/access-list'
import { parseIpAddress } from '../../lambda/ip-address'
import { Mistake } from '../../limiter/errors'

const NOW = Date.UTC(2026, 0, 1)

/** A list of entries written like sort keys, `block ip#203.0.113.0/24`, some with an end. */
function listOf(...entries: (string | [words: string, expiresAt: string])[]): AccessList {
  const issues: Mistake[] = []
  const list = entries.map((entry) => {
    const [words, expiresAt] = typeof entry === 'string' ? [entry, undefined] : entry
    const [access, ...rest] = words.split(' ')
    return parseAccess(
      access as 'block' | 'allow',
      rest.join(' '),
      expiresAt === undefined ? {} : { expiresAt },
      [],
      issues,
    )!
  })
  expect(issues).toEqual([])
  return new AccessList(list)
}

const of = (list: AccessList, address: string, now = NOW) => list.ofAddress(parseIpAddress(address), now)

describe('a list of addresses', () => {
  const list = listOf(
    'block ip#203.0.113.0/24',
    'allow ip#203.0.113.7',
    'block ip#2001:db8::/32',
    'allow ip#2001:db8:1::/48',
    'allow ip#198.51.100.0/24',
    'block ip#198.51.100.0/24',
  )

  it.each([
    ['203.0.113.0', 'block'],
    ['203.0.113.255', 'block'],
    ['203.0.114.0', undefined],
    ['203.0.112.255', undefined],
    ['::ffff:203.0.113.9', 'block'], // the same address, spelled as IPv6
    ['203.0.113.7', 'allow'], // the narrower entry
    ['2001:db8:2::1', 'block'],
    ['2001:db8:1:ffff::1', 'allow'],
    ['2001:db9::1', undefined],
    ['198.51.100.3', 'block'], // as narrow as the allowance, and a block
    ['10.0.0.1', undefined],
  ])('says of %s: %s', (address, access) => expect(of(list, address)).toBe(access))

  it('says nothing about a text that is not an address', () => {
    expect(of(list, 'nobody')).toBeUndefined()
    expect(list.ofAddress(undefined, NOW)).toBeUndefined()
  })

  it('may contain all addresses', () => {
    const all = listOf('block ip#0.0.0.0/0', 'allow ip#10.0.0.0/8')
    expect([of(all, '9.9.9.9'), of(all, '10.9.9.9'), of(all, '2001:db8::1')]).toEqual(['block', 'allow', undefined])
    expect(of(listOf('block ip#::/0'), '9.9.9.9')).toBe('block')
  })

  it('ignores an expired entry, and then a wider one decides', () => {
    const ends = listOf(['block ip#203.0.113.7', '2026-01-01T00:00:01Z'], 'allow ip#203.0.113.0/24')
    expect(of(ends, '203.0.113.7', NOW + 999)).toBe('block')
    expect(of(ends, '203.0.113.7', NOW + 1000)).toBe('allow')
  })

  it('gives the same result as comparing every entry', () => {
    const range = fc.tuple(
      fc.integer({ min: 0, max: 15 }),
      fc.integer({ min: 24, max: 32 }),
      fc.constantFrom('block', 'allow'),
    )
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), fc.integer({ min: 0, max: 255 }), (ranges, last) => {
        const entries = ranges.map(([start, bits, access]) => {
          const first = ((start * 16) >> (32 - bits)) << (32 - bits)
          return { access, first, bits, words: `${access} ip#10.0.0.${first}/${bits}` }
        })
        const holds = entries.filter(({ first, bits }) => last >> (32 - bits) === first >> (32 - bits))
        const narrowest = Math.max(...holds.map(({ bits }) => bits))
        const deciding = holds.filter(({ bits }) => bits === narrowest).map(({ access }) => access)
        const expected = deciding.length === 0 ? undefined : deciding.includes('block') ? 'block' : 'allow'
        expect(of(listOf(...entries.map(({ words }) => words)), `10.0.0.${last}`)).toBe(expected)
      }),
    )
  })
})

describe('a list of clients', () => {
  it('identifies clients by id, and a block wins over an allowance', () => {
    const list = listOf('block client#mallory', 'allow client#probe', 'allow client#mallory', 'block client#a#b', [
      'block client#late',
      '2026-01-02',
    ])
    expect(['mallory', 'probe', 'a#b', 'alice', 'constructor'].map((id) => list.ofClient(id, NOW))).toEqual([
      'block',
      'allow',
      'block',
      undefined,
      undefined,
    ])
    expect([list.ofClient('late', Date.UTC(2026, 0, 2) - 1), list.ofClient('late', Date.UTC(2026, 0, 2))]).toEqual([
      'block',
      undefined,
    ])
  })
})

describe('a block whose item is invalid stays in force', () => {
  const of = (words: string, address: string) =>
    new AccessList([strictBlock(words)!]).ofAddress(parseIpAddress(address), Number.MAX_SAFE_INTEGER)

  it('without an end', () => {
    expect(strictBlock('client#a#b')).toEqual({ access: 'block', whom: { client: 'a#b' }, expiresAt: Infinity })
    expect(of('ip#203.0.113.0/24', '203.0.113.9')).toBe('block')
  })

  it('for the whole range where bits are set behind its prefix', () => {
    expect(of('ip#203.0.113.7/24', '203.0.113.9')).toBe('block')
    expect(of('ip#203.0.113.7/24', '203.0.114.9')).toBeUndefined()
  })

  it.each(['', 'client', 'client#', 'ip#nobody', 'ip#', 'country#de', 'IP#203.0.113.7', 'other#203.0.113.7'])(
    'unless nobody knows whom it means: %j',
    (words) => expect(strictBlock(words)).toBeUndefined(),
  )
})

test('an entry is parsed although another one had a mistake', () => {
  const issues = [new Mistake('invalid_value', 'one from before')]
  expect(parseAccess('allow', 'client#a#b', { note: 'a friend', expiresAt: '2027-01-31' }, [], issues)).toEqual({
    access: 'allow',
    whom: { client: 'a#b' },
    expiresAt: Date.UTC(2027, 0, 31),
  })
  expect(parseAccess('allow', 'client#a', {}, [], issues)?.expiresAt).toBe(Infinity)
  expect(issues).toHaveLength(1)
})

test.each([
  ['ip#203.0.113.7/24', {}, 'ip has bits set after its prefix, the range is 203.0.113.0/24, got "203.0.113.7/24"'],
  ['ip#2001:db8::1/32', {}, 'ip has bits set after its prefix, the range is 2001:db8::/32, got "2001:db8::1/32"'],
  ['ip#203.0.113.0/33', {}, 'ip prefix must be from 0 to 32, got "203.0.113.0/33"'],
  ['ip#::/129', {}, 'ip prefix must be from 0 to 128, got "::/129"'],
  ['ip#nobody', {}, 'ip must be an IP address or a range such as "203.0.113.0/24" or "2001:db8::/32", got "nobody"'],
  [
    'ip#[::1]:80',
    {},
    'ip must be an IP address or a range such as "203.0.113.0/24" or "2001:db8::/32", got "[::1]:80"',
  ],
  ['country#de', {}, 'sk must name "ip#…" or "client#…" behind its first "#", got "country"'],
  ['', {}, 'sk must name "ip#…" or "client#…" behind its first "#", got ""'],
  ['client#', {}, 'sk must name "ip#…" or "client#…" behind its first "#", got "client"'],
  ['client#a', { note: 'x'.repeat(1025) }, expect.stringMatching(/^note must be a text of at most 1024 characters/)],
  ['ip#203.0.113.7', { util: 'x' }, 'unknown field "util", known are note, expiresAt'],
  [
    'ip#203.0.113.7',
    { expiresAt: 'soon' },
    'expiresAt must be a date such as "2027-01-31" or "2027-01-31T12:00:00Z", got "soon"',
  ],
])('%s %j is a mistake, and no entry', (words, input, sentence) => {
  const issues: Mistake[] = []
  expect(parseAccess('block', words, input, [], issues)).toBeUndefined()
  expect(issues.map(String)).toEqual([sentence])
})

test('an entry may have a note of 1,024 characters', () => {
  const issues: Mistake[] = []
  expect(parseAccess('block', 'client#a', { note: 'x'.repeat(1024) }, [], issues)).toBeDefined()
  expect(issues).toEqual([])
})

test('a block wins over an allowance of the same range, in whatever order they are read', () => {
  const words = ['allow ip#203.0.113.0/24', 'block ip#203.0.113.0/24']
  for (const list of [listOf(...words), listOf(...words.toReversed())])
    expect(list.ofAddress(parseIpAddress('203.0.113.7'), NOW)).toBe('block')
  const expired = listOf(words[0]!, [words[1]!, '2025-12-31'])
  expect(expired.ofAddress(parseIpAddress('203.0.113.7'), NOW)).toBe('allow')
})

test('mistakes in whom an entry is for have one code', () => {
  const issues: Mistake[] = []
  for (const words of ['user#x', 'ip#x']) parseAccess('allow', words, {}, [], issues)
  expect(issues.map(({ code }) => code)).toEqual(['invalid_access_entry', 'invalid_access_entry'])
})
