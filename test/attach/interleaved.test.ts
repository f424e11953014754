import { runs } from '../runs'
import { FakeAws } from './fake-aws'

/** How a method is authorized, as its API has it; `undefined` where there is no such method. */
interface Locked {
  readonly type: string
  readonly id?: string
  readonly scopes?: readonly string[]
  readonly key?: boolean
}

let aws: FakeAws
beforeEach(() => {
  jest.restoreAllMocks()
})
afterAll(() => jest.restoreAllMocks())

const KINDS = [
  {
    kind: 'rest',
    id: 'restapi001',
    open: 'GET /pets',
    taken: 'ANY /users',
    type: 'COGNITO_USER_POOLS',
    authorizer: 'pool',
  },
  { kind: 'http', id: 'httpapi001', open: 'GET /pets', taken: 'GET /users', type: 'JWT', authorizer: 'jwt' },
] as const

type Kind = (typeof KINDS)[number]

function locked({ kind }: Kind, key: string): Locked | undefined {
  if (kind === 'rest') {
    const [verb, path] = key.split(' ') as [string, string]
    const method = Object.values(aws.rest.definition.resources).find((one) => one.path === path)?.methods[verb]
    if (!method) return undefined
    const { authorizationType: type, authorizerId, authorizationScopes: scopes, apiKeyRequired: required } = method
    return { type, id: type === 'AWS_IAM' ? undefined : authorizerId, scopes, key: required }
  }
  const route = aws.http.route(key)
  const { AuthorizationType: type, AuthorizerId, AuthorizationScopes: scopes } = route
  return { type, id: type === 'AWS_IAM' ? undefined : AuthorizerId, scopes }
}

function lock({ kind }: Kind, key: string, { type, id, scopes }: Locked): void {
  if (kind === 'rest')
    Object.assign(aws.rest.method(key), { authorizationType: type, authorizerId: id, authorizationScopes: scopes })
  else Object.assign(aws.http.route(key), { AuthorizationType: type, AuthorizerId: id, AuthorizationScopes: scopes })
}

type Edit = (kind: Kind, key: string) => void

/** What somebody else does to a method. */
const EDITS: [string, Edit][] = [
  [
    'gives it IAM, which leaves the id of its authorizer behind',
    (kind, key) => lock(kind, key, { type: 'AWS_IAM', id: locked(kind, key)?.id }),
  ],
  [
    'gives it an authorizer with scopes',
    (kind, key) => lock(kind, key, { type: kind.type, id: kind.authorizer, scopes: ['admin'] }),
  ],
  [
    'makes it want an API key',
    (kind, key) => {
      if (kind.kind === 'rest') aws.rest.method(key).apiKeyRequired = true
      else lock(kind, key, { type: 'AWS_IAM' })
    },
  ],
]

/** One of them before every third call in `npm test`, each of them before every call in `.ci/run`. */
const [SOME, STEP] = [EDITS.slice(0, runs(1, EDITS.length)), runs(3, 1)]

interface Run {
  /** The call that the edit came right before; `undefined` when there were fewer calls. */
  readonly call?: string
  /** Whether that call changes this very method: API Gateway has no conditional update. */
  readonly isWindow: boolean
  /** Whether the edit came before all methods were first read, so that it may have been shown. */
  readonly isShown: boolean
  /** The method as somebody made it. */
  readonly wanted?: Locked
}

/** Runs a command with an edit of a method right before its nth call. */
async function run(kind: Kind, args: readonly string[], n: number, key: string, edit: Edit): Promise<Run> {
  const calls: string[] = []
  let found: Run = { isWindow: false, isShown: true }
  aws.hooks = {
    before: (call, input) => {
      calls.push(call)
      if (calls.length !== n) return
      const { resourceId, httpMethod, RouteId } = input as Readonly<Record<string, string>>
      const changed =
        call === 'UpdateMethod'
          ? `${httpMethod} ${aws.rest.definition.resources[resourceId!]!.path}`
          : call === 'UpdateRoute' && aws.http.definition.routes.find((route) => route.RouteId === RouteId)!.RouteKey
      edit(kind, key)
      const isShown = !calls.includes('GetAuthorizers')
      found = { call, isWindow: changed === key, isShown, wanted: locked(kind, key) }
    },
  }
  await aws.sluice(args)
  aws.hooks = {}
  return found
}

