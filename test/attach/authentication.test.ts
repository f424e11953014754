import type { Authorizer, Method } from '../../cli/attach/api-state'
import { replacementOf, type Verification } from '../../cli/attach/losses'
import { parseFunctionArn } from '../../cli/attach/wanted'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { FakeAws, FUNCTION } from './fake-aws'

const REST = 'restapi001'
const HTTP = 'httpapi001'
const POOL = 'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_Zoo'
const THEIRS = 'arn:aws:lambda:us-east-1:123456789012:function:check-tokens'
const uriOf = (arn: string) => `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${arn}/invocations`
const policies = [{ name: 'per-minute', limit: 60, window: '1m' }]
const COGNITO = { source: 'jwt', issuer: POOL, audience: 'any', tokenUse: 'id' }
const file = (identity: readonly unknown[], credentials = 'required') => ({
  settings: { identity },
  tiers: { anonymous: { by: 'ip', credentials, policies }, known: { policies } },
})

describe('what Sluice verifies instead of another authorizer', () => {
  const own = parseFunctionArn(FUNCTION)!
  const settings = { type: 'REQUEST', ttlSeconds: 300, identitySources: ['method.request.header.Authorization'] }
  const cognito: Authorizer = {
    id: 'a',
    name: 'users',
    uri: '',
    settings,
    tokens: { issuers: [POOL], audience: 'any' },
  }
  const jwt: Authorizer = {
    ...cognito,
    settings: { ...settings, identitySources: ['$request.header.Authorization'] },
    tokens: { issuers: ['https://issuer.example'], audience: ['zoo', 'farm'] },
  }
  const lambda: Authorizer = { id: 'a', name: 'theirs', uri: uriOf(THEIRS), settings }
  const method = (type: string, more: object = {}, key = 'GET /pets'): Method => ({
    key,
    ref: 'r',
    apiKeyRequired: false,
    authorization: { type, authorizerId: 'a', ...more },
  })
  const reads = (identity: readonly unknown[], credentials?: string): Verification => ({
    policies: parseTiersFile(file(identity, credentials), 'tiers.yaml'),
  })
  const upstream = (name: string, ttlMs = 0, ...cacheHeaders: string[]): Verification => ({
    upstream: { function: name, ttlMs, cacheHeaders },
  })
  const ISSUER = { source: 'jwt', issuer: 'https://issuer.example', audience: ['zoo'] }
  const OPTIONS = method('NONE', {}, 'OPTIONS /pets')

  const rows: [string, 'kept' | RegExp, Method, Authorizer, Verification, Method?][] = [
    ['IAM signatures', /cannot verify IAM/, method('AWS_IAM'), lambda, upstream(THEIRS)],
    ['an authorizer that is gone', /is unknown/, method('CUSTOM', { authorizerId: 'b' }), lambda, upstream(THEIRS)],

    ['a function that is asked first', 'kept', method('CUSTOM'), lambda, upstream(THEIRS)],
    ['a function that is asked first, by its name', 'kept', method('CUSTOM'), lambda, upstream('check-tokens')],
    ['no function', /does not call its function check-tokens/, method('CUSTOM'), lambda, {}],
    ['another function', /does not call/, method('CUSTOM'), lambda, upstream('check-token')],
    [
      'another account',
      /does not call/,
      method('CUSTOM'),
      lambda,
      upstream(THEIRS.replace('123456789012', '123456789013')),
    ],
    ['another version', /does not call/, method('CUSTOM'), lambda, upstream(`${THEIRS}:2`)],
    [
      'a stage variable',
      /does not call/,
      method('CUSTOM'),
      { ...lambda, uri: uriOf('arn:aws:lambda:us-east-1:1:function:$' + '{x}') },
      upstream(THEIRS),
    ],
    [
      'answers remembered as they were',
      'kept',
      method('CUSTOM'),
      lambda,
      upstream(THEIRS, 60_000, 'x-tenant', 'authorization'),
    ],
    [
      'answers remembered more widely',
      /for more requests or longer/,
      method('CUSTOM'),
      lambda,
      upstream(THEIRS, 60_000, 'x-tenant'),
    ],
    [
      'answers that were not',
      /for more requests or longer/,
      method('CUSTOM'),
      { ...lambda, settings: { ...settings, ttlSeconds: 0 } },
      upstream(THEIRS, 1, 'authorization'),
    ],
    [
      'a pattern besides',
      /validation expression/,
      method('CUSTOM'),
      { ...lambda, expression: '^Bearer' },
      upstream(THEIRS),
    ],

    ['ID tokens of a pool', 'kept', method('COGNITO_USER_POOLS'), cognito, reads([COGNITO, 'ip'])],
    [
      'one of two pools',
      'kept',
      method('COGNITO_USER_POOLS'),
      { ...cognito, tokens: { issuers: ['x', POOL], audience: 'any' } },
      reads([COGNITO]),
    ],
    [
      'scopes',
      /does not check scopes \(a\/read\)/,
      method('COGNITO_USER_POOLS', { scopes: ['a/read'] }),
      cognito,
      reads([COGNITO]),
    ],
    [
      'access tokens, too',
      /tokenUse "id"/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads([{ ...COGNITO, tokenUse: undefined }]),
    ],
    [
      'keys of somebody else',
      /no jwt source/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads([{ ...COGNITO, jwksUri: 'https://evil.example/keys' }]),
    ],
    [
      'another pool',
      /no jwt source/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads([{ ...COGNITO, issuer: `${POOL}x` }]),
    ],
    [
      'another header',
      /no jwt source/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads([{ ...COGNITO, header: 'x-token' }]),
    ],
    [
      'API keys, too',
      /also identifies callers by api-key/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads(['api-key', COGNITO]),
    ],
    [
      'another issuer, too',
      /also identifies callers by jwt/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads([COGNITO, ISSUER]),
    ],
    [
      'callers without a token',
      /is missing "credentials: required"/,
      method('COGNITO_USER_POOLS'),
      cognito,
      reads([COGNITO], 'optional'),
    ],
    [
      'a public deployment',
      /authentication "none"/,
      method('COGNITO_USER_POOLS'),
      cognito,
      { ...reads([COGNITO]), isPublic: true },
    ],
    ['no identity', /no jwt source/, method('COGNITO_USER_POOLS'), cognito, reads([])],
    ['a table with mistakes', /has errors/, method('COGNITO_USER_POOLS'), cognito, {}],
    [
      'an audience by pattern',
      /validation expression/,
      method('COGNITO_USER_POOLS'),
      { ...cognito, expression: 'zoo' },
      reads([COGNITO]),
    ],
    ['preflights', /OPTIONS/, method('COGNITO_USER_POOLS', {}, 'ANY /pets'), cognito, reads([COGNITO])],
    [
      'preflights that another method answers',
      'kept',
      method('COGNITO_USER_POOLS', {}, 'ANY /pets'),
      cognito,
      reads([COGNITO]),
      OPTIONS,
    ],

    ['tokens of an issuer', 'kept', method('JWT'), jwt, reads([ISSUER])],
    ['any audience', /audience zoo, farm/, method('JWT'), jwt, reads([{ ...ISSUER, audience: 'any' }])],
    ['one more audience', /audience zoo, farm/, method('JWT'), jwt, reads([{ ...ISSUER, audience: ['zoo', 'park'] }])],
    [
      'two places for the token',
      /no jwt source/,
      method('JWT'),
      { ...jwt, settings: { ...settings, identitySources: ['$request.header.a', '$request.header.b'] } },
      reads([ISSUER]),
    ],
    [
      'a token in the query',
      /no jwt source/,
      method('JWT'),
      { ...jwt, settings: { ...settings, identitySources: ['$request.querystring.token'] } },
      reads([ISSUER]),
    ],
    ['the default route', /OPTIONS/, method('JWT', {}, '$default'), jwt, reads([ISSUER]), OPTIONS],
  ]

  it.each(rows)('%s: %s', (...row) => {
    const [, expected, replaced, authorizer, checks, ...others] = row
    const methods = [replaced, ...others.filter((other) => other !== undefined)]
    const found = replacementOf(replaced, { authorizers: [authorizer], methods }, checks, own)
    if (expected === 'kept') expect(found).toEqual({ kept: expect.any(String) })
    else expect(found).toEqual({ lost: expect.stringMatching(expected) })
  })
})

