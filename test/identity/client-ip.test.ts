import fc from 'fast-check'
import { clientIpKey } from '../../lambda/identity/client-ip'
import { codePoint } from '../code-point'
import { runs } from '../runs'
import vectors from '../vectors/client-ip.json'

test.each(vectors.rows)('$address with the prefix $prefix is $key', ({ address, prefix, key }) => {
  expect(clientIpKey(address, prefix ?? undefined)).toBe(key)
})

test.each([
  ['a prefix of 0 keeps the whole address', '2001:DB8::0:1', 0, '2001:db8::1'],
  ['the longest run of zeros is left out', '1:0:0:2:0:0:0:3', 0, '1:0:0:2::3'],
  ['of equal runs the first', '1:0:0:2:0:0:3:4', 0, '1::2:0:0:3:4'],
  ['a single zero is written', '1:0:2:3:4:5:6:7', 0, '1:0:2:3:4:5:6:7'],
  ['at the end', '1:2:3:4:5:6:0:0', 0, '1:2:3:4:5:6::'],
  ['at the start', '0:0:3:4:5:6:7:8', 0, '::3:4:5:6:7:8'],
  ['the whole address as a prefix', '2001:db8::1', 128, '2001:db8::1/128'],
  ['a prefix on a border between groups', '2001:db8:1:2:3::', 64, '2001:db8:1:2::/64'],
  ['a prefix of one bit', 'ffff::', 1, '8000::/1'],
  ['brackets', '[2001:db8::1]', 56, '2001:db8::/56'],
  ['brackets and a port', '[2001:db8::1]:8080', 56, '2001:db8::/56'],
  ['IPv4 and a port', '1.2.3.4:8080', 56, '1.2.3.4'],
  ['a mapped address in brackets', '[::ffff:1.2.3.4]:8080', 56, '1.2.3.4'],
  ['a zone', 'fe80::1%eth0', 56, 'fe80::/56'],
  ['a zone in brackets', '[fe80::1%25en0]', 64, 'fe80::/64'],
  ['spaces', ' 1.2.3.4\t', 56, '1.2.3.4'],
  ['mapped, spelled in full', '0:0:0:0:0:FFFF:0102:0304', 56, '1.2.3.4'],
  ['mapped, the highest', '::ffff:ffff:ffff', 56, '255.255.255.255'],
  ['mapped, the lowest', '::ffff:0:0', 56, '0.0.0.0'],
  ['nearly mapped', '::fffe:1.2.3.4', 56, '::/56'],
  ['mapped after something', '0:0:0:0:1:ffff:102:304', 128, '::1:ffff:102:304/128'],
  ['compatible, the lowest', '::1:0', 56, '0.1.0.0'],
  ['too low to be compatible', '::ffff', 128, '::ffff/128'],
])('%s: %s with the prefix %d', (_, address, prefix, key) => {
  expect(clientIpKey(address, prefix)).toBe(key)
})

test.each([
  '',
  ' ',
  'unknown',
  'test-invoke-source-ip',
  '1.2.3',
  '1.2.3.4.5',
  '1.2.3.256',
  '01.2.3.4',
  '1.2.3.4:port',
  '1.2.3.4%eth0',
  '1.2.3.4, 5.6.7.8',
  '::ffff:1.2.3.256',
  '1::2::3',
  '12345::',
  '1:2:3:4:5:6:7:8:9',
  ':::',
  '[::1',
  '::1]',
  '[::1]x',
  'x[::1]',
  '_hidden',
  '0x7f.1',
  '2130706433',
  '١.٢.٣.٤',
  `${' '.repeat(200)}::1`,
  'f'.repeat(1_000_000),
])('%j is no address', (garbage) => {
  expect(clientIpKey(garbage.slice(0, 2_000))).toBeUndefined()
})

describe('laws', () => {
  const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
  const prefixes = fc.integer({ min: 0, max: 128 })
  const full = (parts: number[]) => parts.map((group) => group.toString(16).padStart(4, '0').toUpperCase()).join(':')

  test('two spellings of one address give one key', () => {
    fc.assert(
      fc.property(groups, prefixes, (parts, prefix) => {
        const short = new URL(`http://[${full(parts)}]`).hostname
        const quad = `${full(parts.slice(0, 6))}:${parts
          .slice(6)
          .flatMap((group) => [group >> 8, group & 255])
          .join('.')}`
        const key = clientIpKey(full(parts), prefix)
        expect([clientIpKey(short, prefix), clientIpKey(quad, prefix), clientIpKey(`${quad}%1`, prefix)]).toEqual([
          key,
          key,
          key,
        ])
      }),
      { numRuns: runs(100, 1_000) },
    )
  })

  test('a whole address is spelled as RFC 5952 says', () => {
    fc.assert(
      fc.property(groups, (parts) => {
        const key = clientIpKey(full(parts), 0)!
        expect(key.includes('.') || `[${key}]` === new URL(`http://[${full(parts)}]`).hostname).toBe(true)
      }),
      { numRuns: runs(100, 1_000) },
    )
  })

  test('addresses share a key exactly when they share the prefix', () => {
    const bits = (parts: number[]) => parts.map((group) => group.toString(2).padStart(16, '0')).join('')
    const global = groups.map((parts) => [0x2000 + (parts[0]! % 0x1000), ...parts.slice(1)])
    fc.assert(
      fc.property(global, fc.nat(127), fc.integer({ min: 1, max: 128 }), (parts, flipped, prefix) => {
        const other = parts.map((group, index) => (index === flipped >> 4 ? group ^ (0x8000 >> (flipped & 15)) : group))
        const shared = bits(parts).slice(0, prefix) === bits(other).slice(0, prefix)
        expect(clientIpKey(full(parts), prefix) === clientIpKey(full(other), prefix)).toBe(shared)
      }),
      { numRuns: runs(100, 1_000) },
    )
  })

  test('any text gives a short key or none', () => {
    const texts = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.[]% ') }),
      fc.ipV6(),
      fc.ipV4(),
    )
    fc.assert(
      fc.property(texts, prefixes, (text, prefix) => {
        expect(clientIpKey(text, prefix) ?? '').toMatch(/^$|^[\d.]{7,15}$|^[0-9a-f:]{2,39}(\/\d{1,3})?$/)
      }),
      { numRuns: runs(150, 2_000) },
    )
  })
})
