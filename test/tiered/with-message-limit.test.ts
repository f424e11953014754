import type { ApiGatewayManagementApi } from '@aws-sdk/client-apigatewaymanagementapi'
import fc from 'fast-check'
import { handOn, reportCost } from '../../backend'
import { type Connections, type MessageDenial, type MessageLimitOptions, withMessageLimit } from '../../tiered'
import { policy } from '../policies/issues'
import { runs } from '../runs'
import { webSocketWorld } from './web-socket-world'

const TIERS = {
  settings: { identity: ['api-key', { source: 'ip' }], defaultTier: 'free' },
  'tier#anonymous': { by: 'ip', policies: [policy({ limit: 3 })] },
  'tier#free': { policies: [policy({ limit: 5 }), policy({ name: 'tokens', limit: 100, cost: 'tokens' })] },
  'tier#pro': { policies: [policy({ limit: 4, algorithm: 'token-bucket' })] },
  'route#POST /@messages/send': { cost: 2 },
}
const OPEN = { name: 'open', algorithm: 'concurrency', limit: 2, timeout: '2h' }
type Options = Omit<MessageLimitOptions<[event: object], unknown>, 'limiter'>

const world = (items: Readonly<Record<string, object>> = TIERS) => {
  const made = webSocketWorld(items)
  const handler = jest.fn(async (_event: object): Promise<unknown> => ({ statusCode: 200, body: 'said' }))
  const wrapped = (options: Options = {}) => withMessageLimit(handler, { limiter: made.limiter, ...options })
  return { ...made, handler, wrapped }
}
const bodyOf = (answer: unknown): MessageDenial => JSON.parse((answer as { body: string }).body)
const contextOf = (event: object) =>
  (event as { requestContext: { authorizer: Record<string, unknown> } }).requestContext.authorizer

