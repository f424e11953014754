import { createHash } from 'node:crypto'
import { parseIdentity } from '../../lambda/config-table/items/identity-settings'
import { DEFAULT_SETTINGS } from '../../lambda/config-table/items/settings'
import { fingerprintOf } from '../../lambda/identity/client-certificate'
import { type Directory, identify, type KnownClient } from '../../lambda/identity/identify'
import type { RequestFacts, Source, SourceResult } from '../../lambda/identity/source'
import { Sources } from '../../lambda/identity/sources'
import type { Verified } from '../../lambda/identity/token-verifier'
import type { Mistake } from '../../limiter/errors'
import { request } from './requests'

const NOW = 1_700_000_000_000

let verified: Verified
const verifierOf = () => ({ verify: async () => verified })

function sourcesOf(...identity: unknown[]): readonly Source[] {
  const issues: Mistake[] = []
  const settings = { ...DEFAULT_SETTINGS, identity: parseIdentity(identity, [], issues) }
  expect(issues).toEqual([])
  return new Sources(verifierOf, 300).of(settings).list
}

/** What one source says of a request. */
const claimOf = (source: unknown, facts: RequestFacts): SourceResult | Promise<SourceResult> =>
  sourcesOf(source)[0]!.resolve(facts)

const NO_CREDENTIAL = { kind: 'none' }
const trusted = (source: string, name: string, more: object = {}) => ({ source, name, trusted: true, ...more })

describe('what a source claims', () => {
  it.each([
    ['api-gateway-key', request({ apiKeyId: 'a1b2c3' }), { kind: 'claim', credential: 'api-gateway-key:a1b2c3' }],
    ['api-gateway-key', request({ headers: { 'x-api-key': 'made up' } }), NO_CREDENTIAL],
    ['api-gateway-key', request({ apiKeyId: 'x'.repeat(257) }), NO_CREDENTIAL],
    [
      trusted('header', 'X-User', { as: 'user' }),
      request({ headers: { 'x-user': ' 42 ' } }),
      { kind: 'claim', caller: 'user:42' },
    ],
    [trusted('header', 'x-user'), request({ headers: { 'x-user': '42, 43' } }), NO_CREDENTIAL],
    [trusted('header', 'x-user'), request({ headers: { 'x-user': '' } }), NO_CREDENTIAL],
    [trusted('header', 'x-user'), request({ headers: { 'x-user': 'x'.repeat(257) } }), NO_CREDENTIAL],
    [trusted('header', 'x-user'), request({ query: { 'x-user': '42' } }), NO_CREDENTIAL],
    [
      trusted('query', 'who', { tier: 'pro' }),
      request({ query: { who: 'acme' } }),
      { kind: 'claim', caller: 'client:acme', tier: 'pro' },
    ],
    [
      trusted('path', 'tenant', { lookup: true }),
      request({ path: { tenant: 'acme' } }),
      { kind: 'claim', caller: 'client:acme', credential: 'client:acme' },
    ],
    ['client-certificate', request({ clientCertificate: 'no certificate' }), NO_CREDENTIAL],
    ['client-certificate', request(), NO_CREDENTIAL],
  ])('%j', (source, facts, claim) => expect(claimOf(source, facts)).toEqual(claim))

  it('is a certificate’s fingerprint', () => {
    const der = Buffer.from('the bytes of a certificate')
    const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
    const fingerprint = createHash('sha256').update(der).digest('hex')
    expect(fingerprintOf(pem)).toBe(fingerprint)
    expect(claimOf('client-certificate', request({ clientCertificate: pem }))).toEqual({
      kind: 'claim',
      credential: `client-certificate:${fingerprint}`,
    })
  })
})