describe('attach --replace', () => {
  let aws: FakeAws
  beforeEach(() => {
    jest.restoreAllMocks()
    aws = new FakeAws()
  })
  afterAll(() => jest.restoreAllMocks())

  const cases = [
    { kind: 'rest', id: REST, locked: ['DELETE /pets/{id}', 'ANY /users'] },
    { kind: 'http', id: HTTP, locked: ['GET /users', 'GET /admin'] },
  ] as const

  it.each(cases)(
    'removes authentication from no method of a $kind API by --yes alone, and says which would lose it and why',
    async ({ kind, id, locked }) => {
      const before = aws.dump()
      for (const how of ['--yes', '--dry-run']) {
        const { code, err } = await aws.sluice(['attach', id, '--replace', how])
        expect(code).toBe(1)
        for (const key of locked) {
          expect(err).toContain(`${key} would lose authentication: Sluice `)
          expect(err).toContain(`--open '${key}'`)
        }
        expect(err).toMatch(/cannot verify IAM signatures/)
        expect(err).toMatch(/does not check scopes/)
      }
      const [first] = locked
      expect((await aws.sluice(['attach', id, '--replace', '--yes', '--open', first])).err).not.toContain(
        `${first} would be open`,
      )
      expect(aws.dump()).toBe(before)
      for (const key of locked) expect(aws.meets(kind, 'prod', key)).toBe('another authorizer')
    },
  )

  it.each(cases)(
    'switches methods named by --open, and says so in the dry run, the question and the result',
    async ({ kind, id, locked }) => {
      const open = locked.flatMap((key) => ['--open', key])
      const dry = await aws.sluice(['attach', id, '--replace', ...open, '--dry-run'])
      for (const key of locked)
        expect(dry.out).toMatch(
          new RegExp(`${key.replace(/[{}]/g, '.')}: Sluice instead of .*, LOSES AUTHENTICATION: `),
        )
      expect(
        JSON.parse((await aws.sluice(['attach', id, '--replace', ...open, '--dry-run', '--json'])).out).open,
      ).toEqual(locked)
      expect((await aws.sluice(['attach', id, '--replace', ...open], { typed: 'n\n' })).err).toContain(
        `Attach Sluice to API ${id}, and open ${locked.join(', ')}? [y/N]`,
      )
      expect((await aws.sluice(['attach', id, '--replace', ...open, '--yes'])).out).toContain(
        `now without authentication: ${locked.join(', ')}\n`,
      )
      for (const key of locked) expect(aws.meets(kind, 'prod', key)).toBe('Sluice')
    },
  )

  it('refuses --open for an unknown method', async () => {
    expect((await aws.sluice(['attach', REST, '--replace', '--open', 'GET /cats', '--yes'])).err).toContain(
      'has no method "GET /cats"',
    )
  })

  it('switches a method whose tokens Sluice verifies, and says so', async () => {
    aws.configure(file([COGNITO]))
    const method = aws.rest.method('ANY /users')
    delete method.authorizationScopes
    aws.rest.definition.resources.r4!.methods.OPTIONS = { authorizationType: 'NONE', apiKeyRequired: false }
    aws.rest.deploy('prod', 'by hand')
    const { code, out } = await aws.sluice(['attach', REST, '--methods', 'ANY /users', '--replace', '--yes'])
    expect([code, out]).toEqual([
      0,
      expect.stringContaining('ANY /users: Sluice instead of authorizer "users", and Sluice verifies its tokens\n'),
    ])
    expect(out).not.toContain('open now')
    expect(aws.meets('rest', 'prod', 'ANY /users')).toBe('Sluice')
  })

  it('switches a method whose function is Sluice’s upstream authorizer', async () => {
    aws.rest.definition.authorizers.push({
      id: 'fn',
      name: 'theirs',
      type: 'REQUEST',
      authorizerUri: uriOf(THEIRS),
      authorizerResultTtlInSeconds: 300,
      identitySource: 'method.request.header.Authorization, method.request.header.X-Tenant',
    })
    Object.assign(aws.rest.method('GET /pets'), { authorizationType: 'CUSTOM', authorizerId: 'fn' })
    aws.rest.deploy('prod', 'by hand')
    const attach = () => aws.sluice(['attach', REST, '--methods', 'GET /pets', '--replace', '--yes'])
    expect((await attach()).err).toContain(
      'GET /pets would lose authentication: Sluice does not call its function check-tokens as upstream authorizer',
    )
    Object.assign(aws.environment, {
      SLUICE_UPSTREAM: 'check-tokens',
      SLUICE_UPSTREAM_TTL_MS: '60000',
      SLUICE_UPSTREAM_CACHE_HEADERS: 'Authorization',
    })
    expect((await attach()).err).toContain('for more requests or longer')
    aws.environment.SLUICE_UPSTREAM_CACHE_HEADERS = 'authorization,X-Tenant'
    expect((await attach()).out).toContain(
      'GET /pets: Sluice instead of authorizer "theirs", and Sluice calls its function as upstream authorizer\n',
    )
  })

  it.each([
    ['the source for its tokens', () => aws.configure(file(['api-key']))],
    ['the authorizer that was there', () => void aws.rest.definition.authorizers[0]!.providerARNs!.splice(0)],
  ])('does not switch a method if somebody removes %s while the question is open', async (_, edit) => {
    aws.configure(file([COGNITO]))
    const method = aws.rest.method('ANY /users')
    delete method.authorizationScopes
    aws.rest.definition.resources.r4!.methods.OPTIONS = { authorizationType: 'NONE', apiKeyRequired: false }
    aws.rest.deploy('prod', 'by hand')
    aws.hooks = { before: (name) => void (name === 'CreateAuthorizer' && edit()) }
    const { code, err } = await aws.sluice(['attach', REST, '--methods', 'ANY /users', '--replace', '--yes'])
    expect([code, err]).toEqual([1, expect.stringContaining('what Sluice verifies was changed meanwhile')])
    expect(method.authorizationType).toBe('COGNITO_USER_POOLS')
    expect(aws.meets('rest', 'prod', 'ANY /users')).toBe('another authorizer')
  })

  describe('and the deployment, which takes undeployed edits of others with it', () => {
    const unlock = (kind: 'rest' | 'http') => {
      if (kind === 'rest')
        Object.assign(aws.rest.method('ANY /users'), {
          authorizationType: 'NONE',
          authorizerId: undefined,
          authorizationScopes: undefined,
        })
      else
        Object.assign(aws.http.route('GET /users'), {
          AuthorizationType: 'NONE',
          AuthorizerId: undefined,
          AuthorizationScopes: undefined,
        })
    }

    it.each(cases)(
      'does not remove the authorizer that a deployed $kind method has, unless --open names it',
      async ({ kind, id }) => {
        const key = kind === 'rest' ? 'ANY /users' : 'GET /users'
        unlock(kind)
        const before = aws.dump()
        const { code, err } = await aws.sluice(['attach', id, '--yes'])
        expect([code, err]).toEqual([
          1,
          expect.stringContaining(
            `A deployment of stage prod would remove authentication from it. Nothing was changed: deploy that edit first, or allow it with --open '${key}'`,
          ),
        ])
        expect(aws.dump()).toBe(before)
        const allowed = await aws.sluice(['attach', id, '--yes', '--open', key])
        expect(allowed.out).toContain(`now without authentication: ${key}\n`)
        expect((await aws.sluice(['detach', id, '--yes'])).code).toBe(0)
        expect(aws.meets(kind, 'prod', key)).toBe('another authorizer')
      },
    )

    it.each(cases)('detach of a $kind API does not either', async ({ kind, id }) => {
      const key = kind === 'rest' ? 'ANY /users' : 'GET /users'
      await aws.sluice(['attach', id, '--yes'])
      if (kind === 'rest') aws.rest.deploy('prod', 'by hand')
      else aws.http.stages[0]!.DeploymentId = aws.http.deploy('by hand')
      unlock(kind)
      const before = aws.dump()
      expect(await aws.sluice(['detach', id, '--yes'])).toMatchObject({
        code: 1,
        err: expect.stringContaining(`allow it with --open '${key}'`),
      })
      expect(aws.dump()).toBe(before)
      expect((await aws.sluice(['detach', id, '--yes', '--open', key])).code).toBe(0)
      expect(aws.meets(kind, 'prod', key)).toBe('the backend')
    })

    it.each(cases)('is kept by detach if it added an authorizer to a $kind method', async ({ kind, id }) => {
      if (kind === 'rest') Object.assign(aws.rest.method('GET /pets/{id}'), { authorizationType: 'AWS_IAM' })
      else Object.assign(aws.http.route('$default'), { AuthorizationType: 'AWS_IAM' })
      const key = kind === 'rest' ? 'GET /pets/{id}' : '$default'
      await aws.sluice(['attach', id, '--yes'])
      expect(aws.meets(kind, 'prod', key)).toBe('another authorizer')
      const { err } = await aws.sluice(['detach', id, '--yes'])
      expect(err).toContain(`stage prod is deployed again, because its earlier deployment has no authorizer on ${key}`)
      expect(aws.meets(kind, 'prod', key)).toBe('another authorizer')
      expect(aws.meets(kind, 'prod', 'GET /pets')).toBe('the backend')
    })
  })
})