describe('a message', () => {
  test('is charged to the caller of its connection, and denied without the handler', async () => {
    const { connect, wrapped, handler, clock } = world()
    const send = wrapped()
    const one = (await connect())!
    expect(one.context.remaining).toBe(2)
    expect(await send(one.message())).toEqual({ statusCode: 200, body: 'said' })
    expect(await send(one.message())).toMatchObject({ statusCode: 200 })
    const event = one.message('$default')
    const denied = await send(event)
    expect(denied).toEqual({ statusCode: 429, body: expect.any(String) })
    const { requestId, connectionId } = event.requestContext
    expect(bodyOf(denied)).toEqual({
      status: 429,
      message: 'Too Many Requests',
      code: 'over-limit',
      connectionId,
      requestId,
      routeKey: '$default',
      retryAfter: expect.any(Number),
      policy: 'per-minute',
      limit: 3,
      remaining: 0,
      reset: expect.any(Number),
      detail: expect.stringContaining('The limit of 3 units'),
    })
    expect(handler).toHaveBeenCalledTimes(2)
    expect(await connect()).toBeUndefined()
    clock.now += bodyOf(denied).retryAfter * 1000
    expect(await send(one.message())).toMatchObject({ statusCode: 200 })
  })

  test('takes what its route says, or what the message says', async () => {
    const { connect, wrapped } = world()
    const one = (await connect({ key: 'made up', ip: '203.0.113.8' }))!
    expect(bodyOf(await wrapped({ takes: () => 3 })(one.message()))).toMatchObject({
      remaining: 2,
      policy: 'per-minute',
    })
    expect(await wrapped()(one.message('send'))).toMatchObject({ statusCode: 200 })
    expect(bodyOf(await wrapped()(one.message('send')))).toMatchObject({ remaining: 0, routeKey: 'send' })
    const acme = (await connect({ key: 'pro key' }))!
    expect(await wrapped({ takes: () => ({ cost: 3 }) })(acme.message('send'))).toMatchObject({ statusCode: 200 })
    expect(await wrapped({ takes: () => undefined })(acme.message())).toMatchObject({ statusCode: 429 })
    await expect(wrapped({ takes: () => Number.NaN })(acme.message())).rejects.toThrow('cost must be an integer from 0')
  })

  test('has its own decision as the authorizer of its event, over what the connection’s says', async () => {
    const { connect, wrapped, handler } = world()
    const one = (await connect())!
    const event = one.message()
    Object.assign(event.requestContext.authorizer!, { reservation: 'of the connection', team: 'red' })
    await wrapped()(event)
    const told = contextOf(handler.mock.calls[0]![0])
    expect(told).toMatchObject({ team: 'red', remaining: 1, tier: 'anonymous', reservation: '', reason: 'ok' })
    expect(told.messageId).toBe((event.requestContext as { messageId?: string }).messageId)
    expect(contextOf(event)).toMatchObject({ reservation: 'of the connection', remaining: '2' })
  })

  test('is decided by its caller’s tier as it is now, and by the name that the program knows', async () => {
    const { connect, wrapped, reconfigure } = world()
    const acme = (await connect({ key: 'acme key' }))! // the override says 2
    expect(acme.context.remaining).toBe(1)
    const named = wrapped({ caller: () => ({ clientId: 'acme' }) })
    expect(await named(acme.message())).toMatchObject({ statusCode: 200 })
    expect(bodyOf(await named(acme.message()))).toMatchObject({ limit: 2 })
    const byConnection = wrapped()
    expect(await byConnection(acme.message())).toMatchObject({ statusCode: 200 }) // 3 of the tier's 5
    reconfigure({ ...TIERS, 'tier#free': { policies: [policy({ limit: 3 })] } })
    expect(bodyOf(await byConnection(acme.message()))).toMatchObject({ limit: 3 })
  })

  test('counts where its caller counts also under a secret', async () => {
    const { connect, limiter } = webSocketWorld(TIERS, [], 'a secret of 32 bytes or what else')
    const one = (await connect())!
    expect(one.context.subject).toMatch(/^ip~/)
    const { context } = await limiter.decideMessage(one.message())
    expect([context.subject, context.remaining]).toEqual([one.context.subject, 1])
    expect((await limiter.decide({ method: 'GET', path: '/', address: '203.0.113.7' })).context.remaining).toBe(0)
  })

  test.each<[string, unknown, number[]]>([
    ['client and address', ['client', 'ip'], [1, 0, 1, 0]],
    ['address', 'ip', [1, 0, 0, 0]],
    ['everybody', 'global', [1, 0, 0, 0]],
    ['a header, which it lacks', 'header:x-team', [1, 0, 0, 0]],
    ['stage', 'stage', [1, 0, 0, 0]],
  ])('by %s is one of two callers at one address', async (_, by, remaining) => {
    const counted = policy({ name: 'counted', limit: 2, by })
    const tiers = {
      ...TIERS,
      settings: { ...TIERS.settings, trustedHeaders: ['x-team'] },
      'route#POST /@messages/*': { cost: 0, costs: { messages: 1 }, policies: [{ ...counted, cost: 'messages' }] },
    }
    const { connect, limiter } = webSocketWorld(tiers)
    const callers = [(await connect({ key: 'acme key' }))!, (await connect({ key: 'pro key' }))!]
    const left: number[] = []
    for (const one of callers)
      for (let i = 0; i < 2; i++) left.push((await limiter.decideMessage(one.message('say'))).context.remaining)
    expect(left).toEqual(remaining)
  })

  test('passes uncounted where its caller does', async () => {
    const made = webSocketWorld(TIERS, [{ whom: { client: 'pro' }, access: 'allow', expiresAt: Infinity }])
    const one = await made.connect({ key: 'pro key' })
    const { context } = await made.limiter.decideMessage(one!.message())
    expect([one!.context.reason, context.reason]).toEqual(['exempt', 'exempt'])
  })

  test.each([
    ['no context', undefined],
    ['another authorizer’s', { subject: 'client:acme', tier: 'pro' }],
    ['a subject that is no key', { subject: `client#${'x'.repeat(44)}`, tier: 'pro' }],
    ['a key alone', { subject: `client#${'x'.repeat(43)}` }],
    ['a key in another authorizer’s', { subject: `client#${'x'.repeat(43)}`, tier: 'pro', reason: 'ok' }],
    ['a list', ['client']],
  ])('of a connection with %s is anonymous, and counted by its address', async (_, authorizer) => {
    const { stray, limiter } = world()
    const { context } = await limiter.decideMessage(stray(authorizer as object))
    expect(context).toMatchObject({ tier: 'anonymous', remaining: 2 })
    await limiter.decide({ method: 'GET', path: '/', address: '203.0.113.7' })
    expect((await limiter.decideMessage(stray())).context.remaining).toBe(0)
  })

  test.each([undefined, null, 7, {}, { requestContext: { eventType: 'CONNECT' } }])('is not %j', async (event) => {
    const { limiter } = world()
    await expect(limiter.decideMessage(event)).rejects.toThrow('event must be the event of a WebSocket message')
  })
})

