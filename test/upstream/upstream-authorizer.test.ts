import { fromEvent } from '../../lambda/responses/request'
import type { Invoked } from '../../lambda/upstream/invoke'
import { UpstreamAuthorizer, type UpstreamOptions } from '../../lambda/upstream/upstream-authorizer'
import { httpEvent, restEvent } from '../authorize/gateway'
import { FakeClock } from '../config-table/fake-table'
import { thoroughly } from '../runs'

const allowing = (more: object = {}) => ({
  principalId: 'user-7',
  policyDocument: {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: 'execute-api:Invoke',
        Resource: 'arn:aws:execute-api:us-east-1:123456789012:abcdef1234/prod/GET/*',
      },
    ],
  },
  ...more,
})
const denying = {
  principalId: 'user-7',
  policyDocument: { Statement: [{ Effect: 'Deny', Action: '*', Resource: '*' }] },
}

/** An upstream authorizer whose function answers this, or does it. */
function setUp(invoked: Invoked | (() => Promise<Invoked>), options: Partial<UpstreamOptions> = {}) {
  const clock = new FakeClock()
  const invoke = jest.fn(typeof invoked === 'function' ? invoked : async () => invoked)
  const upstream = new UpstreamAuthorizer({
    invoke,
    clock: clock.read,
    deadlineMs: 1000,
    ttlMs: 0,
    cacheHeaders: [],
    ...options,
  })
  const ask = (event: object) => upstream.check(event, fromEvent(event)!)
  return { clock, invoke, ask }
}

const withToken = (event: Record<string, unknown>, token: string) => ({
  ...event,
  headers: { Authorization: token },
  multiValueHeaders: undefined,
})

describe('the event of the upstream authorizer', () => {
  it('is the event unchanged', async () => {
    const { invoke, ask } = setUp({ answer: allowing() })
    const event = restEvent()
    await ask(event)
    expect(invoke).toHaveBeenCalledWith(event, expect.any(AbortSignal))
  })
})

describe.each([
  ['a REST API', restEvent()],
  ['an HTTP API', { ...httpEvent(), routeArn: restEvent().methodArn }],
])('for %s', (_, event) => {
  it('a policy that allows the request grants it, with context, principal and usage key', async () => {
    const answer = allowing({ context: { team: 'edge', age: 7, admin: false }, usageIdentifierKey: 'key' })
    expect(await setUp({ answer }).ask(event)).toEqual({
      kind: 'granted',
      grant: {
        principalId: 'user-7',
        context: { team: 'edge', age: 7, admin: false },
        usageIdentifierKey: 'key',
        policyDocument: answer.policyDocument,
      },
    })
  })

  it('a policy that denies the request, or does not mention it, denies it', async () => {
    expect(await setUp({ answer: denying }).ask(event)).toEqual({ kind: 'denied' })
    const elsewhere = { policyDocument: { Statement: [{ Effect: 'Allow', Action: '*', Resource: 'arn:other' }] } }
    expect(await setUp({ answer: elsewhere }).ask(event)).toEqual({ kind: 'denied' })
  })

  it('the error Unauthorized denies the request, and no other error does', async () => {
    expect(await setUp({ error: 'Unauthorized' }).ask(event)).toEqual({ kind: 'denied' })
    for (const error of ['unauthorized', 'Unauthorized ', '', 'Task timed out after 3.00 seconds'])
      expect(await setUp({ error }).ask(event)).toEqual({
        kind: 'unavailable',
        cause: new Error('the upstream authorizer failed'),
      })
  })

  it.each([
    null,
    undefined,
    'yes',
    7,
    [],
    {},
    { policyDocument: null },
    { context: {} },
    allowing({ context: [] }),
    allowing({ context: 'x' }),
  ])('%j is no answer, and lets nothing pass', async (answer) => {
    expect(await setUp({ answer }).ask(event)).toMatchObject({
      kind: 'unavailable',
      cause: { message: expect.stringContaining('invalid response') },
    })
  })

  it('a function that cannot be called lets no request pass', async () => {
    const cause = new Error('no route to host')
    const check = await setUp(() => Promise.reject(cause)).ask(event)
    expect(check).toEqual({ kind: 'unavailable', cause })
  })
})