const everything = ({ taken, open }: Kind) => ['--replace', '--open', taken, '--methods', `${open},${taken}`]

describe.each(KINDS)('somebody edits a method of a $kind API between any two calls', (kind) => {
  const isOwn = (one: Locked | undefined) => one?.type === 'CUSTOM' && one.id !== kind.authorizer
  /** What is left of an edit when Sluice is taken away: all of it, but for Sluice's own authorizer. */
  const without = (wanted: Locked, original: Locked): Locked =>
    isOwn(wanted) ? { ...original, key: wanted.key } : wanted

  describe.each([kind.open, kind.taken])('%s', (key) => {
    const flagged = key === kind.taken

    it.each(SOME)('keeps the edit in attach and in the detach after it, when somebody %s', async (_, edit) => {
      let windows = 0
      for (let n = 1; ; n += STEP) {
        jest.restoreAllMocks()
        aws = new FakeAws()
        const original = locked(kind, key)!
        const { call, isWindow, isShown, wanted } = await run(
          kind,
          ['attach', kind.id, '--yes', ...everything(kind)],
          n,
          key,
          edit,
        )
        if (!wanted) break
        if (isWindow) windows++
        else if (isShown && (flagged || isOwn(locked(kind, key)))) {
          // It was shown, and a flag named it, or it had no authorizer: Sluice may take its place for now.
          expect([n, call, locked(kind, key)?.key]).toEqual([n, call, wanted.key])
          expect(flagged || wanted.type === 'NONE').toBe(true)
        } else
          expect([wanted, without(wanted, original)].map((one) => [n, call, one])).toContainEqual([
            n,
            call,
            locked(kind, key),
          ])
        if (isWindow) continue
        await aws.sluice(['detach', kind.id, '--yes'])
        expect([n, call, locked(kind, key)]).toEqual([n, call, without(wanted, original)])
      }
      expect([1, STEP === 1 ? 1 : 0]).toContain(windows) // a third of the calls may miss it
    })

    it.each(SOME)('keeps the edit in detach and in the next detach, when somebody %s', async (_, edit) => {
      let windows = 0
      for (let n = 1; ; n += STEP) {
        jest.restoreAllMocks()
        aws = new FakeAws()
        const original = locked(kind, key)!
        await aws.sluice(['attach', kind.id, '--yes', ...everything(kind)])
        const { call, isWindow, wanted } = await run(kind, ['detach', kind.id, '--yes'], n, key, edit)
        if (!wanted) break
        if (isWindow) windows++
        else {
          expect([wanted, without(wanted, original)].map((one) => [n, call, one])).toContainEqual([
            n,
            call,
            locked(kind, key),
          ])
          await aws.sluice(['detach', kind.id, '--yes'])
          expect([n, call, locked(kind, key)]).toEqual([n, call, without(wanted, original)])
        }
      }
      expect([1, STEP === 1 ? 1 : 0]).toContain(windows) // a third of the calls may miss it
    })
  })

  it.each(EDITS)('is reported by status, which changes nothing, when somebody %s', async (_, edit) => {
    aws = new FakeAws()
    await aws.sluice(['attach', kind.id, '--yes', ...everything(kind)])
    edit(kind, kind.open)
    const before = aws.dump()
    const { code, out } = await aws.sluice(['status', kind.id])
    expect([code, out]).toEqual([1, expect.stringContaining(kind.open)])
    expect(aws.dump()).toBe(before)
  })
})

