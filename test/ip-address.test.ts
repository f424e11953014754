import fc from 'fast-check'
import { parseIpAddress, parseIpRange, printedRange, toIpv4, toIpv6 } from '../lambda/ip-address'

const rangeOf = (text: string) => {
  const range = parseIpRange(text)
  if ('wrong' in range) throw new Error(range.wrong)
  return range
}

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.0/24', '203.0.113.0/24'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:DB8:0::/32', '2001:db8::/32'],
  ['::/0', '::/0'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['::1', '::1'],
])('the range %s is written %s', (text, printed) => expect(printedRange(rangeOf(text))).toBe(printed))

test('an IPv4 address is the IPv6 address it is mapped to', () => {
  expect(parseIpAddress('1.2.3.4')).toEqual(parseIpAddress('::ffff:102:304'))
  expect(toIpv4(parseIpAddress('::1.2.3.4')!)).toBe('1.2.3.4')
  expect(toIpv4(parseIpAddress('2001:db8::1.2.3.4')!)).toBeUndefined()
})

test('what is written as IPv6 reads as the same address', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const address = parseIpAddress(text)!
      expect(address).toHaveLength(8)
      expect(parseIpAddress(toIpv6(address))).toEqual(address)
    }),
  )
})

test('any text is an address or none, and a range or what is wrong with it', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.ipV4Extended(),
        fc.string().map((tail) => `::${tail}`),
      ),
      (text) => {
        const address = parseIpAddress(text)
        if (address)
          expect(address.every((group) => Number.isInteger(group) && group >= 0 && group <= 0xffff)).toBe(true)
        const range = parseIpRange(text)
        if (!('wrong' in range)) expect(rangeOf(printedRange(range))).toEqual(range)
      },
    ),
  )
})