it('simple answers are for HTTP APIs only', async () => {
  const answer = { isAuthorized: true, context: { user: 'u' } }
  expect(await setUp({ answer }).ask(httpEvent())).toEqual({ kind: 'granted', grant: { context: { user: 'u' } } })
  expect(await setUp({ answer: { isAuthorized: false } }).ask(httpEvent())).toEqual({ kind: 'denied' })
  expect((await setUp({ answer: { isAuthorized: 'true' } }).ask(httpEvent())).kind).toBe('unavailable')
  expect((await setUp({ answer }).ask(restEvent())).kind).toBe('unavailable')
})

it('a policy with conditions is passed on where API Gateway applies it, and lets no request pass where it does not', async () => {
  const policyDocument = {
    Statement: [
      { Effect: 'Allow', Action: '*', Resource: '*', Condition: { Bool: { 'aws:SecureTransport': 'true' } } },
    ],
  }
  expect(await setUp({ answer: { policyDocument } }).ask(restEvent())).toMatchObject({
    kind: 'granted',
    grant: { policyDocument },
  })
  expect((await setUp({ answer: { policyDocument } }).ask(httpEvent())).kind).toBe('unavailable')
})

describe('the context', () => {
  it('keeps strings, numbers and booleans, and no key that could change a prototype', async () => {
    const context = JSON.parse(
      '{"__proto__":{"admin":true},"constructor":"c","deep":{"a":1},"list":[1],"none":null,"huge":1e999,"n":0}',
    )
    const check = await setUp({ answer: allowing({ context }) }).ask(restEvent())
    expect(check).toMatchObject({ kind: 'granted', grant: { context: { constructor: 'c', n: 0 } } })
    const kept = (check as { grant: { context: object } }).grant.context
    expect(Object.keys(kept)).toEqual(['constructor', 'n'])
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype)
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })

  it('is bounded: an answer with a larger one is invalid, not cut short', async () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
    const kindOf = async (context: object) => (await setUp({ answer: allowing({ context }) }).ask(restEvent())).kind
    expect(await kindOf(keys(100))).toBe('granted')
    expect(await kindOf(keys(101))).toBe('unavailable')
    expect(await kindOf({ k: 'x'.repeat(10_239) })).toBe('granted')
    expect(await kindOf({ k: 'x'.repeat(10_240) })).toBe('unavailable')
  })

  it('comes with a principal only if that is a string', async () => {
    for (const principalId of [7, '', null, { a: 1 }, 'x'.repeat(1025)]) {
      const check = await setUp({ answer: allowing({ principalId, usageIdentifierKey: principalId }) }).ask(restEvent())
      expect(check).toMatchObject({ kind: 'granted', grant: { principalId: undefined, usageIdentifierKey: undefined } })
    }
  })
})

describe('an answer that takes too long', () => {
  beforeEach(() => jest.useFakeTimers())
  afterEach(() => jest.useRealTimers())

  it('lets no request pass, and is no longer waited for', async () => {
    let signal: AbortSignal | undefined
    const invoke: UpstreamOptions['invoke'] = (_, given) => {
      signal = given
      return new Promise(() => {})
    }
    const { ask } = setUp({ answer: allowing() }, { deadlineMs: 500, invoke })
    const check = ask(restEvent())
    await jest.advanceTimersByTimeAsync(499)
    expect(signal?.aborted).toBe(false)
    await jest.advanceTimersByTimeAsync(1)
    expect(await check).toEqual({
      kind: 'unavailable',
      cause: new Error('the upstream authorizer did not answer within 500 ms'),
    })
    expect(signal?.aborted).toBe(true)
  })

  it('leaves no timer behind when it comes in time', async () => {
    await setUp({ answer: allowing() }).ask(restEvent())
    expect(jest.getTimerCount()).toBe(0)
  })
})

