import { createHmac, createPublicKey, randomBytes } from 'node:crypto'
import { RANDOM_BYTES, SigningKeys, signedKey } from '../../../lambda/config-table/items/signing-keys'
import { hashApiKey } from '../../../lambda/identity/api-key'
import { JwtVerifier } from '../../../lambda/identity/jwt-verifier'
import { Sources } from '../../../lambda/identity/sources'
import { pair, type SigningPair, token, unsigned } from '../../identity/issuer'
import type { Attack, World } from '../attack'
import { limit } from '../rules'

const [STAFF, PARTNERS] = ['https://staff.example.com', 'https://partners.example.org']

/** Staff, partners and clients with keys; whoever has no credentials is refused. */
const RULES = {
  settings: {
    defaultTier: 'free',
    identity: [
      { source: 'jwt', issuer: STAFF, audience: 'api', lookup: true },
      { source: 'jwt', issuer: PARTNERS, audience: 'api', clientClaim: 'azp', lookup: true },
      'api-key',
    ],
  },
  tiers: {
    anonymous: { by: 'ip', credentials: 'required', policies: [limit('per-hour', 10)] },
    free: { policies: [limit('per-hour', 10)] },
    pro: { policies: [limit('per-hour', 1000)] },
  },
}

const CLIENTS: Readonly<Record<string, { id: string; tier: string }>> = {
  'user:42': { id: 'director', tier: 'pro' },
  [hashApiKey('key of acme')]: { id: 'acme', tier: 'free' },
}

/** Made with the first token that is asked for. */
let pairs: Readonly<Record<'rsa' | 'ec' | 'partners' | 'attacker', SigningPair>> | undefined
const keys = () => {
  pairs ??= { rsa: pair('k1'), ec: pair('e1', 'ES256'), partners: pair('p1', 'ES256'), attacker: pair('k1') }
  return pairs
}

function issuers(): World {
  const { rsa, ec, partners } = keys()
  const published = (uri: string) => ({ keys: (uri.startsWith(STAFF) ? [rsa, ec] : [partners]).map(({ jwk }) => jwk) })
  const verifier = new JwtVerifier({ clock: Date.now, fetch: async (uri) => JSON.stringify(published(uri)) })
  const clients = {
    find: async (credential: string) =>
      CLIENTS[credential] && { ...CLIENTS[credential], overrides: {}, disabled: false },
  }
  return {
    parts: {
      sources: new Sources((settings) => ({ verify: (one, ms) => verifier.verify(one, settings, ms) }), 300),
      clients,
    },
  }
}

/** A deployment that signs its API keys, and one of them. */
const SIGNER = { secret: randomBytes(32), activeFrom: 0 }
const signed = () => signedKey(SIGNER, randomBytes(RANDOM_BYTES))
const SIGNED = signed()
const withSigner = () => {
  let count = 0
  const ring = new SigningKeys([SIGNER])
  const acme = { id: 'acme', tier: 'free', overrides: {}, disabled: false }
  const find = async (credential: string) => {
    count++
    return credential === hashApiKey(SIGNED) ? acme : undefined
  }
  return { parts: { clients: { find }, signingKeys: { current: async () => ring } }, counted: () => count }
}

const seconds = () => Math.floor(Date.now() / 1000)
const claims = (more: object = {}) => ({ iss: STAFF, aud: 'api', sub: '7', exp: seconds() + 600, ...more })
const bearer = (text: string) => ({ path: '/anything', headers: { Authorization: `Bearer ${text}` } })

/** The same before a config table in which the user 42 is disabled, and where nobody has to show credentials. */
const OPEN = { ...RULES, tiers: { ...RULES.tiers, anonymous: { by: 'ip', policies: [limit('per-hour', 10)] } } }
const withDisabled = (): World => {
  const clients = {
    find: async (one: string) =>
      one === 'user:42' ? { id: 'jane', tier: 'free', overrides: {}, disabled: true } : undefined,
  }
  return { parts: { ...issuers().parts, clients } }
}

const REFUSED = '401'

/** A token that must be worth nothing. */
const forgery = (tried: string, now: string, make: () => string): Attack => ({
  about: 'Credentials',
  tried,
  sends: () => bearer(make()),
  world: issuers,
  rules: RULES,
  passes: 0,
  now,
})