test('of connects, requests and messages of one caller as many pass as the limit says, in any order', async () => {
  const step = fc.record({
    what: fc.constantFrom('connect', 'request', 'message', 'message', 'send'),
    caller: fc.constantFrom<{ key?: string; ip?: string }>({}, { ip: '203.0.113.9' }, { key: 'pro key' }),
    ms: fc.nat(30_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const fixed = [policy({ limit: 6, algorithm: 'fixed-window' })]
      const tiers = { ...TIERS, 'tier#anonymous': { by: 'ip', policies: fixed }, 'tier#pro': { policies: fixed } }
      const { connect, limiter, clock } = webSocketWorld(tiers)
      const used = new Map<string, number>()
      const open = new Map<string, Awaited<ReturnType<typeof connect>>>()
      for (const { what, caller, ms } of steps) {
        clock.now += ms
        const id = caller.key ?? caller.ip ?? ''
        const window = `${id} ${Math.floor(clock.now / 60_000)}`
        const connection = open.get(id)
        if ((what === 'message' || what === 'send') && !connection) continue
        const units = what === 'send' ? 2 : 1
        let isAllowed: boolean
        if (what === 'connect') {
          const made = await connect(caller)
          isAllowed = made !== undefined
          if (made) open.set(id, made)
        } else if (what === 'request') {
          const { allowed } = await limiter.decide({
            method: 'GET',
            path: '/',
            address: caller.ip ?? '203.0.113.7',
            ...(caller.key !== undefined && { apiKey: caller.key }),
          })
          isAllowed = allowed
        } else
          isAllowed = (await limiter.decideMessage(connection!.message(what === 'send' ? 'send' : undefined))).allowed
        const before = used.get(window) ?? 0
        expect([what, isAllowed]).toEqual([what, before + units <= 6])
        if (isAllowed) used.set(window, before + units)
      }
    }),
    { numRuns: runs(12, 400) },
  )
})

describe('what a connection holds', () => {
  const HELD = { ...TIERS, 'route#$connect': { policies: [OPEN] } }
  const connected = async () => {
    const made = world(HELD)
    return { ...made, one: (await made.connect())! }
  }

  test('stays held while it is open, whatever its messages do, and is free when it ends', async () => {
    const { one, wrapped, open, connect, handler } = await connected()
    const serve = wrapped()
    await serve(one.opened())
    handler.mockImplementation(async (event) => {
      await reportCost(event, 0)
      expect(handOn(event)).toBeUndefined()
    })
    for (let i = 0; i < 3; i++) await serve(one.message())
    expect(await open()).toBe(1)
    expect(await connect({ ip: '203.0.113.7' })).toBeUndefined() // the minute's limit
    handler.mockImplementation(async () => undefined)
    await serve(one.ended())
    expect(await open()).toBe(0)
  })

  test('keeps others out: no more are open than the limit, and one that ends makes room', async () => {
    const { connect, wrapped, clock } = world({
      ...HELD,
      'tier#anonymous': { by: 'ip', policies: [policy({ limit: 50 })] },
    })
    const serve = wrapped()
    const [one, two] = [(await connect())!, (await connect())!]
    await serve(one.opened())
    await serve(two.opened())
    expect(await connect()).toBeUndefined()
    await serve(one.ended())
    await serve(one.ended()) // once only
    clock.now += 300 // a denial is remembered so long
    expect(await connect()).toBeDefined()
    expect(await connect()).toBeUndefined()
  })

  test.each([
    ['refuses it', async () => ({ statusCode: 403 })],
    ['throws', async () => Promise.reject(new Error('broken'))],
  ])('is free at once where the handler of $connect %s', async (_, serve) => {
    const { one, wrapped, open, handler } = await connected()
    handler.mockImplementation(serve)
    await wrapped()(one.opened()).catch(() => {})
    expect(await open()).toBe(0)
  })

  test('is not settled by a report while it is open, which is logged', async () => {
    const { one, wrapped, open, handler } = await connected()
    const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
    handler.mockImplementation(async (event) => reportCost(event, 0))
    await wrapped()(one.opened())
    expect([await open(), String(stderr.mock.calls[0]?.[0])]).toEqual([1, expect.stringContaining('connection_open')])
    stderr.mockRestore()
  })
})

