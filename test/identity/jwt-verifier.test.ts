import { createHmac, createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import fc from 'fast-check'
import { parseJwtSettings } from '../../lambda/config-table/items/jwt-settings'
import type { JwtSettingsInput } from '../../lambda/config-table/items/jwt-settings-input'
import { PAUSE_MS, REFRESH_AFTER_MS } from '../../lambda/identity/issuer-keys'
import { JwtVerifier } from '../../lambda/identity/jwt-verifier'
import type { Mistake } from '../../limiter/errors'
import { codePoint } from '../code-point'
import { inTime } from '../in-time'
import { runs } from '../runs'
import { type KeyServer, keyServer, pair, token, unsigned } from './issuer'

const ISSUER = 'https://issuer.example'
const COGNITO = 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123'
const NOW = Date.parse('2026-03-01T12:00:00Z')
const SECONDS = NOW / 1000
const DEADLINE_MS = 5000

const first = pair('first')
const second = pair('second')
const claims = { iss: ISSUER, aud: 'api', sub: 'ada', exp: SECONDS + 60 }

let now: number
let server: KeyServer
let verifier: JwtVerifier

beforeEach(async () => {
  now = NOW
  server = await keyServer([first])
  verifier = new JwtVerifier({ clock: () => now })
})
afterEach(() => server.close())

function settings(changes: Partial<JwtSettingsInput> = {}) {
  const issues: Mistake[] = []
  const parsed = parseJwtSettings(
    { source: 'jwt', issuer: ISSUER, audience: 'api', jwksUri: server.url, ...changes },
    [],
    issues,
  )
  expect(issues).toEqual([])
  return parsed!
}

const verify = (text: string, changes: Partial<JwtSettingsInput> = {}, deadlineMs = DEADLINE_MS) =>
  verifier.verify(text, settings(changes), deadlineMs)

/** `valid`, the reason why not, or `unavailable`. */
async function verdict(
  text: string,
  changes: Partial<JwtSettingsInput> = {},
  deadlineMs = DEADLINE_MS,
): Promise<string> {
  const verified = await verify(text, changes, deadlineMs)
  return verified.kind === 'invalid' ? verified.why : verified.kind
}

const MADE_UP = runs(200, 5000)

describe('a token', () => {
  it('that the issuer signed for this API and the present time is valid, with the claims that were signed', async () => {
    const said = { ...claims, roles: ['gold'], nested: { tier: 'pro' } }
    expect(await verify(token(said, first))).toEqual({ kind: 'valid', claims: said })
  })

  it.each(['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])('may be signed by %s', async (alg) => {
    const key = pair('k', alg)
    server.publish([key])
    expect(await verdict(token(claims, key))).toBe('valid')
    const [header, , signature] = token(claims, key).split('.')
    const other = unsigned({}, { ...claims, sub: 'eve' }).split('.')[1]
    expect(await verdict(`${header}.${other}.${signature}`)).toBe('signature')
  })

  it.each([
    ['one millisecond before its time and the tolerance are over', { exp: SECONDS - 30 + 0.001 }, 'valid'],
    ['when its time and the tolerance are over', { exp: SECONDS - 30 }, 'expired'],
    ['that never expires', { exp: undefined }, 'malformed'],
    ['that expires when nobody can tell', { exp: '2030' }, 'malformed'],
    ['that begins within the tolerance', { nbf: SECONDS + 30 }, 'valid'],
    ['that begins a millisecond later', { nbf: SECONDS + 30 + 0.001 }, 'not-yet-valid'],
    ['of another issuer', { iss: `${ISSUER}/` }, 'issuer'],
    ['of no issuer', { iss: undefined }, 'issuer'],
    ['for another audience', { aud: 'API' }, 'audience'],
    ['for several audiences, none of them us', { aud: ['x', 'y'] }, 'audience'],
    ['for several audiences, us among them', { aud: ['x', 'api'] }, 'valid'],
    ['for no audience', { aud: undefined }, 'audience'],
    ['whose client is named like the audience', { aud: undefined, client_id: 'api', token_use: 'access' }, 'audience'],
  ])('%s: %j is %s', async (_, changes, expected) => {
    expect(await verdict(token({ ...claims, ...changes }, first))).toBe(expected)
  })

  it('may have 8,192 characters and not one more', async () => {
    const SIGNATURE = 343
    const sized = new Map<number, [header: object, payload: object]>()
    for (let fill = 0; fill < 3; fill++) {
      const header = { typ: 'JWT', alg: first.alg, kid: first.kid, fill: '-'.repeat(fill) }
      for (let padding = 5500; padding < 5800; padding++) {
        const payload = { ...claims, padding: '-'.repeat(padding) }
        sized.set(unsigned(header, payload).length + SIGNATURE, [header, payload])
      }
    }
    for (const [length, expected] of [
      [8192, 'valid'],
      [8193, 'malformed'],
    ] as const) {
      const [header, payload] = sized.get(length)!
      const text = token(payload, first, { ...header })
      expect([text.length, await verdict(text)]).toEqual([length, expected])
    }
  })

  it('may be for any of several audiences, and for every audience when that is configured explicitly', async () => {
    expect(await verdict(token(claims, first), { audience: ['web', 'api'] })).toBe('valid')
    expect(await verdict(token(claims, first), { audience: ['any'] })).toBe('audience')
    expect(await verdict(token({ ...claims, aud: undefined }, first), { audience: 'any' })).toBe('valid')
  })

  it('of Cognito names the app client in client_id as an access token, in aud as an ID token', async () => {
    const access = token({ ...claims, iss: COGNITO, aud: undefined, client_id: 'api', token_use: 'access' }, first)
    const bound = token(
      { ...claims, iss: COGNITO, aud: 'https://orders.example', client_id: 'api', token_use: 'access' },
      first,
    )
    const id = token({ ...claims, iss: COGNITO, token_use: 'id' }, first)
    const pretending = token({ ...claims, iss: COGNITO, aud: 'other', client_id: 'api', token_use: 'id' }, first)
    const issuer = COGNITO
    expect(await verdict(access, { issuer })).toBe('valid')
    expect(await verdict(bound, { issuer })).toBe('valid')
    expect(await verdict(bound, { issuer, audience: 'https://orders.example' })).toBe('valid')
    expect(await verdict(id, { issuer })).toBe('valid')
    expect(await verdict(pretending, { issuer })).toBe('audience')
    expect(await verdict(access, { issuer, audience: 'other' })).toBe('audience')
    expect(await verdict(access, { issuer, tokenUse: 'access' })).toBe('valid')
    expect(await verdict(access, { issuer, tokenUse: 'id' })).toBe('token-use')
    expect(await verdict(id, { issuer, tokenUse: 'access' })).toBe('token-use')
  })
})

describe('an invalid token', () => {
  const hs256 = (secret: string | Buffer) => {
    const input = unsigned({ alg: 'HS256', kid: first.kid }, claims)
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const publicKey = createPublicKey({ key: first.jwk, format: 'jwk' })

  it.each([
    ['without a signature', `${unsigned({ alg: 'none', kid: first.kid }, claims)}.`, 'malformed'],
    [
      'of algorithm none, with something for a signature',
      `${unsigned({ alg: 'none', kid: first.kid }, claims)}.AA`,
      'algorithm',
    ],
    ['of algorithm None', token(claims, first, { alg: 'None' }), 'algorithm'],
    ['without an algorithm', token(claims, first, { alg: undefined }), 'algorithm'],
    ['of an algorithm named like an inherited property', token(claims, first, { alg: 'toString' }), 'algorithm'],
    ['signed with the public key as a secret', hs256(publicKey.export({ format: 'pem', type: 'spki' })), 'algorithm'],
    ['signed with the modulus as a secret', hs256(String(first.jwk.n)), 'algorithm'],
    ['of another algorithm than the key is for', token(claims, { ...first, alg: 'RS512' }), 'algorithm'],
    ['of another kind of key', token(claims, pair(first.kid, 'ES256')), 'algorithm'],
    ['signed by someone else under a known id', token(claims, pair(first.kid)), 'signature'],
    ['of an unknown key', token(claims, second), 'unknown-key'],
    ['that names no key', token(claims, first, { kid: undefined }), 'unknown-key'],
    ['that brings its own key', token(claims, second, { jwk: second.jwk, jku: 'http://127.0.0.1:1/' }), 'unknown-key'],
    ['whose key is named like an inherited property', token(claims, first, { kid: '__proto__' }), 'unknown-key'],
    ['whose key is not a text', token(claims, first, { kid: 1 }), 'malformed'],
    ['with an extension that must be understood', token(claims, first, { crit: ['b64'], b64: false }), 'malformed'],
    ['cut short by its last part', token(claims, first).split('.').slice(0, 2).join('.'), 'malformed'],
    ['with a part too many', `${token(claims, first)}.x`, 'malformed'],
    ['cut short within its signature', token(claims, first).slice(0, -9), 'signature'],
    ['whose claims are a list', token([claims], first), 'malformed'],
    ['whose claims are null', token(null, first), 'malformed'],
    ['that is empty', '', 'malformed'],
    ['of dots', '..', 'malformed'],
    ['of letters', 'a.b.c', 'malformed'],
    ['that is longer than any', token({ ...claims, padding: 'x'.repeat(6000) }, first), 'malformed'],
    [
      'that nests without end',
      `${unsigned({ alg: 'RS256', kid: 'first' }, JSON.parse(`${'['.repeat(2500)}${']'.repeat(2500)}`))}.AA`,
      'malformed',
    ],
  ])('%s', async (_, text, expected) => {
    expect(await verdict(text)).toBe(expected)
  })

  it('changes no prototype, whatever its claims are named', async () => {
    const payload = Buffer.from(
      `{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},${JSON.stringify(claims).slice(1)}`,
    )
    const header = unsigned({ alg: 'RS256', kid: first.kid }, 0).split('.')[0]
    expect(await verdict(`${header}.${payload.toString('base64url')}.AA`)).toBe('signature')
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })

  it('causes no fetch of keys when the token alone shows that it is invalid', async () => {
    for (const changes of [{ exp: SECONDS - 3600 }, { iss: 'https://other.example' }, { aud: 'other' }]) {
      await verify(token({ ...claims, ...changes }, first))
    }
    await verify('garbage')
    expect(server.asked).toBe(0)
  })

  it('never makes the verifier throw, and is never valid', async () => {
    const part = fc.oneof(
      fc.base64String(),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
      fc.string(),
    )
    const almost = fc
      .tuple(
        fc.dictionary(
          fc.constantFrom('alg', 'kid', 'crit', 'typ'),
          fc.oneof(fc.constantFrom('RS256', 'first'), fc.jsonValue()),
        ),
        fc.jsonValue(),
      )
      .map(
        ([header, payload]) =>
          `${unsigned({ alg: 'RS256', kid: 'first', ...header }, { ...claims, ...Object(payload) })}.c2ln`,
      )
    const any = fc.oneof(
      fc.string(),
      fc.string({ unit: codePoint }),
      fc.tuple(part, part, part).map((parts) => parts.join('.')),
      almost,
    )
    await fc.assert(
      fc.asyncProperty(any, async (text) => {
        expect((await verify(text)).kind).toBe('invalid')
      }),
      { numRuns: runs(100, 500) },
    )
    expect(server.asked).toBeLessThanOrEqual(1)
  })
})

describe('the keys of an issuer', () => {
  it('are fetched once, for all concurrent callers', async () => {
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => verdict(token(claims, first))))
    expect(new Set(verdicts)).toEqual(new Set(['valid']))
    await verify(token(claims, first))
    expect(server.asked).toBe(1)
  })

  it('are fetched again when a token names a new one, and the old one stays valid while it is published', async () => {
    await verify(token(claims, first))
    now += PAUSE_MS
    server.publish([second, first])
    expect(await verdict(token(claims, second))).toBe('valid')
    expect(await verdict(token(claims, first))).toBe('valid')
    expect(server.asked).toBe(2)
  })

  it('are not fetched again within the pause, and are right after it', async () => {
    await verify(token(claims, first))
    server.publish([second])
    now += PAUSE_MS - 1
    expect(await verdict(token(claims, second))).toBe('unknown-key')
    expect(server.asked).toBe(1)
    now += 1
    expect(await verdict(token(claims, second))).toBe('valid')
    expect(await verdict(token(claims, first))).toBe('unknown-key')
    expect(server.asked).toBe(2)
  })

  it('include a new key under an old id', async () => {
    await verify(token(claims, first))
    const renewed = pair(first.kid)
    server.publish([renewed])
    now += REFRESH_AFTER_MS
    const later = { ...claims, exp: now / 1000 + 60 }
    expect(await verdict(token(later, renewed))).toBe('valid')
    expect(await verdict(token(later, first))).toBe('signature')
  })

  it('are fetched again every hour, so that a withdrawn one stops being valid', async () => {
    const later = { ...claims, exp: SECONDS + 7200 }
    await verify(token(later, first))
    server.publish([second])
    now += 3_600_000 - 1
    expect(await verdict(token(later, first))).toBe('valid')
    expect(server.asked).toBe(1)
    now += 1
    expect(await verdict(token(later, first))).toBe('unknown-key')
  })

  it('are fetched a few times a minute at most, however many key ids are made up', async () => {
    for (let made = 0; made < MADE_UP; made++) {
      now = NOW + Math.floor((made * 60_000) / MADE_UP)
      const text = `${unsigned({ alg: 'RS256', kid: `made-up-${made}` }, { ...claims, exp: SECONDS + 3600 })}.AA`
      expect(await verdict(text)).toBe('unknown-key')
    }
    expect(server.asked).toBe(6)
  })

  it('that cannot verify signatures are left out, and the others stay', async () => {
    const strange = [
      null,
      1,
      [],
      { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
      { kty: 'RSA', kid: 'broken', n: '', e: 'AQAB' },
      { kty: 'RSA', n: 1 },
    ]
    const encrypting = { ...second, jwk: { ...second.jwk, use: 'enc' } }
    const nameless = pair('nameless')
    server.publish((_, response) =>
      response.end(
        JSON.stringify({ keys: [...strange, encrypting.jwk, { ...nameless.jwk, kid: undefined }, first.jwk] }),
      ),
    )
    expect(await verdict(token(claims, first))).toBe('valid')
    expect(await verdict(token(claims, second))).toBe('unknown-key')
    expect(await verdict(token(claims, nameless))).toBe('unknown-key')
    expect(await verdict(token(claims, first, { kid: 'broken' }))).toBe('unknown-key')
  })

  it('are the first of those with one id', async () => {
    server.publish([first, { ...second, jwk: { ...second.jwk, kid: first.kid } }])
    expect(await verdict(token(claims, first))).toBe('valid')
    expect(await verdict(token(claims, { ...second, kid: first.kid }))).toBe('signature')
  })

  it('without an algorithm of their own verify signatures of their kind, and no others', async () => {
    const open = { ...first, jwk: { ...first.jwk, alg: undefined } }
    server.publish([open])
    expect(await verdict(token(claims, { ...first, alg: 'RS384' }))).toBe('valid')
    for (const alg of ['ES256', 'ES384', 'EdDSA'])
      expect(await verdict(token(claims, first, { alg }))).toBe('algorithm')
    expect(await verdict(token(claims, first, { alg: 'RS512' }))).toBe('signature')
  })

  it('are kept apart by issuer, for a bounded number of issuers', async () => {
    const other = await keyServer([second])
    expect(await verdict(token(claims, second), { jwksUri: other.url })).toBe('valid')
    expect(await verdict(token(claims, first), { jwksUri: other.url })).toBe('unknown-key')
    expect(await verdict(token(claims, first))).toBe('valid')
    for (let i = 0; i < 20; i++) await verify(token(claims, first), { jwksUri: `${server.url}/${i}` })
    expect(server.asked).toBe(21)
    await verify(token(claims, first))
    expect(server.asked).toBe(22)
    await other.close()
  })
})

describe('an issuer in trouble', () => {
  it('that never answers makes a token unavailable, neither valid nor invalid, by the deadline', async () => {
    server.publish(() => {})
    for (const deadlineMs of [100, 50]) {
      const start = performance.now()
      const verified = await inTime(deadlineMs + 50, () => verify(token(claims, first), {}, deadlineMs))
      const took = performance.now() - start
      expect(verified).toEqual({
        kind: 'unavailable',
        cause: new Error(`${server.url} did not answer within ${deadlineMs} ms`),
      })
      expect(took).toBeGreaterThanOrEqual(deadlineMs - 2)
    }
    expect(server.asked).toBe(1)
  })

  it('that answers late provides keys for later tokens', async () => {
    const answering = new Promise<() => void>((resolve) => {
      server.publish((_, response) => resolve(() => response.end(JSON.stringify({ keys: [first.jwk] }))))
    })
    expect(await verdict(token(claims, first), {}, 20)).toBe('unavailable')
    ;(await answering)()
    expect(await verdict(token(claims, first))).toBe('valid')
    expect(server.asked).toBe(1)
  })

  it('that is unreachable leaves the known keys in use, even old ones', async () => {
    await verify(token(claims, first))
    await server.close()
    now += 5 * REFRESH_AFTER_MS
    const later = { ...claims, exp: now / 1000 + 60 }
    expect(await verdict(token(later, first))).toBe('valid')
    expect(await verdict(token(later, second))).toBe('unavailable')
    now += PAUSE_MS
    expect(await verdict(token(later, first))).toBe('valid')
  })

  it('that is slow makes one token with an old key wait for half of the time, and the others not at all', async () => {
    await verify(token(claims, first))
    now += REFRESH_AFTER_MS
    server.publish(() => {})
    const later = token({ ...claims, exp: now / 1000 + 60 }, first)
    const took = async () => {
      const start = performance.now()
      expect(await verdict(later, {}, 400)).toBe('valid')
      return performance.now() - start
    }
    const times = await Promise.all([took(), took()])
    expect(times[0]).toBeGreaterThanOrEqual(198)
    expect(times[0]).toBeLessThan(400)
    expect(times[1]).toBeLessThan(198)
  })

  it('is queried less and less often, and at the usual pace once it has recovered', async () => {
    server.publish((_, response) => response.writeHead(503).end())
    const asked: number[] = []
    for (; now < NOW + 40_000; now += 500) {
      const before = server.asked
      expect(await verdict(token({ ...claims, exp: SECONDS + 3600 }, first))).toBe('unavailable')
      if (server.asked > before) asked.push((now - NOW) / 1000)
    }
    expect(asked).toEqual([0, 1, 3, 7, 15, 25, 35])
    server.publish([first])
    now = NOW + 45_000
    expect(await verdict(token(claims, first))).toBe('valid')

    server.publish((_, response) => response.writeHead(503).end())
    now += PAUSE_MS
    expect(await verdict(token({ ...claims, exp: SECONDS + 3600 }, second))).toBe('unavailable')
    server.publish([second])
    now += 999
    expect(await verdict(token({ ...claims, exp: SECONDS + 3600 }, second))).toBe('unavailable')
    now += 1
    expect(await verdict(token({ ...claims, exp: SECONDS + 3600 }, second))).toBe('valid')
  })

  it('is queried although the clock was set back', async () => {
    await verify(token(claims, first))
    server.publish([second])
    now -= 1
    expect(await verdict(token(claims, second))).toBe('valid')
  })

  it.each<[string, Parameters<KeyServer['publish']>[0], RegExp]>([
    ['errors', (_, response) => response.writeHead(500).end('{}'), /answered with status 500, not 200/],
    [
      'redirects',
      (_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
      /answered with status 302, not 200/,
    ],
    ['no keys', [], /has no key that can check signatures/],
    ['something else', (_, response) => response.end('null'), /has no key that can check signatures/],
    ['HTML', (_, response) => response.end('<html>'), /JSON/],
    [
      'half an answer',
      (_, response) => response.writeHead(200, { 'Content-Length': 99 }).write('{', () => response.destroy()),
      /aborted/,
    ],
    [
      'too long an answer',
      (_, response) => response.end(`{"keys":[]}${' '.repeat(300_000)}`),
      /sent more than 262144 bytes/,
    ],
  ])('that answers with %s is one whose keys cannot be had', async (_, answer, expected) => {
    server.publish(answer)
    const verified = await verify(token(claims, first))
    expect(verified).toEqual({
      kind: 'unavailable',
      cause: expect.objectContaining({ message: expect.stringMatching(expected) }),
    })
  })

  it('that publishes no keys once removes none that were known', async () => {
    await verify(token(claims, first))
    server.publish([])
    now += REFRESH_AFTER_MS
    expect(await verdict(token({ ...claims, exp: now / 1000 + 60 }, first))).toBe('valid')
    expect(server.asked).toBe(2)
  })

  it('that sends without end is disconnected', async () => {
    const hungUp = new Promise<void>((resolve) => {
      server.publish((_, response) => {
        const more = () => {
          while (response.writable && response.write('x'.repeat(16_384)));
        }
        response.on('drain', more)
        response.on('close', resolve)
        more()
      })
    })
    expect(await verdict(token(claims, first))).toBe('unavailable')
    await hungUp
  })

  it('that neither answers nor disconnects times out after three seconds', async () => {
    const connected = new Promise<
      Parameters<Extract<Parameters<KeyServer['publish']>[0], (...args: never) => void>>[1]
    >((resolve) => {
      server.publish((_, response) => resolve(response))
    })
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] })
    try {
      const verified = verify(token(claims, first))
      const response = await connected
      jest.advanceTimersByTime(3000)
      expect(await verified).toEqual({
        kind: 'unavailable',
        cause: new Error(`${server.url} did not answer within 3000 ms`),
      })
      if (!response.closed) await once(response, 'close')
    } finally {
      jest.useRealTimers()
    }
  })
})