describe('an answer', () => {
  const caching = { ttlMs: 60_000, cacheHeaders: ['authorization'] }
  const a = withToken(restEvent(), 'a')

  it('is requested each time by default', async () => {
    const { invoke, ask } = setUp({ answer: allowing() }, { cacheHeaders: ['authorization'] })
    await ask(a)
    await ask(a)
    expect(invoke).toHaveBeenCalledTimes(2)
  })

  it('is cached for its time to live, and not a millisecond longer', async () => {
    const { clock, invoke, ask } = setUp({ answer: allowing() }, caching)
    const first = await ask(a)
    clock.now += 59_999
    expect(await ask(a)).toEqual(first)
    expect(invoke).toHaveBeenCalledTimes(1)
    clock.now += 1
    await ask(a)
    expect(invoke).toHaveBeenCalledTimes(2)
    clock.now -= 1 // a clock that steps back
    await ask(a)
    expect(invoke).toHaveBeenCalledTimes(3)
  })

  it('is cached when it denies', async () => {
    const { invoke, ask } = setUp({ answer: denying }, caching)
    expect(await ask(a)).toEqual({ kind: 'denied' })
    expect(await ask(a)).toEqual({ kind: 'denied' })
    expect(invoke).toHaveBeenCalledTimes(1)
  })

  it.each<Invoked>([{ error: 'Unauthorized' }, { error: 'boom' }, { answer: 7 }])(
    'is not remembered when it is %j',
    async (invoked) => {
      const { invoke, ask } = setUp(invoked, caching)
      await ask(a)
      await ask(a)
      expect(invoke).toHaveBeenCalledTimes(2)
    },
  )

  it('is cached for requests with the same headers in the same stage, and a policy is evaluated for each method', async () => {
    const { invoke, ask } = setUp({ answer: allowing() }, caching)
    expect((await ask(a)).kind).toBe('granted')
    expect((await ask(withToken(restEvent({ path: '/other' }), 'a'))).kind).toBe('granted')
    expect(await ask(withToken(restEvent({ method: 'POST' }), 'a'))).toEqual({ kind: 'denied' })
    expect(invoke).toHaveBeenCalledTimes(1)
    await ask(withToken(restEvent(), 'b'))
    await ask({ ...a, methodArn: 'arn:aws:execute-api:us-east-1:123456789012:abcdef1234/dev/GET/hello' })
    expect(invoke).toHaveBeenCalledTimes(3)
  })

  it('is not cached where a header or a stage is missing', async () => {
    const { invoke, ask } = setUp({ answer: allowing() }, caching)
    const bare = { ...restEvent(), headers: {}, multiValueHeaders: {} }
    for (const event of [bare, bare, { ...a, methodArn: undefined }, { ...a, methodArn: undefined }]) await ask(event)
    expect(invoke).toHaveBeenCalledTimes(4)
  })

  it('for two headers is not reused where the same text is split differently between them', async () => {
    const { invoke, ask } = setUp({ answer: allowing() }, { ...caching, cacheHeaders: ['x-a', 'x-b'] })
    const event = (headers: object) => ({ ...restEvent(), headers, multiValueHeaders: undefined })
    await ask(event({ 'X-A': 'ab', 'X-B': 'c' }))
    await ask(event({ 'X-A': 'a', 'X-B': 'bc' }))
    expect(invoke).toHaveBeenCalledTimes(2)
  })

  thoroughly('is removed for newer ones: ten thousand are cached', async () => {
    const { invoke, ask } = setUp({ answer: allowing() }, caching)
    for (let i = 0; i <= 10_000; i++) await ask(withToken(restEvent(), `t${i}`))
    expect(invoke).toHaveBeenCalledTimes(10_001)
    await ask(withToken(restEvent(), 't1'))
    expect(invoke).toHaveBeenCalledTimes(10_001)
    await ask(withToken(restEvent(), 't0'))
    expect(invoke).toHaveBeenCalledTimes(10_002)
  })
})