describe('what a message holds', () => {
  const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '60s' }
  const TOKENS = policy({ name: 'tokens', algorithm: 'fixed-window', limit: 100, cost: 'tokens', settle: true })
  const HELD = {
    ...TIERS,
    'tier#anonymous': { by: 'ip', policies: [TOKENS] },
    'route#POST /@messages/ask': { costs: { tokens: 40 }, policies: [RUNNING] },
    'route#$connect': { costs: { tokens: 0 }, policies: [OPEN] },
  }

  test('is its own: settled to what the handler reports, and its slot is free when it has ended', async () => {
    const { connect, wrapped, handler, open } = world(HELD)
    const one = (await connect())!
    const serve = wrapped()
    await serve(one.opened())
    handler.mockImplementation(async (event) => {
      expect(contextOf(event).reservation).not.toBe('')
      expect(bodyOf(await serve(one.message('ask')))).toMatchObject({ policy: 'running', retryAfter: 1 })
      await reportCost(event, { costs: { tokens: 7 } })
    })
    await serve(one.message('ask'))
    expect(await open()).toBe(1) // the connection's
    handler.mockImplementation(async (event) => {
      expect(contextOf(event).rateLimit).toContain('"tokens";r=53') // 100 - 7 - 40
      throw new Error('broken')
    })
    await expect(serve(one.message('ask'))).rejects.toThrow('broken')
    expect(await open()).toBe(1)
    await serve(one.ended()).catch(() => {})
    expect(await open()).toBe(0)
  })

  test('is settled by cost, or by whom it is handed to', async () => {
    const { connect, wrapped, handler, limiter } = world(HELD)
    const one = (await connect())!
    await wrapped({ cost: () => ({ costs: { tokens: 10 } }) })(one.message('ask'))
    let handed: string | undefined
    handler.mockImplementation(async (event) => {
      handed = handOn(event)
    })
    await wrapped()(one.message('ask'))
    expect(await limiter.settle(handed!, { costs: { tokens: 5 } })).toBe(true)
    expect(await limiter.settle(handed!)).toBe(false)
    const { context } = await limiter.decideMessage(one.message('ask'))
    expect(context.rateLimit).toContain('"tokens";r=45') // 100 - 10 - 5 - 40
  })
})

describe('while a table cannot be asked', () => {
  test.each([
    ['local', { statusCode: 200 }],
    ['allow', { statusCode: 200 }],
    ['deny', { statusCode: 429 }],
  ])('the failure mode %s decides about messages', async (failureMode, answer) => {
    const tiers = { ...TIERS, 'tier#anonymous': { by: 'ip', failureMode, policies: [policy({ limit: 50 })] } }
    const { connect, wrapped, loseStore } = world(tiers)
    const one = (await connect())!
    loseStore()
    expect(await wrapped()(one.message())).toMatchObject(answer)
    if (answer.statusCode === 429)
      expect(bodyOf(await wrapped()(one.message()))).toMatchObject({ code: 'unavailable', policy: expect.any(String) })
  })

  test('nobody passes whom no configuration verifies', async () => {
    const { connect, wrapped, reconfigure } = world()
    const one = (await connect())!
    reconfigure(undefined)
    const denied = await wrapped()(one.message())
    expect(denied).toMatchObject({ statusCode: 500 })
    expect(bodyOf(denied)).toMatchObject({ message: 'Internal Server Error', code: 'unverified' })
  })

  test('a route that requires credentials answers 401 to a connection without', async () => {
    const { connect, wrapped } = world({ ...TIERS, 'route#POST /@messages/*': { credentials: 'required' } })
    expect(bodyOf(await wrapped()((await connect())!.message()))).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(await wrapped()((await connect({ key: 'pro key' }))!.message())).toMatchObject({ statusCode: 200 })
  })
})

