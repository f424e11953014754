import { runs } from '../runs'
import { randomRequests, type SignedRequest, signedHeaders } from './signed-requests'
import { authorizationOf } from './sigv4'

/** Of AWS's test suite for signature version 4. */
const SUITE = {
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
  headers: { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z' },
  token:
    'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthA' +
    'x7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY' +
    '9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==',
} as const

describe("the judge of signatures signs AWS's published example", () => {
  it.each<[string, string, string, object, string, string]>([
    ['get-vanilla', 'GET', '/', {}, '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['post-vanilla', 'POST', '/', {}, '', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    ['get-utf8', 'GET', '/ሴ', {}, '', '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85'],
    [
      'get-header-value-trim',
      ...['GET', '/'],
      ...[{ 'my-header1': ' value1', 'my-header2': ' "a   b   c"' }, ''],
      'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
    ] as never,
    [
      'post-x-www-form-urlencoded',
      ...['POST', '/'],
      ...[{ 'content-type': 'application/x-www-form-urlencoded' }, 'Param1=value1'],
      'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    ] as never,
    [
      'post-sts-header-before',
      ...['POST', '/'],
      ...[{ 'x-amz-security-token': SUITE.token }, ''],
      '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
    ] as never,
  ])('%s', (_, method, path, more, body, signature) => {
    const headers = { ...SUITE.headers, ...more }
    const authorization = authorizationOf({ method, path, headers, body }, SUITE.credentials, 'us-east-1', 'service')
    expect(authorization).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
        `SignedHeaders=${Object.keys(headers).sort().join(';')}, Signature=${signature}`,
    )
  })
})

describe('a request over the wire', () => {
  let requests: readonly SignedRequest[]
  beforeAll(async () => {
    requests = await randomRequests(runs(300, 5000))
  })

  it('has the signature that AWS computes, for any key, session token, Region, path, header and body', () => {
    for (const { received, credentials, region, service } of requests) {
      const { method, path, body } = received
      const headers = signedHeaders(received)
      expect({ received, signature: received.headers.authorization }).toEqual({
        received,
        signature: authorizationOf({ method, path, headers, body }, credentials, region, service),
      })
    }
  })

  it('has a signature that covers its host, its time, its session token and all headers that mean something', () => {
    for (const { received, credentials } of requests) {
      const headers = signedHeaders(received)
      const { host, 'x-amz-date': date, 'x-amz-security-token': token, 'content-type': type } = headers
      expect(host).toBe(received.headers.host)
      expect(token).toBe(credentials.sessionToken?.trim())
      expect(type).toBe('application/x-amz-json-1.0')
      expect(Math.abs(timeOf(date!) - Date.now())).toBeLessThan(120_000)
      const others = Object.keys(received.headers).filter((name) => !(name in headers))
      expect(others.filter((name) => !/^(authorization|user-agent|connection)$/.test(name))).toEqual([])
    }
  })

  it('is no longer than what it says', () => {
    for (const { received } of requests)
      expect(received.headers['content-length']).toBe(String(Buffer.byteLength(received.body)))
  })
})

const timeOf = (date: string) =>
  Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
