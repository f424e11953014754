import { parseAccess } from '../../lambda/config-table/items/access-list'
import type { PolicyAnswer } from '../../lambda/responses/answers'
import type { GatewayRequest } from '../../lambda/responses/request'
import type { Check } from '../../lambda/upstream/check'
import { subjectKey } from '../../limiter/subject-key'
import { Gateway, httpEvent, KEYS, PREFLIGHT, restEvent, times } from './gateway'

const POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*', Sid: 'Theirs' }] }
const GRANTED: Check = {
  kind: 'granted',
  grant: {
    context: { team: 'edge', tier: 'gold', allowed: 'no', remaining: 'none' },
    principalId: 'user-7',
    usageIdentifierKey: 'key',
    policyDocument: POLICY,
  },
}
const UNAVAILABLE: Check = { kind: 'unavailable', cause: new Error('slow') }

function setUp(answer: Check, parts: ConstructorParameters<typeof Gateway>[0] = {}) {
  const check = jest.fn(async (_event: unknown, _request: GatewayRequest) => answer)
  return { check, gateway: new Gateway({ upstream: { check }, ...parts }) }
}

describe('a grant of the upstream authorizer', () => {
  it('reaches a REST API: principal, policy, usage key, context; Sluice’s own keys win', async () => {
    const { check, gateway } = setUp(GRANTED)
    const event = restEvent()
    expect(await gateway.authorize(event)).toMatchObject({
      principalId: 'user-7',
      policyDocument: POLICY,
      usageIdentifierKey: 'key',
      context: {
        team: 'edge',
        tier: 'anonymous',
        allowed: true,
        remaining: 19,
        subject: subjectKey('ip:198.51.100.7'),
      },
    })
    expect(check).toHaveBeenCalledTimes(1)
    expect(check.mock.calls[0]![0]).toBe(event)
  })

  it('is passed on to an HTTP API as context, and nothing else', async () => {
    const { gateway } = setUp(GRANTED)
    const answer = await gateway.authorize(httpEvent())
    expect(Object.keys(answer)).toEqual(['isAuthorized', 'context'])
    expect(answer).toMatchObject({
      isAuthorized: true,
      context: { team: 'edge', tier: 'anonymous', allowed: true, remaining: 19 },
    })
  })

  it('admits no request over the limit: the denial is the same as without it', async () => {
    const { gateway } = setUp(GRANTED)
    await gateway.allowed(times(20))
    const { policyDocument, context } = (await gateway.authorize(restEvent())) as PolicyAnswer
    expect(policyDocument.Statement).toEqual([
      { Action: 'execute-api:Invoke', Effect: 'Deny', Resource: restEvent().methodArn },
    ])
    expect(context).toMatchObject({ reason: 'over-limit', allowed: false, rateLimited: true, remaining: 0 })
    expect(await gateway.http()).toMatchObject({ effect: 'Deny', reason: 'over-limit' })
  })

  it('gets Sluice’s policy and principal where it has none', async () => {
    const { gateway } = setUp({ kind: 'granted', grant: { context: {} } })
    const answer = await gateway.authorize(restEvent())
    expect(answer).toMatchObject({
      principalId: subjectKey('ip:198.51.100.7'),
      policyDocument: { Statement: [{ Effect: 'Allow', Resource: restEvent().methodArn }] },
    })
    expect(answer).not.toHaveProperty('usageIdentifierKey')
  })
})

describe('a denial of the upstream authorizer', () => {
  it('is a 401 on a REST API, not a 429, and a 403 on an HTTP API', async () => {
    const { gateway } = setUp({ kind: 'denied' })
    await expect(gateway.rest()).rejects.toThrow(/^Unauthorized$/)
    expect(await gateway.http()).toMatchObject({ effect: 'Deny', reason: 'unauthorized', rateLimited: false })
    expect(gateway.entries).toEqual([])
  })

  it('stays a denial where requests over the limit are passed to the backend', async () => {
    const { gateway } = setUp({ kind: 'denied' }, { denials: 'backend' })
    expect(await gateway.http()).toMatchObject({ effect: 'Deny' })
  })

  it('counts nothing, with or without a key', async () => {
    const { gateway } = setUp({ kind: 'denied' })
    for (const key of [undefined, KEYS.free]) await expect(gateway.rest({ key })).rejects.toThrow('Unauthorized')
    expect(gateway.store.size).toBe(0)
  })
})

describe.each(['local', 'allow', 'deny'] as const)(
  'an upstream authorizer that cannot be asked, in the failure mode %s,',
  (onStoreError) => {
    it('lets no request pass, counts nothing, and is logged without data about the caller', async () => {
      const { gateway } = setUp(UNAVAILABLE, { onStoreError, failOpen: onStoreError !== 'deny' })
      await expect(gateway.rest()).rejects.toThrow('callers cannot be verified')
      expect(await gateway.http()).toMatchObject({ effect: 'Deny', reason: 'unverified' })
      expect(gateway.store.size).toBe(0)
      expect(gateway.entries).toHaveLength(2)
      expect(gateway.entries[0]).toMatchObject({ level: 'error', event: 'upstream_unavailable' })
    })
  },
)

describe('nothing passes unchecked', () => {
  it.each([
    ['a preflight', {}, { method: 'OPTIONS', headers: PREFLIGHT }],
    ['a request before there are any tiers', { set: null, authentication: 'none' as const }, {}],
    [
      'a request that a bug keeps from being decided',
      { limiter: { decide: () => Promise.reject(new Error('bug')) } },
      {},
    ],
    [
      'a request whose configuration cannot be read',
      { configuration: { current: () => Promise.reject(new Error('bug')) }, authentication: 'none' as const },
      {},
    ],
    ['an address on the list of allowed', { access: [parseAccess('allow', 'ip#198.51.100.7', {}, [], [])!] }, {}],
  ])('not %s', async (_, parts, request) => {
    for (const denial of [{ kind: 'denied' } as const, UNAVAILABLE]) {
      const { check, gateway } = setUp(denial, parts)
      expect(await gateway.http(request)).toMatchObject({ effect: 'Deny' })
      expect(check).toHaveBeenCalledTimes(1)
    }
    const { check, gateway } = setUp(GRANTED, parts)
    expect(await gateway.http(request)).toMatchObject({ effect: 'Allow', team: 'edge' })
    expect(check).toHaveBeenCalledTimes(1)
  })

  it('a blocked address is denied without a call of the upstream authorizer', async () => {
    const { check, gateway } = setUp(GRANTED, { access: [parseAccess('block', 'ip#198.51.100.7', {}, [], [])!] })
    expect(await gateway.rest()).toMatchObject({ effect: 'Deny', reason: 'blocked' })
    expect(check).not.toHaveBeenCalled()
  })

  it('an event that is not a request is denied without a call of the upstream authorizer', async () => {
    const { check, gateway } = setUp(GRANTED)
    expect(await gateway.authorize({ a: 1 })).toMatchObject({ policyDocument: { Statement: [{ Effect: 'Deny' }] } })
    expect(check).not.toHaveBeenCalled()
  })
})
