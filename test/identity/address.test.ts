import { addressKey, addressOf } from '../../lambda/identity/client-ip'
import { request } from './requests'

const PEER = '192.0.2.1'
const keyOf = (
  headers: Record<string, string>,
  rules: { trustedHops?: number; viewerAddress?: boolean } = {},
  sourceIp: string | undefined = PEER,
) => {
  const address = addressOf(request({ headers, sourceIp }), { trustedHops: 0, viewerAddress: false, ...rules })
  return address && addressKey(address)
}

describe('the caller’s address', () => {
  it('is the TCP peer, whatever headers say', () => {
    expect(
      keyOf({ 'x-forwarded-for': '203.0.113.7, 198.51.100.1', 'cloudfront-viewer-address': '203.0.113.7:443' }),
    ).toBe(PEER)
  })

  it.each([
    [1, '203.0.113.7, 198.51.100.1', '203.0.113.7'],
    [1, 'spoofed, 10.0.0.1, 203.0.113.7, 198.51.100.1', '203.0.113.7'], // what the client made up stands further left
    [2, '10.0.0.1, 203.0.113.7, 198.51.100.2, 198.51.100.1', '203.0.113.7'],
    [1, ' [2001:db8::1]:443 ,198.51.100.1', '2001:db8::/56'],
    [1, '203.0.113.7:5000, 198.51.100.1', '203.0.113.7'],
    [1, '198.51.100.1', PEER], // fewer entries than machines: nobody came that way
    [3, '203.0.113.7, 198.51.100.1', PEER],
    [1, 'unknown, 198.51.100.1', PEER],
    [1, '', PEER],
  ])('behind %i trusted machines is that many entries from the right: %j', (trustedHops, forwarded, key) => {
    expect(keyOf({ 'x-forwarded-for': forwarded }, { trustedHops })).toBe(key)
  })

  it.each([
    ['203.0.113.7:46532', '203.0.113.7'],
    ['2001:db8:1:2::1:46532', '2001:db8:1::/56'],
    ['[2001:db8:1:2::1]:46532', '2001:db8:1::/56'],
    ['203.0.113.7', PEER],
    ['nobody:443', PEER],
  ])('behind CloudFront is what that says: %s', (header, key) => {
    expect(keyOf({ 'cloudfront-viewer-address': header }, { viewerAddress: true })).toBe(key)
  })

  it('is unknown where nothing tells it', () => {
    expect(keyOf({}, { viewerAddress: true, trustedHops: 1 }, '')).toBeUndefined()
    expect(addressOf(request(), { trustedHops: 0, viewerAddress: false })).toBeUndefined()
  })
})
