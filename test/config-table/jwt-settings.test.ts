import { isCognito, type JwtSettings, parseJwtSettings } from '../../lambda/config-table/items/jwt-settings'
import type { Mistake } from '../../limiter/errors'
import { RUBBISH } from '../policies/issues'

const written = (changes: Readonly<Record<string, unknown>> = {}) => ({
  source: 'jwt',
  issuer: 'https://issuer.example',
  audience: 'api',
  ...changes,
})

function parse(input: unknown, before: readonly JwtSettings[] = []) {
  const issues: Mistake[] = []
  const settings = parseJwtSettings(input, ['identity 1'], issues, before)
  expect(settings === undefined).toBe(issues.length > 0)
  return { settings, issues: issues.map(String) }
}

const issuesIn = (changes: Readonly<Record<string, unknown>>) => parse(written(changes)).issues

describe('the settings of a JWT source', () => {
  it('have defaults for all but issuer and audience', () => {
    expect(parse(written()).settings).toEqual({
      source: 'jwt',
      issuer: 'https://issuer.example',
      jwksUri: 'https://issuer.example/.well-known/jwks.json',
      audience: ['api'],
      header: 'authorization',
      userClaim: 'sub',
      tiersByRole: [],
      namespace: '',
    })
  })

  it('may set every field', () => {
    const all = {
      issuer: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC',
      audience: ['a', 'b'],
      jwksUri: 'http://localhost:3000/keys',
      tokenUse: 'access',
      userClaim: 'username',
      clientClaim: 'client_id',
      tierClaim: 'custom:tier',
      rolesClaim: 'cognito:groups',
      namespace: 'pool',
    }
    expect(
      parse(written({ ...all, header: 'X-Token', tiersByRole: { gold: 'pro', staff: 'internal' } })).settings,
    ).toEqual({
      source: 'jwt',
      ...all,
      header: 'x-token',
      tiersByRole: [
        { role: 'gold', tier: 'pro' },
        { role: 'staff', tier: 'internal' },
      ],
    })
  })

  it('keep the order of roles that are a list', () => {
    const tiersByRole = [
      { role: '2', tier: 'pro' },
      { role: '1', tier: 'free' },
    ]
    expect(parse(written({ rolesClaim: 'roles', tiersByRole })).settings?.tiersByRole).toEqual(tiersByRole)
  })

  it.each([
    ['https://tenant.eu.auth0.com/', 'https://tenant.eu.auth0.com/.well-known/jwks.json'],
    ['https://idp.example/realms/one', 'https://idp.example/realms/one/.well-known/jwks.json'],
  ])('find the keys of %s at %s, and leave the issuer as it is written', (issuer, jwksUri) => {
    expect(parse(written({ issuer })).settings).toMatchObject({ issuer, jwksUri })
  })

  it.each([
    'http://issuer.example',
    'http://127.0.0.1.example',
    'http://10.0.0.1',
    'ftp://issuer.example',
    'issuer.example',
    'https://',
    'https://user:secret@issuer.example',
    'https://user@issuer.example',
    'https://:secret@issuer.example',
    'https://issuer.example/\ud800',
    'https:issuer.example',
    'HTTPS://issuer.example',
    'https://issuer.example#x',
    ' https://issuer.example',
    `https://issuer.example/${'x'.repeat(1024)}`,
    '',
    7,
  ])('refuse %j for a place of keys', (url) => {
    expect(issuesIn({ issuer: url })).toEqual([
      expect.stringMatching(/^issuer must be an https URL without a query, got .* \(identity 1\)$/),
    ])
    expect(issuesIn({ jwksUri: url })).toEqual([
      expect.stringMatching(/^jwksUri must be an https URL, got .* \(identity 1\)$/),
    ])
  })

  it.each(['http://localhost:8080/realm', 'http://127.0.0.1:1', 'http://[::1]:1'])(
    'take %s, which never leaves the machine',
    (issuer) => {
      expect(issuesIn({ issuer })).toEqual([])
    },
  )

  it('may have a query in the URL of the keys, but not in the issuer', () => {
    expect(issuesIn({ jwksUri: 'https://issuer.example/keys?p=policy' })).toEqual([])
    expect(issuesIn({ issuer: 'https://issuer.example?p=policy' })).toHaveLength(1)
  })

  it('require an audience, or the word any', () => {
    const wanted = 'a string or a list of 1 to 256 strings, one of them in every token, or "any"'
    expect(issuesIn({ audience: undefined })).toEqual([`audience is missing, it must be ${wanted} (identity 1)`])
    for (const audience of ['', [], [''], ['a', 1], 'x'.repeat(257), {}, Array(257).fill('a')]) {
      expect(issuesIn({ audience })).toEqual([expect.stringContaining(`audience must be ${wanted}, got `)])
    }
    expect(parse(written({ audience: 'any' })).settings?.audience).toBe('any')
    expect(parse(written({ audience: ['any'] })).settings?.audience).toEqual(['any'])
  })

  it('refuse what would never apply', () => {
    expect(issuesIn({ tokenUse: 'id' })).toEqual([
      'tokenUse applies to Cognito only, and the issuer is https://issuer.example (identity 1)',
    ])
    expect(issuesIn({ tiersByRole: { gold: 'pro' } })).toEqual([
      'tiersByRole needs rolesClaim, the claim that holds the roles (identity 1)',
    ])
  })

  it.each([
    ['source', 'header'],
    ['header', ''],
    ['header', 'a b'],
    ['tokenUse', 'refresh'],
    ['userClaim', ''],
    ['clientClaim', 'x'.repeat(257)],
    ['tierClaim', 1],
    ['rolesClaim', ['roles']],
    ['tiersByRole', 'gold'],
    ['tiersByRole', { gold: 1 }],
    ['tiersByRole', [{ role: 'gold' }]],
    ['tiersByRole', [{ role: 'gold', tier: 'pro', more: 1 }]],
    ['tiersByRole', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, 'pro']))],
  ])('refuse %s: %j', (field, value) => {
    expect(issuesIn({ rolesClaim: 'roles', [field]: value })).toEqual([
      expect.stringMatching(`^${field} must be .*, got `),
    ])
  })

  it('have every mistake reported at once', () => {
    expect(parse({ source: 'jwt', isuer: 'x', header: '' }).issues).toEqual([
      'unknown field "isuer", did you mean "issuer"? (identity 1)',
      'issuer is missing, it must be an https URL without a query (identity 1)',
      expect.stringMatching(/^audience is missing/),
      'header must be the name of a header, got "" (identity 1)',
    ])
  })

  it('without an issuer are told that it is missing, and of nothing that follows from it', () => {
    const missing = 'issuer is missing, it must be an https URL without a query (identity 1)'
    expect(issuesIn({ issuer: undefined, tokenUse: 'id' })).toEqual([missing])
    expect(parse(written({ issuer: undefined }), [parse(written()).settings!]).issues).toEqual([missing])
  })

  it('are never made from garbage', () => {
    for (const input of RUBBISH) expect(parse(input).settings).toBeUndefined()
    for (const value of RUBBISH) {
      for (const field of ['issuer', 'jwksUri', 'tiersByRole', 'audience'])
        parse(written({ rolesClaim: 'roles', [field]: value }))
    }
  })
})

