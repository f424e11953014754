import fc from 'fast-check'
import { parseJwtSettings } from '../../lambda/config-table/items/jwt-settings'
import type { JwtSettingsInput } from '../../lambda/config-table/items/jwt-settings-input'
import { callerFrom, tokenFrom } from '../../lambda/identity/jwt-claims'
import type { Mistake } from '../../limiter/errors'

function settings(changes: Partial<JwtSettingsInput> = {}) {
  const issues: Mistake[] = []
  const parsed = parseJwtSettings(
    { source: 'jwt', issuer: 'https://issuer.example', audience: 'api', ...changes },
    [],
    issues,
  )
  expect(issues).toEqual([])
  return parsed!
}

describe('the token of a request', () => {
  it('is found at once behind thousands of spaces, whatever follows them', () => {
    const headers = new Map([['authorization', `Bearer ${' '.repeat(8000)}\nx`]])
    const times = Array.from({ length: 5 }, () => {
      const startedAt = performance.now()
      tokenFrom(headers, settings())
      return performance.now() - startedAt
    })
    expect(Math.min(...times)).toBeLessThan(20) // 140 ms where each space is tried
  })

  it.each([
    ['Bearer a.b.c', 'a.b.c'],
    ['bearer a.b.c', 'a.b.c'],
    ['  BEARER   a.b.c  ', 'a.b.c'],
    ['Bearer a b', 'a b'],
    ['Bearer a\nb', 'a\nb'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearera.b.c', undefined],
    ['Basic YTpi', undefined],
    ['a.b.c', undefined],
    ['', undefined],
  ])('in Authorization: %j is %j', (value, expected) => {
    expect(tokenFrom(new Map([['authorization', value]]), settings())).toBe(expected)
  })

  it.each([
    ['a.b.c', 'a.b.c'],
    ['Bearer a.b.c', 'a.b.c'],
    [' ', undefined],
  ])('in a header of its own: %j is %j', (value, expected) => {
    const headers = new Map([
      ['x-token', value],
      ['authorization', 'Bearer other'],
    ])
    expect(tokenFrom(headers, settings({ header: 'X-Token' }))).toBe(expected)
  })

  it('is missing without the header', () => {
    expect(tokenFrom(new Map(), settings())).toBeUndefined()
  })
})

describe('the caller of a token', () => {
  it('is the subject, and nothing more is known by default', () => {
    expect(callerFrom({ sub: 'ada', tier: 'pro', roles: ['gold'], client_id: 'web' }, settings())).toEqual({
      user: 'ada',
      roles: [],
    })
  })

  it('is identified by the configured claims', () => {
    const named = settings({
      userClaim: 'email',
      clientClaim: 'client_id',
      tierClaim: 'custom:tier',
      rolesClaim: 'cognito:groups',
    })
    const claims = {
      sub: '1',
      email: 'ada@example.com',
      client_id: 'web',
      'custom:tier': 'pro',
      'cognito:groups': ['gold', 'staff'],
    }
    expect(callerFrom(claims, named)).toEqual({
      user: 'ada@example.com',
      client: 'web',
      tier: 'pro',
      roles: ['gold', 'staff'],
    })
  })

  it.each([
    ['a text', 'ada', 'ada'],
    ['a whole number', 42, '42'],
    ['as long as may be', 'x'.repeat(256), 'x'.repeat(256)],
    ['too long', 'x'.repeat(257), undefined],
    ['half a surrogate pair', 'x\ud800', undefined],
    ['empty', '', undefined],
    ['missing', undefined, undefined],
    ['null', null, undefined],
    ['a fraction', 1.5, undefined],
    ['a number that is not exact', 2 ** 53, undefined],
    ['true', true, undefined],
    ['a list', ['ada'], undefined],
    ['an object', { toString: 'ada' }, undefined],
  ])('is a user whose claim is %s: %j is %j', (_, sub, user) => {
    expect(callerFrom({ sub }, settings())?.user).toBe(user)
  })

  it('is found along a path, unless a claim is named like the path', () => {
    const nested = settings({ userClaim: 'person.id', rolesClaim: 'realm_access.roles' })
    expect(callerFrom({ person: { id: 'ada' }, realm_access: { roles: ['gold'] } }, nested)).toMatchObject({
      user: 'ada',
      roles: ['gold'],
    })
    expect(callerFrom({ person: { id: 'ada' }, 'person.id': 'eve' }, nested)?.user).toBe('eve')
    expect(callerFrom({ person: { id: 'ada' }, 'person.id': '' }, nested)).toBeUndefined()
    expect(callerFrom({ person: 'ada' }, nested)).toBeUndefined()
    expect(callerFrom({ person: null }, nested)).toBeUndefined()
    expect(
      callerFrom({ 'https://example.com/user': 'ada' }, settings({ userClaim: 'https://example.com/user' }))?.user,
    ).toBe('ada')
  })

  it.each([
    ['a list', ['gold', 'staff'], ['gold', 'staff']],
    ['a text with spaces', ' gold  staff ', ['gold', 'staff']],
    ['a list with what is no role', ['gold', null, {}, '', 'x'.repeat(257), ['staff']], ['gold']],
    ['an object', { gold: true }, []],
    ['missing', undefined, []],
    [
      'a hundred and one',
      Array.from({ length: 101 }, (_, i) => `r${i}`),
      Array.from({ length: 100 }, (_, i) => `r${i}`),
    ],
  ])('has roles that are %s', (_, roles, expected) => {
    expect(callerFrom({ sub: 'ada', roles }, settings({ rolesClaim: 'roles' }))?.roles).toEqual(expected)
  })

  it('has the tier of the first listed role that it has, whatever the order of its own', () => {
    const listed = settings({
      rolesClaim: 'roles',
      tiersByRole: [
        { role: 'gold', tier: 'pro' },
        { role: 'staff', tier: 'internal' },
      ],
    })
    const tierOf = (roles: unknown) => callerFrom({ sub: 'ada', roles }, listed)?.tier
    expect([tierOf('staff gold'), tierOf('staff'), tierOf('other'), tierOf(['constructor'])]).toEqual([
      'pro',
      'internal',
      undefined,
      undefined,
    ])
  })

  it('has the tier that its claim names rather than that of a role', () => {
    const both = settings({ tierClaim: 'tier', rolesClaim: 'roles', tiersByRole: { gold: 'pro' } })
    expect(callerFrom({ sub: 'ada', tier: 'free', roles: 'gold' }, both)?.tier).toBe('free')
    expect(callerFrom({ sub: 'ada', roles: 'gold' }, both)?.tier).toBe('pro')
    expect(callerFrom({ sub: 'ada', tier: {}, roles: 'gold' }, both)?.tier).toBe('pro')
  })

  it('is never identified by inherited properties', () => {
    for (const userClaim of [
      'constructor',
      'toString',
      '__proto__',
      'constructor.name',
      '__proto__.constructor.name',
      'sub.length',
    ]) {
      expect(callerFrom({ sub: 'ada' }, settings({ userClaim }))).toBeUndefined()
    }
    expect(callerFrom({ person: Object.create({ id: 'eve' }) }, settings({ userClaim: 'person.id' }))).toBeUndefined()
    expect(
      callerFrom(JSON.parse('{"sub": "ada", "__proto__": {"tier": "pro"}}'), settings({ tierClaim: 'tier' }))?.tier,
    ).toBeUndefined()
  })

  it('is bounded in every part, whatever the claims', () => {
    const all = settings({ clientClaim: 'a', tierClaim: 'a.b', rolesClaim: 'b', userClaim: 'c' })
    const values = fc.oneof(
      fc.jsonValue(),
      fc.string({ minLength: 250, maxLength: 260 }),
      fc.array(fc.string(), { maxLength: 120 }),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c', 'a.b', '__proto__'), values), (claims) => {
        const caller = callerFrom(claims, all)
        if (!caller) return
        const texts = [caller.user, caller.client, caller.tier, ...caller.roles].filter((text) => text !== undefined)
        expect(texts.every((text) => typeof text === 'string' && text.length > 0 && text.length <= 256)).toBe(true)
        expect(caller.roles.length).toBeLessThanOrEqual(100)
      }),
    )
  })
})