describe('somebody maps a header of Sluice’s between any two calls', () => {
  const { id } = KINDS[1]
  const mappings = () => aws.http.definition.integrations[0]!.ResponseParameters
  const theirs = { 200: { 'append:header.ratelimit': 'theirs' }, 500: { 'append:header.X-Mine': '1' } }

  it.each([
    ['attach', ['attach', id, '--yes', '--headers', '200,404']],
    ['detach', ['detach', id, '--yes']],
  ] as const)('%s keeps it, and so does the detach after it', async (command, args) => {
    let windows = 0
    for (let n = 1; ; n += STEP) {
      jest.restoreAllMocks()
      aws = new FakeAws()
      if (command === 'detach') await aws.sluice(['attach', id, '--yes', '--headers', '200,404'])
      let calls = 0
      let call: string | undefined
      aws.hooks = {
        before: (name) => {
          if (++calls !== n) return
          call = name
          Object.assign(aws.http.definition.integrations[0]!, { ResponseParameters: structuredClone(theirs) })
        },
      }
      await aws.sluice(args)
      aws.hooks = {}
      if (call === undefined) break
      if (call === 'UpdateIntegration') {
        windows++ // API Gateway has no conditional update
        continue
      }
      expect([n, call, mappings()]).toEqual([n, call, expect.objectContaining({ 500: theirs[500] })])
      expect([n, call, mappings()![200]]).toEqual([n, call, expect.objectContaining(theirs[200])])
      await aws.sluice(['detach', id, '--yes'])
      expect([n, call, mappings()]).toEqual([n, call, theirs])
    }
    expect([1, STEP === 1 ? 1 : 0]).toContain(windows) // a third of the calls may miss it
  })
})

describe('somebody edits something else right before a step', () => {
  const header = { responseParameters: { 'gatewayresponse.header.X-Mine': "'1'" }, responseTemplates: {} }
  const cases: [string, Kind, string, () => unknown, RegExp][] = [
    [
      'the gateway response',
      KINDS[0],
      'CreateAuthorizer',
      () => Object.assign(aws.rest.definition.responses, { ACCESS_DENIED: header }),
      /gateway response ACCESS_DENIED differs/,
    ],
    [
      'the headers that it inherits',
      KINDS[0],
      'CreateAuthorizer',
      () => Object.assign(aws.rest.definition.responses, { DEFAULT_4XX: header }),
      /gateway response ACCESS_DENIED differs/,
    ],
    [
      'an integration',
      KINDS[1],
      'CreateAuthorizer',
      () =>
        Object.assign(aws.http.definition.integrations[0]!, {
          ResponseParameters: { 200: { 'append:header.X-Mine': '1' } },
        }),
      /integration i1 differs/,
    ],
    [
      'a method of theirs',
      KINDS[0],
      'UpdateMethod',
      () => lock(KINDS[0], 'POST /pets', { type: 'AWS_IAM' }),
      /POST \/pets has AWS_IAM/,
    ],
    ['a new method', KINDS[0], 'UpdateMethod', () => addMethod('PUT'), /PUT \/pets has no authorizer/],
    [
      'a method away',
      KINDS[0],
      'UpdateMethod',
      () => delete aws.rest.definition.resources.r3!.methods.DELETE,
      /DELETE \/pets\/\{id\} is gone/,
    ],
    [
      'the stage, by a deployment',
      KINDS[0],
      'UpdateMethod',
      () => aws.rest.deploy('prod', 'by hand'),
      /stage prod serves deployment/,
    ],
    [
      'the stage, by a canary',
      KINDS[0],
      'UpdateMethod',
      () => Object.assign(aws.rest.stages[0]!, { canarySettings: { deploymentId: 'd1' } }),
      /stage prod has a canary/,
    ],
  ]
  const addMethod = (verb: string) =>
    Object.assign(aws.rest.definition.resources.r2!.methods, {
      [verb]: { authorizationType: 'NONE', apiKeyRequired: false },
    })

  it.each(cases)('%s: attach reverts its steps and keeps their edit', async (_, { id, kind }, name, edit, sentence) => {
    aws = new FakeAws()
    let theirs: string | undefined
    aws.hooks = {
      before: (call) => {
        if (call !== name || theirs !== undefined) return
        edit()
        theirs = aws.dump()
      },
    }
    const more = kind === 'rest' ? [] : ['--headers', '200']
    const { code, err } = await aws.sluice(['attach', id, '--yes', '--methods', 'GET /pets', ...more])
    expect([code, err]).toEqual([1, expect.stringMatching(sentence)])
    expect(err).toContain(
      'it was changed meanwhile, so it was not overwritten (all steps were reverted, nothing is changed)',
    )
    const undone = (text: string) => text.replaceAll(/"(authorizerId|id|AuthorizerId)": "a\d+",?/g, '')
    if (name === 'CreateAuthorizer') expect(undone(aws.dump())).toBe(undone(theirs!))
    expect(aws.table.size).toBe(0)
    expect(aws.rest.method('GET /pets').authorizationType).toBe('NONE')
  })

  it('a method that starts to use the authorizer keeps it: detach stops, and continues later', async () => {
    aws = new FakeAws()
    await aws.sluice(['attach', 'restapi001', '--yes'])
    aws.hooks = {
      before: (call) => {
        if (call !== 'PutGatewayResponse' && call !== 'DeleteGatewayResponse') return
        lock(KINDS[0], 'DELETE /pets/{id}', { type: 'CUSTOM', id: aws.rest.definition.authorizers[1]!.id })
      },
    }
    const { code, err } = await aws.sluice(['detach', 'restapi001', '--yes'])
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('DELETE /pets/{id} uses authorizer a2: it was changed meanwhile'),
    ])
    aws.hooks = {}
    lock(KINDS[0], 'DELETE /pets/{id}', { type: 'AWS_IAM' })
    expect((await aws.sluice(['detach', 'restapi001', '--yes'])).code).toBe(0)
    expect(locked(KINDS[0], 'DELETE /pets/{id}')?.type).toBe('AWS_IAM')
  })
})