describe.each(['leased', 'eventual'])('a policy that is %s', (consistency) => {
  test('counts messages', async () => {
    const tiers = { ...TIERS, 'tier#anonymous': { by: 'ip', policies: [policy({ limit: 20, consistency })] } }
    const { connect, wrapped } = world(tiers)
    const one = (await connect())!
    const answers = []
    for (let i = 0; i < 30; i++) answers.push(((await wrapped()(one.message())) as { statusCode: number }).statusCode)
    expect(answers.filter((status) => status === 200).length).toBeLessThanOrEqual(20)
    expect(answers.at(-1)).toBe(429)
  })
})

describe('connections', () => {
  const calls = () => {
    const made = { postToConnection: jest.fn(async () => ({})), deleteConnection: jest.fn(async () => ({})) }
    return made satisfies Connections
  }
  const SHUT = { ...TIERS, 'tier#anonymous': { by: 'ip', policies: [policy({ limit: 1 })] } }

  test('is what the SDK’s client is', () => {
    const client = {} as ApiGatewayManagementApi
    expect(client satisfies Connections).toBe(client)
  })

  test('sends the answer, which may be one’s own, and closes who goes on', async () => {
    const { connect, wrapped } = world(SHUT)
    const connections = calls()
    const one = (await connect())!
    const { connectionId: ConnectionId } = one.message().requestContext
    const answer = ({ code, retryAfter }: MessageDenial) => ({ error: code, in: retryAfter > 0 })
    const send = wrapped({ connections, answer, disconnectAfter: 3 })
    for (let i = 0; i < 3; i++) expect(await send(one.message())).toEqual({ statusCode: 429 })
    expect(connections.postToConnection.mock.calls).toEqual(
      Array(3).fill([{ ConnectionId, Data: '{"error":"over-limit","in":true}' }]),
    )
    expect(connections.deleteConnection.mock.calls).toEqual([[{ ConnectionId }]])
  })

  test('sends nothing where the answer is none', async () => {
    const { connect, wrapped } = world(SHUT)
    const connections = calls()
    const one = (await connect())!
    const answer = () => undefined
    expect(await wrapped({ connections, answer })(one.message())).toEqual({ statusCode: 429 })
    expect(await wrapped({ answer })(one.message())).toEqual({ statusCode: 429 })
    expect(connections.postToConnection).not.toHaveBeenCalled()
  })

  test('counts denials in a row: one that passes begins anew', async () => {
    const { connect, wrapped, clock } = world(SHUT)
    const connections = calls()
    const one = (await connect())!
    const send = wrapped({ connections, disconnectAfter: 2 })
    await send(one.message())
    clock.now += 60_000
    await send(one.message())
    await send(one.message())
    expect(connections.deleteConnection).not.toHaveBeenCalled()
  })

  test('that fail are logged, and not where the client is gone', async () => {
    const { connect, wrapped } = world(SHUT)
    const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
    const connections = calls()
    connections.postToConnection.mockRejectedValueOnce(Object.assign(new Error('gone'), { name: 'GoneException' }))
    connections.postToConnection.mockRejectedValueOnce(new Error('no permission'))
    const one = (await connect())!
    const send = wrapped({ connections })
    for (let i = 0; i < 2; i++) expect(await send(one.message())).toEqual({ statusCode: 429 })
    expect(stderr.mock.calls.map(([line]) => JSON.parse(String(line)))).toMatchObject([
      { event: 'denial_unsent', message: 'no permission' },
    ])
    stderr.mockRestore()
  })
})

test.each([
  [undefined, /options must be an object/],
  [{}, /limiter is missing/],
  [{ limiter: {} }, /limiter must be what createTieredLimiter/],
  [
    { takes: 3, disconnectAfter: 0, conections: {} },
    /takes must be a function.*disconnectAfter must be a whole number/s,
  ],
  [{ connections: {} }, /connections must be a client such as new ApiGatewayManagementApi/],
])('the options %j are refused', (options, message) => {
  expect(() => withMessageLimit(async () => {}, options as never)).toThrow(message)
})

test('to disconnect, it must be able to', () => {
  expect(() => world().wrapped({ disconnectAfter: 2 })).toThrow('disconnectAfter needs connections')
})