describe('several issuers', () => {
  const staff = { source: 'jwt', issuer: 'https://staff.example', audience: 'api', lookup: true }
  const partners = {
    source: 'jwt',
    issuer: 'https://partners.example',
    audience: 'api',
    clientClaim: 'azp',
    lookup: true,
  }
  const says = async (sources: readonly object[], position: number, claims: object) => {
    verified = { kind: 'valid', claims: claims as never }
    return sourcesOf(...sources)[position]!.resolve(request({ headers: { authorization: 'Bearer a.b.c' } }))
  }

  it('have users, callers, records and claims of their own, however similar their names are', async () => {
    for (const [other, namespace] of [
      [partners, 'https%3A%2F%2Fpartners.example'],
      [{ ...partners, namespace: 'partners' }, 'partners'],
    ] as const) {
      expect(await says([staff, other], 0, { sub: '42' })).toMatchObject({
        caller: 'user:42',
        credential: 'user:42',
        namespace: '',
      })
      expect(await says([staff, other], 1, { sub: '42' })).toMatchObject({
        caller: `user@${namespace}:42`,
        user: `user@${namespace}:42`,
        credential: `user@${namespace}:42`,
        namespace,
      })
      expect(await says([staff, other], 1, { sub: '42', azp: 'acme' })).toMatchObject({
        caller: `client@${namespace}:acme`,
        credential: `client@${namespace}:acme`,
      })
    }
  })

  it('with the same issuer, for several audiences, have the same users', async () => {
    const again = { ...staff, audience: 'app' }
    expect(await says([staff, again], 1, { sub: '42' })).toMatchObject({ caller: 'user:42' })
    expect(await says([staff, partners, { ...partners, audience: 'app' }], 2, { sub: '7' })).toMatchObject({
      caller: 'user@https%3A%2F%2Fpartners.example:7',
    })
  })

  it.each([
    [
      [
        { ...staff, namespace: 'one' },
        { ...partners, namespace: 'one' },
      ],
      'namespace must differ from that of issuer https://staff.example',
    ],
    [[staff, { ...staff, namespace: 'two' }], 'namespace must be the same for all sources of an issuer'],
    [[{ ...staff, namespace: 'a:b' }], 'namespace must be 1 to 32 small letters'],
    [[{ ...staff, namespace: '' }], 'namespace must be 1 to 32 small letters'],
  ])('cannot share a namespace, nor have two', (sources, sentence) => {
    const issues: Mistake[] = []
    parseIdentity(sources, [], issues)
    expect(issues.map(String)).toEqual([expect.stringContaining(sentence)])
  })
})

describe('a token', () => {
  const jwt = {
    source: 'jwt',
    issuer: 'https://issuer.example',
    audience: 'api',
    clientClaim: 'azp',
    tierClaim: 'plan',
  }
  const claimWith = (answer: Verified, headers: Record<string, string> = { authorization: 'Bearer a.b.c' }) => {
    verified = answer
    return claimOf(jwt, request({ headers }))
  }

  it('names a user, and the client that acts for it', async () => {
    const claims = { sub: '42', plan: 'pro', org: 'acme' }
    expect(await claimWith({ kind: 'valid', claims })).toEqual({
      kind: 'claim',
      caller: 'user:42',
      user: 'user:42',
      tier: 'pro',
      claims,
      namespace: '',
    })
    expect(await claimWith({ kind: 'valid', claims: { ...claims, azp: 'app' } })).toMatchObject({
      caller: 'client@https%3A%2F%2Fissuer.example:app',
      user: 'user:42',
    })
    verified = { kind: 'valid', claims }
    expect(
      await claimOf({ ...jwt, lookup: true }, request({ headers: { authorization: 'Bearer a.b.c' } })),
    ).toMatchObject({
      credential: 'user:42',
    })
  })

  it('that is missing identifies no caller, and one that is invalid or names no user is rejected', async () => {
    expect(await claimWith({ kind: 'valid', claims: { sub: '42' } }, {})).toEqual(NO_CREDENTIAL)
    expect(await claimWith({ kind: 'valid', claims: { sub: '42' } }, { authorization: 'Basic abc' })).toEqual(
      NO_CREDENTIAL,
    )
    expect(await claimWith({ kind: 'invalid', why: 'expired' })).toEqual({ kind: 'rejected' })
    expect(await claimWith({ kind: 'valid', claims: {} })).toEqual({ kind: 'rejected' })
    expect(await claimWith({ kind: 'invalid', why: 'issuer' })).toEqual({
      kind: 'rejected',
      tryNextSource: true,
    })
  })

  it('that cannot be verified is neither accepted nor rejected', async () => {
    expect(await claimWith({ kind: 'unavailable', cause: 'slow' })).toEqual({ kind: 'unavailable', cause: 'slow' })
  })
})

test('sources are made once for the same settings', () => {
  const settings = { ...DEFAULT_SETTINGS, identity: parseIdentity(['api-key'], [], []) }
  const sources = new Sources(verifierOf, 300)
  expect(sources.of(settings)).toBe(sources.of(settings))
  expect(sources.of({ ...settings })).not.toBe(sources.of(settings))
})