/** The public key as a secret, in the encoding in which attackers find it. */
function signedWithPublicKey(): string {
  const { rsa } = keys()
  const input = unsigned({ typ: 'JWT', alg: 'HS256', kid: rsa.kid }, claims())
  const secret = createPublicKey(rsa.privateKey).export({ type: 'spki', format: 'pem' })
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

function withOtherClaims(): string {
  const [header, , signature] = token(claims(), keys().rsa).split('.')
  const [, payload] = unsigned({}, claims({ sub: '42' })).split('.')
  return [header, payload, signature].join('.')
}

export const CREDENTIALS: readonly Attack[] = [
  {
    ...forgery('a good token, to compare with', 'ten units', () => token(claims(), keys().rsa)),
    passes: 10,
  },
  forgery(
    'a token without a signature, `alg: none`',
    REFUSED,
    () => `${unsigned({ alg: 'none', kid: 'k1' }, claims())}.`,
  ),
  forgery('`HS256` with the issuer’s public key as the secret', REFUSED, signedWithPublicKey),
  forgery('`ES256` in the header, signed with an RSA key', REFUSED, () =>
    token(claims(), keys().rsa, { alg: 'ES256' }),
  ),
  forgery(
    'a signature of zeroes',
    REFUSED,
    () => `${unsigned({ alg: 'ES256', kid: 'e1' }, claims())}.${Buffer.alloc(64).toString('base64url')}`,
  ),
  forgery('the attacker’s key under the issuer’s `kid`', REFUSED, () => token(claims(), keys().attacker)),
  forgery('a key of its own in the header: `jwk`, `jku`', REFUSED, () =>
    token(claims(), keys().attacker, { kid: 'mine', jwk: keys().attacker.jwk, jku: 'https://attacker.example/keys' }),
  ),
  forgery('`kid` by the name of a property of JavaScript’s', REFUSED, () =>
    token(claims(), keys().attacker, { kid: '__proto__' }),
  ),
  forgery('claims changed after signing', REFUSED, withOtherClaims),
  forgery('an expired token', REFUSED, () => token(claims({ exp: seconds() - 31 }), keys().rsa)),
  forgery('a token that never expires', REFUSED, () => token(claims({ exp: undefined }), keys().rsa)),
  forgery('a token for another audience', REFUSED, () => token(claims({ aud: 'another-api' }), keys().rsa)),
  forgery('a partner’s token that claims to be of staff', REFUSED, () => token(claims(), keys().partners)),
  {
    ...forgery('a partner’s user 42, where staff has a user 42', 'other issuers’ users are named apart', () =>
      token(claims({ iss: PARTNERS, sub: '42' }), keys().partners),
    ),
    passes: 10,
  },
  {
    ...forgery(
      'another issuer’s tokens that name a client, to use up its quota',
      'tokens name no client of the table',
      () => '',
    ),
    sends: (n) =>
      n < 10
        ? bearer(token(claims({ iss: PARTNERS, azp: 'acme' }), keys().partners))
        : { path: '/anything', headers: { 'X-Api-Key': 'key of acme' } },
    passes: 20,
  },
  {
    about: 'Credentials',
    tried: 'made-up API keys until look-ups stop, then a disabled user’s token',
    sends: (n) =>
      n < 35
        ? { path: '/anything', headers: { 'X-Api-Key': `key ${n}` } }
        : bearer(token(claims({ sub: '42' }), keys().rsa)),
    times: 60,
    world: withDisabled,
    rules: OPEN,
    passes: 10,
    now: 'verified callers are always looked up',
  },
  {
    about: 'Credentials',
    tried: 'API keys with a made-up MAC, to have each looked up',
    sends: () => ({ path: '/anything', headers: { 'X-Api-Key': signed().slice(0, -20) + signed().slice(-20) } }),
    times: 500,
    world: withSigner,
    counts: 'look-ups',
    rules: RULES,
    passes: 0,
    now: 'a wrong MAC needs no look-up',
  },
  {
    about: 'Credentials',
    tried: 'made-up API keys, to shut out a customer at the same address',
    sends: (n) => ({ path: '/anything', headers: { 'X-Api-Key': n < 100 ? `key ${n}` : SIGNED } }),
    times: 110,
    world: () => ({ parts: withSigner().parts }),
    rules: RULES,
    passes: 10,
    now: 'signed API keys are always looked up',
  },
  {
    ...forgery('a user that is half a surrogate pair, at which look-ups fail', '401: not a valid string', () =>
      token(claims({ sub: '\ud800' }), keys().rsa),
    ),
  },
]
