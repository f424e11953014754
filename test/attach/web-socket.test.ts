import { runs } from '../runs'
import { FakeAws, FUNCTION } from './fake-aws'

/** Calls from one death to the next. */
const STEP = runs(5, 1)
const ID = 'socketapi1'

let aws: FakeAws
beforeEach(() => {
  jest.restoreAllMocks()
  aws = new FakeAws()
})
afterAll(() => jest.restoreAllMocks())

const attach = (...more: string[]) => aws.sluice(['attach', ID, '--yes', ...more])
const detach = (...more: string[]) => aws.sluice(['detach', ID, '--yes', ...more])
const status = async (): Promise<string[]> => JSON.parse((await aws.sluice(['status', ID, '--json'])).out).drift
const meets = (key: string, stage = 'prod') => aws.meets('webSocket', stage, key)

describe('a foreign WebSocket API', () => {
  test('asks Sluice about its connections after attach, and is as it was after detach', async () => {
    const before = aws.dump()
    const said = await attach('--as', 'chat')
    expect([said.code, said.err]).toEqual([
      0,
      expect.stringContaining('nothing of what a deployment of a WebSocket API'),
    ])
    expect(said.out).toBe(
      `WebSocket API ${ID} "zoo", stage prod, function ${FUNCTION}
  give the API the label "chat"
  create the authorizer
  allow API Gateway to call the function for this authorizer
  $connect: use Sluice
  deploy stage prod, with all undeployed changes
attached: 5 steps
label "chat"
`,
    )
    expect(['$connect', '$default', 'send', '$disconnect'].map((key) => meets(key))).toEqual([
      'Sluice',
      'the backend',
      'the backend',
      'the backend',
    ])
    const [made] = aws.webSocket.definition.authorizers
    expect(made).toEqual({
      AuthorizerId: expect.any(String),
      Name: expect.stringMatching(/^sluice-/),
      AuthorizerType: 'REQUEST',
      AuthorizerUri: expect.stringContaining(FUNCTION),
      IdentitySource: [],
    })
    expect(await status()).toEqual([])
    expect((await aws.sluice(['status', ID])).out).toMatch(/^WebSocket API socketapi1 "zoo", label "chat", is attached/)
    expect((await attach('--as', 'chat')).out).toContain('already attached, nothing to do')
    expect((await detach()).code).toBe(0)
    expect([aws.dump(), aws.kept()]).toEqual([before, []])
  })

  test('is restored by detach, and attached by attach, wherever an attach died', async () => {
    const before = aws.dump()
    await attach('--as', 'chat')
    const [count, journal] = [aws.calls.length, aws.calls.indexOf('Put')]
    expect(count - journal).toBeGreaterThan(10)
    for (const moment of ['before', 'after'] as const) {
      for (let last = journal + 1; last <= count; last += STEP) {
        jest.restoreAllMocks()
        aws = new FakeAws()
        let calls = 0
        aws.hooks = {
          [moment]: () => {
            if (++calls >= last) throw new Error('killed')
          },
        }
        expect((await attach('--as', 'chat')).code).toBe(2)
        aws.hooks = {}
        if (last % 2 === 0) {
          expect([last, (await attach('--as', 'chat')).code, await status()]).toEqual([last, 0, []])
          expect(aws.webSocket.definition.authorizers).toHaveLength(1)
        }
        expect([last, (await detach()).code, aws.dump(), aws.kept()]).toEqual([last, 0, before, []])
      }
    }
  })

  test('whose stage deploys itself is not deployed', async () => {
    aws.webSocket.stages[0]!.AutoDeploy = true
    const said = await attach()
    expect([said.code, said.out.includes('deploy stage'), said.err.includes('undeployed')]).toEqual([0, false, false])
    expect(meets('$connect')).toBe('Sluice')
    await detach()
    expect(meets('$connect')).toBe('the backend')
  })

  test('whose connection has another authorizer keeps it, or loses it by --open alone', async () => {
    const route = aws.webSocket.route('$connect')
    const other =
      'arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:theirs/invocations'
    aws.webSocket.definition.authorizers.push({
      AuthorizerId: 'x1',
      Name: 'theirs',
      AuthorizerType: 'REQUEST',
      AuthorizerUri: other,
      IdentitySource: ['route.request.header.Authorization'],
    })
    Object.assign(route, { AuthorizationType: 'CUSTOM', AuthorizerId: 'x1' })
    const lost = 'Sluice does not call its function theirs as upstream authorizer'
    expect((await attach()).err).toContain(
      `all methods of API socketapi1 have an authorizer: $connect keeps CUSTOM authorizer "theirs": --replace switches it if`,
    )
    expect((await attach('--replace')).err).toContain(`$connect would lose authentication: ${lost}`)
    aws.environment = { ...aws.environment, SLUICE_UPSTREAM: 'theirs' }
    const before = aws.dump()
    const said = await attach('--replace')
    expect(said.out).toContain('$connect: Sluice instead of authorizer "theirs", and Sluice calls its function')
    expect(await status()).toEqual([])
    await detach()
    expect(aws.dump()).toBe(before)
    Object.assign(route, { AuthorizationType: 'AWS_IAM', AuthorizerId: undefined })
    expect((await attach('--replace')).err).toContain('Sluice cannot verify IAM signatures')
  })

  test.each([
    [
      ['--methods', 'send,$connect'],
      'API Gateway invokes no authorizer for messages such as "send": attach protects $connect',
    ],
    [['--methods', 'sent'], 'API socketapi1 has no method "sent": it has $connect'],
    [['--headers'], '--headers is for HTTP APIs: messages of a WebSocket have no headers'],
  ])('is not attached with %j, and not changed', async (flags, problem) => {
    const before = aws.dump()
    const said = await attach(...flags)
    expect([said.code, said.err]).toEqual([1, expect.stringContaining(problem)])
    expect([aws.dump(), aws.kept()]).toEqual([before, []])
  })

  test('is attached by the name of its route, too', async () => {
    expect((await attach('--methods', '$connect')).code).toBe(0)
    expect([meets('$connect'), await status()]).toEqual(['Sluice', []])
  })

  test('without $connect has nothing that could be protected', async () => {
    aws.webSocket.definition.routes.shift()
    expect((await attach()).err).toContain('API socketapi1 has no route $connect, which alone can have an authorizer')
  })

  test('whose connection somebody opened again, or whose authorizer was edited, is reported and repaired', async () => {
    await attach()
    Object.assign(aws.webSocket.definition.authorizers[0]!, { IdentitySource: ['route.request.querystring.token'] })
    Object.assign(aws.webSocket.route('$connect'), { AuthorizationType: 'NONE', AuthorizerId: undefined })
    expect(await status()).toEqual([
      expect.stringContaining('requests without route.request.querystring.token get 401'),
      "$connect has no authorizer instead of Sluice's",
    ])
    expect((await attach()).code).toBe(0)
    expect(await status()).toEqual([])
  })

  test('is restored where the function and its record are gone', async () => {
    await attach()
    aws.isFunctionGone = true
    aws.statements.clear()
    aws.table.clear()
    const said = await aws.sluice(['detach', ID, '--function-gone', '--open', '$connect', '--yes'])
    expect([said.code, meets('$connect'), aws.webSocket.definition.authorizers]).toEqual([0, 'the backend', []])
  })
})