describe('a canary that somebody starts after attach', () => {
  beforeEach(async () => {
    aws = new FakeAws()
    await aws.sluice(['attach', 'restapi001', '--yes'])
  })

  it('is reported by status, and detach refuses until it ends', async () => {
    aws.rest.stages[0]!.canarySettings = { deploymentId: aws.rest.deploy(undefined, 'by hand') }
    expect((await aws.sluice(['status', 'restapi001'])).out).toContain('stage prod has a canary')
    const before = aws.dump()
    expect(await aws.sluice(['detach', 'restapi001', '--yes'])).toMatchObject({
      code: 1,
      err: 'stage prod has a canary, which may use Sluice: delete it first, as promoting leaves it on the stage\n',
    })
    expect(aws.dump()).toBe(before)
    delete aws.rest.stages[0]!.canarySettings
    expect((await aws.sluice(['detach', 'restapi001', '--yes'])).code).toBe(0)
  })

  it('stops detach on another stage if its deployment uses Sluice, but not if it is older', async () => {
    const [older] = aws.rest.deployments
    aws.rest.stages.push({
      stageName: 'beta',
      deploymentId: older!.id,
      canarySettings: { deploymentId: aws.rest.deploy(undefined) },
    })
    expect((await aws.sluice(['detach', 'restapi001', '--yes'])).err).toContain('stage beta has a canary')
    aws.rest.stages[1]!.canarySettings = { deploymentId: older!.id }
    expect((await aws.sluice(['detach', 'restapi001', '--yes'])).code).toBe(0)
  })

  it('is not moved if it starts during detach', async () => {
    aws.hooks = {
      before: (call) =>
        void (call === 'DeleteAuthorizer' && Object.assign(aws.rest.stages[0]!, { canarySettings: {} })),
    }
    expect((await aws.sluice(['detach', 'restapi001', '--yes'])).err).toContain(
      'stage prod has a canary: it was changed meanwhile',
    )
  })
})