describe('the caller', () => {
  const CLIENTS: Record<string, KnownClient> = {
    'api-gateway-key:good': { id: 'acme', tier: 'pro', disabled: false },
    'api-gateway-key:off': { id: 'off', tier: 'pro', disabled: true },
    'api-gateway-key:late': { id: 'late', tier: 'pro', disabled: false, expiresAt: NOW },
    'api-gateway-key:soon': { id: 'soon', tier: 'pro', disabled: false, expiresAt: NOW + 1 },
    'user:42': { id: 'answer', tier: 'free', disabled: false },
  }
  const looked: string[] = []
  const directory: Directory<KnownClient> = {
    find: async (credential) => {
      looked.push(credential)
      return CLIENTS[credential]
    },
  }
  const who = (facts: RequestFacts, ...sources: unknown[]) => identify(facts, sourcesOf(...sources), directory, NOW)

  it('is named by the first source that knows one', async () => {
    const facts = request({ apiKeyId: 'good', headers: { 'x-user': '7' } })
    const header = trusted('header', 'x-user', { as: 'user', tier: 'free' })
    expect(await who(facts, 'api-gateway-key', header)).toEqual({
      kind: 'known',
      credential: 'api-gateway-key:good',
      unchecked: undefined,
      namespace: '',
      caller: 'client:acme',
      user: 'client:acme',
      tier: 'pro',
      client: CLIENTS['api-gateway-key:good'],
      claims: {},
    })
    expect(await who(facts, header, 'api-gateway-key')).toMatchObject({
      caller: 'user:7',
      user: 'user:7',
      tier: 'free',
      client: undefined,
    })
  })

  it('is named by the next source when a credential is unknown', async () => {
    const facts = request({ apiKeyId: 'made up', headers: { 'x-user': '7' } })
    expect(await who(facts, 'api-gateway-key', trusted('header', 'x-user'))).toMatchObject({ caller: 'client:7' })
    expect(await who(facts, 'api-gateway-key')).toEqual({
      kind: 'anonymous',
      credential: 'api-gateway-key:made up',
    })
    expect(await who(request(), 'api-gateway-key')).toEqual({ kind: 'anonymous' })
  })

  it('is the client in the config table, whose tier comes before the source’s', async () => {
    const header = trusted('header', 'x-user', { as: 'user', tier: 'pro', lookup: true })
    expect(await who(request({ headers: { 'x-user': '42' } }), header)).toMatchObject({
      caller: 'client:answer',
      user: 'user:42',
      tier: 'free',
    })
    expect(await who(request({ headers: { 'x-user': '43' } }), header)).toMatchObject({
      caller: 'user:43',
      user: 'user:43',
      tier: 'pro',
    })
  })

  it('is rejected when it is disabled or expired, and the next source is not tried', async () => {
    const ask = (apiKeyId: string) =>
      who(request({ apiKeyId, headers: { 'x-user': '7' } }), 'api-gateway-key', trusted('header', 'x-user'))
    expect(await ask('off')).toMatchObject({ kind: 'rejected' })
    expect(await ask('late')).toMatchObject({ kind: 'rejected' })
    expect(await ask('soon')).toMatchObject({ kind: 'known', caller: 'client:soon' })
  })

  it('is named by another issuer’s token, and rejected when no issuer accepts it', async () => {
    const foreign: Source = { resolve: () => ({ kind: 'rejected', tryNextSource: true }) }
    const header = sourcesOf(trusted('header', 'x-user'))
    expect(await identify(request({ headers: { 'x-user': '7' } }), [foreign, ...header], directory, NOW)).toMatchObject(
      {
        caller: 'client:7',
      },
    )
    expect(await identify(request(), [foreign, ...header], directory, NOW)).toEqual({ kind: 'rejected' })
  })

  it.each(['rejected', 'unavailable'] as const)('is %s when a source says so', async (kind) => {
    const sources: Source[] = [
      { resolve: async () => ({ kind, cause: 'why' }) as SourceResult },
      ...sourcesOf(trusted('header', 'x-user')),
    ]
    expect(await identify(request({ headers: { 'x-user': '7' } }), sources, directory, NOW)).toMatchObject({ kind })
  })

  it('is looked up only where a source has a credential', async () => {
    looked.length = 0
    await who(request({ headers: { 'x-user': '7' } }), 'api-key', 'api-gateway-key', trusted('header', 'x-user'))
    expect(looked).toEqual([])
  })
})