describe('the users of several sources', () => {
  /** The settings of sources one after the other, each of which is valid. */
  function all(...sources: Record<string, string>[]): readonly JwtSettings[] {
    const before: JwtSettings[] = []
    for (const one of sources) before.push(parse(written(one), before).settings!)
    return before
  }
  const TWO = { issuer: 'https://two.example' }
  const namespaces = (...sources: Record<string, string>[]) => all(...sources).map(({ namespace }) => namespace)

  it('are apart for each issuer', () => {
    expect(namespaces({}, TWO)).toEqual(['', 'https%3A%2F%2Ftwo.example'])
    expect(namespaces({ namespace: 'one' }, { ...TWO, namespace: 'two' })).toEqual(['one', 'two'])
  })

  it('are the same for each source of one issuer', () => {
    expect(namespaces({}, TWO, { audience: 'b' }, { ...TWO, audience: 'b' })).toEqual([
      '',
      'https%3A%2F%2Ftwo.example',
      '',
      'https%3A%2F%2Ftwo.example',
    ])
    expect(namespaces({ namespace: 'one' }, { header: 'x-b' }, { namespace: 'one' })).toEqual(['one', 'one', 'one'])
  })

  it('may not be the same for two issuers', () => {
    expect(parse(written({ ...TWO, namespace: 'one' }), all({ namespace: 'one' })).issues).toEqual([
      'namespace must differ from that of issuer https://issuer.example, got "one" (identity 1)',
    ])
  })

  it('may not be apart for two sources of one issuer', () => {
    expect(parse(written({ namespace: 'two' }), all({ namespace: 'one' })).issues).toEqual([
      'namespace must be the same for all sources of an issuer, got "two" and "one" (identity 1)',
    ])
  })
})

it.each([
  ['https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC', true],
  ['https://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC', true],
  ['https://cognito-idp-fips.us-gov-west-1.amazonaws.com/us-gov-west-1_AbC', true],
  ['https://cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_AbC', true],
  ['https://cognito-idp.eu-west-1.amazonaws.com', false],
  ['https://issuer.example/https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC', false],
  ['https://cognito-idp.eu-west-1.amazonaws.com.example/x', false],
  ['https://cognito-idp.example/.amazonaws.com/x', false],
  ['http://cognito-idp.eu-west-1.amazonaws.com/x', false],
])('%s is a user pool of Cognito: %s', (issuer, expected) => {
  expect(isCognito(issuer)).toBe(expected)
})
