import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { marshall } from '@aws-sdk/util-dynamodb'
import { authorizerName } from '../../cli/attach/wanted'
import { Interrupts } from '../../cli/terminal/io'
import { RESPONSE_MAPPING } from '../../provisioning/response-mapping'
import { runs } from '../runs'
import { FakeAws, FUNCTION } from './fake-aws'
import { failure } from './fake-service'

/** Calls from one death to the next: every third call is tried in `npm test`, each with `THOROUGH=1`. */
const STEP = runs(5, 1)

let aws: FakeAws
beforeEach(() => {
  jest.restoreAllMocks()
  aws = new FakeAws()
})
afterAll(() => jest.restoreAllMocks())

const KINDS = [
  {
    kind: 'rest',
    id: 'restapi001',
    open: ['GET /', 'GET /pets', 'POST /pets', 'GET /pets/{id}'],
    taken: ['DELETE /pets/{id}', 'ANY /users'],
    preflight: 'OPTIONS /pets',
  },
  {
    kind: 'http',
    id: 'httpapi001',
    open: ['GET /pets', '$default'],
    taken: ['GET /users', 'GET /admin'],
    preflight: 'OPTIONS /pets',
  },
] as const

const attach = (id: string, ...more: string[]) => aws.sluice(['attach', id, '--yes', ...more])
const detach = (id: string, ...more: string[]) => aws.sluice(['detach', id, '--yes', ...more])
const status = async (id: string): Promise<string[]> =>
  JSON.parse((await aws.sluice(['status', id, '--json'])).out).drift

/** Why a method that has an authorizer keeps it. */
const STAYS = {
  'ANY /users':
    'ANY /users keeps COGNITO_USER_POOLS authorizer "users" with scopes a/read, a/write: Sluice does not check scopes',
  'GET /admin': 'GET /admin keeps AWS_IAM: Sluice cannot verify IAM signatures',
}

describe.each(KINDS)('a foreign $kind API', ({ kind, id, open, taken, preflight }) => {
  /** Everything that can be switched, switched. */
  const everything = [
    '--as',
    'shop',
    '--replace',
    ...taken.flatMap((key) => ['--open', key]),
    ...(kind === 'rest' ? [] : ['--headers', '200,404']),
  ]

  it('uses Sluice after attach, which changes nothing else', async () => {
    expect(await attach(id)).toMatchObject({ code: 0, out: expect.stringMatching(/^attached: \d+ steps$/m) })
    for (const key of open) expect(aws.meets(kind, 'prod', key)).toBe('Sluice')
    for (const key of taken) expect(aws.meets(kind, 'prod', key)).toBe('another authorizer')
    expect(aws.meets(kind, 'prod', preflight)).toBe('the backend')
    expect(await status(id)).toEqual([])
  })

  it.each([`${FUNCTION}:live`, 'sluice-authorizer:live'])('calls an alias where one is named: %s', async (name) => {
    const before = aws.dump()
    expect((await attach(id, '--function', name)).out).toContain(`function ${FUNCTION}:live\n`)
    for (const key of open) {
      expect(aws.meets(kind, 'prod', key)).toBe('Sluice')
      expect(aws[kind].served('prod', key).uri).toContain(`/functions/${FUNCTION}:live/invocations`)
    }
    expect(aws.permitted).toEqual([`${FUNCTION}:live`])
    expect(await status(id)).toEqual([])
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  it('is byte for byte the same after attach and detach, and the journal is empty', async () => {
    const before = aws.dump()
    await attach(id, ...everything)
    for (const key of [...open, ...taken]) expect(aws.meets(kind, 'prod', key)).toBe('Sluice')
    expect(await detach(id)).toMatchObject({ code: 0, out: expect.stringMatching(/^detached$/m) })
    expect(aws.dump()).toBe(before)
    expect(aws.kept()).toEqual([])
  })

  it('is not changed by a second attach or a second detach', async () => {
    const before = aws.dump()
    await attach(id, ...everything)
    const attached = aws.dump()
    aws.calls = []
    expect((await attach(id, ...everything)).out).toContain('already attached, nothing to do')
    expect(aws.calls.filter((name) => !/^(Get|Query|Describe|Export)/.test(name))).toEqual([])
    expect(aws.dump()).toBe(attached)
    await detach(id)
    expect((await detach(id)).out).toBe(`API ${id} is not attached, nothing to do\n`)
    expect(aws.dump()).toBe(before)
  })

  it('is restored by detach when attach died after any of its calls, or before any', async () => {
    const before = aws.dump()
    await attach(id, ...everything)
    const count = aws.calls.length
    const journal = aws.calls.indexOf('Put')
    expect(count - journal).toBeGreaterThan(15)
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
        const died = await attach(id, ...everything)
        expect([last, died.code]).toEqual([last, 2])
        aws.hooks = {}
        const undone = await detach(id)
        expect([last, undone.code, undone.err.includes('not as attach left it')]).toEqual([last, 0, false])
        expect([last, aws.dump()]).toEqual([last, before])
        expect(aws.kept()).toEqual([])
      }
    }
  }, 120_000)

  it('is attached by a second attach when the first died after any of its calls', async () => {
    await attach(id, ...everything)
    const [attached, count] = [JSON.parse(aws.dump()), aws.calls.length]
    for (let last = aws.calls.indexOf('Put') + 1; last <= count; last += STEP) {
      jest.restoreAllMocks()
      aws = new FakeAws()
      const before = aws.dump()
      let calls = 0
      aws.hooks = {
        after: () => {
          if (++calls >= last) throw new Error('killed')
        },
      }
      await attach(id, ...everything)
      aws.hooks = {}
      expect([last, (await attach(id, ...everything)).code]).toEqual([last, 0])
      expect([last, await status(id)]).toEqual([last, []])
      const { [kind]: api } = JSON.parse(aws.dump())
      expect(api.authorizers).toHaveLength(attached[kind].authorizers.length)
      await detach(id)
      expect([last, aws.dump()]).toEqual([last, before])
    }
  }, 120_000)

  it('is restored by a second detach when the first died after any of its calls', async () => {
    const before = aws.dump()
    await attach(id, ...everything)
    aws.calls = []
    await detach(id)
    const [count, first] = [aws.calls.length, aws.calls.indexOf('Put')]
    for (let last = first + 1; last <= count; last += STEP) {
      jest.restoreAllMocks()
      aws = new FakeAws()
      await attach(id, ...everything)
      let calls = 0
      aws.hooks = {
        after: () => {
          if (++calls >= last) throw new Error('killed')
        },
      }
      expect((await detach(id)).code).toBe(2)
      aws.hooks = {}
      expect([last, (await detach(id)).code]).toEqual([last, 0])
      expect([last, aws.dump()]).toEqual([last, before])
      expect(aws.kept()).toEqual([])
    }
  }, 120_000)

  it('stops between two steps on Ctrl-C, and the next attach continues', async () => {
    const before = aws.dump()
    const interrupts = new Interrupts()
    aws.hooks = {
      after: (name) => {
        if (name === 'AddPermission') interrupts.press()
      },
    }
    const { code, err } = await aws.sluice(['attach', id, '--yes'], { interrupts })
    expect(code).toBe(130)
    expect(err).toMatch(/stopped after 2 of \d+ steps: continue with attach, or revert with detach/)
    aws.hooks = {}
    expect(await status(id)).toContain('attach was interrupted')
    await attach(id)
    expect(await status(id)).toEqual([])
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  it('is not changed by a dry run, which shows the steps, or without confirmation', async () => {
    const before = aws.dump()
    const { code, out, err } = await aws.sluice(['attach', id, '--dry-run'])
    expect(code).toBe(0)
    for (const key of open) expect(out).toContain(`${key}: use Sluice`)
    for (const key of taken) expect(err).toContain(`${key} keeps `)
    expect(err).toContain('keeps AWS_IAM: Sluice cannot verify IAM signatures')
    expect((await aws.sluice(['attach', id], { typed: 'n\n' })).code).toBe(1)
    expect((await aws.sluice(['attach', id])).err).toContain('no terminal for the question, use --yes')
    expect(aws.dump()).toBe(before)
    expect(aws.kept()).toEqual([])
  })

  it('shows its progress, step by step', async () => {
    const { err } = await attach(id)
    expect(err).toMatch(
      /\[1\/(\d+)\] create the authorizer\n\[2\/\1\] allow API Gateway to call the function[^\n]*\n.*\[\1\/\1\] deploy stage prod/s,
    )
  })

  it('can be attached method by method', async () => {
    const before = aws.dump()
    await attach(id, '--methods', open[0])
    expect(aws.meets(kind, 'prod', open[0])).toBe('Sluice')
    expect(aws.meets(kind, 'prod', open[1])).toBe('the backend')
    expect(await status(id)).toEqual([])
    await attach(id, '--methods', ` ${open[1].toLowerCase()} `)
    expect(aws.meets(kind, 'prod', open[0])).toBe('Sluice')
    expect(aws.meets(kind, 'prod', open[1])).toBe('Sluice')
    await attach(id, '--methods', open.join(','))
    await attach(id) // for all from now on
    if (kind === 'rest')
      aws.rest.definition.resources.r2!.methods.PUT = { authorizationType: 'NONE', apiKeyRequired: false }
    else
      aws.http.definition.routes.push({ RouteId: 'r9', RouteKey: 'PUT /pets', Target: '', AuthorizationType: 'NONE' })
    expect(await status(id)).toEqual(['PUT /pets is new and unprotected'])
    if (kind === 'rest') delete aws.rest.definition.resources.r2!.methods.PUT
    else aws.http.definition.routes.pop()
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  it('is reverted when a right is missing, which is named', async () => {
    const documented = readFileSync(join(__dirname, '..', '..', 'docs', 'attach.md'), 'utf8')
    const before = aws.dump()
    await attach(id, ...everything)
    const writes = new Set(aws.calls.filter((name) => /^(Create|Update|Put[A-Z]\w*Response|Add|Transact)/.test(name)))
    const reads = new Set(
      aws.calls.filter((name) => /^(Get|Query|Export)/.test(name) && !['GetRestApi', 'GetApi'].includes(name)),
    )
    await detach(id)
    expect(writes.size).toBeGreaterThan(3)
    for (const denied of [...writes, ...reads]) {
      aws.hooks = {
        before: (name) => {
          if (name === denied) throw failure('AccessDeniedException', 403, 'User is not authorized to perform this')
        },
      }
      const { code, err } = await attach(id, ...everything)
      expect([denied, code]).toEqual([denied, 1])
      const [, right] = /missing right: ([a-z]+:\w+) on \S+/.exec(err) ?? []
      expect([denied, documented.includes(`\`${right}\``)]).toEqual([denied, true])
      aws.hooks = {}
      expect([denied, aws.dump()]).toEqual([denied, before])
      expect(aws.kept()).toEqual([])
    }
  }, 60_000)

  it('is not attached without read access, and all missing rights are named at once', async () => {
    aws.hooks = {
      before: (name) => {
        if (/^Get(Stages|Authorizers|Policy)$/.test(name)) throw failure('AccessDeniedException', 403, 'no')
      },
    }
    const { err } = await attach(id)
    const path = kind === 'rest' ? '/restapis/restapi001' : '/apis/httpapi001'
    expect(err).toBe(
      `missing rights: apigateway:GET on ${path}/authorizers, apigateway:GET on ${path}/stages, lambda:GetPolicy on function ${FUNCTION}\n`,
    )
  })

  it('is as before where the function’s policy takes no more permissions, and says so', async () => {
    const before = aws.dump()
    aws.hooks = {
      before: (name) => {
        if (name === 'AddPermission')
          throw failure(
            'PolicyLengthExceededException',
            400,
            'The final policy size (20500) is bigger than the limit (20480).',
          )
      },
    }
    const { code, err } = await attach(id)
    expect(code).toBe(1)
    expect(err).toContain(`Lambda takes 20 KB of permissions for a function, and those of ${FUNCTION} are full`)
    expect(err).toContain('(all steps were reverted, nothing is changed)')
    expect(aws.dump()).toBe(before)
    expect(aws.kept()).toEqual([])
  })

  it('can continue attach after the service failed', async () => {
    const before = aws.dump()
    aws.hooks = {
      before: (name) => {
        if (name === 'CreateDeployment') throw failure('ServiceUnavailableException', 503, 'try again')
      },
    }
    const { code, err } = await attach(id)
    expect(code).toBe(2)
    expect(err).toContain(`interrupted: continue with sluice attach ${id}, or revert with sluice detach ${id}`)
    aws.hooks = {}
    await attach(id)
    expect(await status(id)).toEqual([])
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  describe('that somebody else changes while it is attached', () => {
    beforeEach(async () => {
      await attach(id)
      expect(await status(id)).toEqual([])
    })

    it('is compared by status and repaired by attach', async () => {
      if (kind === 'rest') {
        aws.rest.definition.authorizers[1]!.authorizerResultTtlInSeconds = 300
        aws.rest.definition.resources.r2!.methods.PUT = { authorizationType: 'NONE', apiKeyRequired: false }
        Object.assign(aws.rest.method('GET /pets'), { authorizationType: 'NONE', authorizerId: undefined })
        delete aws.rest.definition.responses.ACCESS_DENIED
        aws.rest.deploy('prod', 'by hand')
      } else {
        aws.http.definition.authorizers[1]!.AuthorizerResultTtlInSeconds = 300
        aws.http.definition.routes.push({
          RouteId: 'r9',
          RouteKey: 'PUT /pets',
          Target: 'integrations/i1',
          AuthorizationType: 'NONE',
        })
        Object.assign(aws.http.route('GET /pets'), { AuthorizationType: 'NONE', AuthorizerId: undefined })
        aws.http.stages[0]!.DeploymentId = aws.http.deploy('by hand')
      }
      aws.statements.clear()
      const name = authorizerName(FUNCTION)
      const { code, out, err } = await aws.sluice(['status', id])
      expect(code).toBe(1)
      for (const sentence of [
        `authorizer "${name}": it caches decisions for 300 s, so cached requests are not counted`,
        'API Gateway may not call the function: the permission is missing',
        "GET /pets has no authorizer instead of Sluice's",
        'PUT /pets is new and unprotected',
        'stage prod was deployed by another user, deployment d',
        ...(kind === 'rest' ? ['gateway response ACCESS_DENIED is missing: requests over the limit get 403'] : []),
      ]) {
        expect(out).toContain(sentence)
      }
      expect(err).toContain(
        `${kind === 'rest' ? 6 : 5} things are not as attach configured it: repair with sluice attach ${id}`,
      )
      expect((await attach(id)).code).toBe(0)
      expect(await status(id)).toEqual([])
      expect(aws.meets(kind, 'prod', 'PUT /pets')).toBe('Sluice')
      await detach(id)
      expect(aws.meets(kind, 'prod', 'PUT /pets')).toBe('the backend')
      for (const key of open) expect(aws.meets(kind, 'prod', key)).toBe('the backend')
      for (const key of taken) expect(aws.meets(kind, 'prod', key)).toBe('another authorizer')
    })

    it('keeps those changes on detach', async () => {
      if (kind === 'rest')
        Object.assign(aws.rest.method('GET /pets'), { authorizationType: 'AWS_IAM', authorizerId: undefined })
      else Object.assign(aws.http.route('GET /pets'), { AuthorizationType: 'AWS_IAM', AuthorizerId: undefined })
      const { code, err } = await detach(id)
      expect(code).toBe(0)
      expect(err).toContain('changed since attach, and kept: GET /pets has AWS_IAM now')
      expect(
        kind === 'rest'
          ? aws.rest.method('GET /pets').authorizationType
          : aws.http.route('GET /pets').AuthorizationType,
      ).toBe('AWS_IAM')
    })

    it('is deployed again by detach if somebody deployed it, so that no stage calls a forbidden function', async () => {
      if (kind === 'rest') {
        aws.rest.deploy('prod', 'by hand')
        aws.rest.deploy('dev', 'by hand')
      } else {
        aws.http.stages[0]!.DeploymentId = aws.http.deploy('by hand')
        aws.http.stages.push({ StageName: 'dev', AutoDeploy: false, DeploymentId: aws.http.deploy('by hand') })
      }
      expect(aws.meets(kind, 'dev', open[0])).toBe('Sluice')
      const { err } = await detach(id)
      expect(err).toContain('stage prod was deployed since: it is deployed again')
      for (const stage of ['prod', 'dev']) {
        for (const key of open) expect(aws.meets(kind, stage, key)).toBe('the backend')
        for (const key of taken) expect(aws.meets(kind, stage, key)).toBe('another authorizer')
      }
      expect(aws.statements.size).toBe(0)
    })

    it('is not detached while a method that attach did not switch uses its authorizer', async () => {
      const stranger = 'POST /new'
      if (kind === 'rest') {
        const { id: authorizerId } = aws.rest.definition.authorizers[1]!
        aws.rest.definition.resources.r9 = {
          path: '/new',
          methods: { POST: { authorizationType: 'CUSTOM', authorizerId, apiKeyRequired: false } },
        }
      } else {
        const { AuthorizerId } = aws.http.definition.authorizers[1]!
        aws.http.definition.routes.push({
          RouteId: 'r9',
          RouteKey: 'POST /new',
          Target: '',
          AuthorizationType: 'CUSTOM',
          AuthorizerId,
        })
      }
      const before = aws.dump()
      expect(await detach(id)).toMatchObject({
        code: 1,
        err: expect.stringContaining(`${stranger} uses Sluice’s authorizer, but attach did not set it`),
      })
      expect(aws.dump()).toBe(before)
    })
  })

  it('is not detached if a method’s earlier authorizer was deleted', async () => {
    await attach(id, ...everything)
    aws.rest.definition.authorizers.shift()
    aws.http.definition.authorizers.shift()
    const before = aws.dump()
    expect(await detach(id)).toMatchObject({
      code: 1,
      err: expect.stringContaining('which was deleted since: give it another authorization first'),
    })
    expect(aws.dump()).toBe(before)
  })

  it('is removed from the journal by detach when the API is gone', async () => {
    await attach(id)
    const gone = jest.spyOn(aws[kind], 'handle').mockImplementation(() => {
      throw failure('NotFoundException', 404, 'Invalid API identifier specified')
    })
    expect(await detach(id)).toMatchObject({ code: 0, err: expect.stringContaining(`API ${id} is gone`) })
    gone.mockRestore()
    expect(aws.statements.size).toBe(0)
    expect(aws.kept()).toEqual([])
  })

  it('is not attached to a second Sluice; a repeated attach finds its function by itself', async () => {
    await attach(id)
    const before = aws.dump()
    expect(await attach(id, '--function', 'other-sluice-authorizer')).toMatchObject({
      code: 1,
      err: `API ${id} is attached to ${FUNCTION}: detach it first\n`,
    })
    aws.outputs = {}
    expect((await attach(id)).out).toContain('already attached')
    expect(aws.dump()).toBe(before)
  })

  it('can be attached stage by stage, and detach restores each stage', async () => {
    if (kind === 'rest') aws.rest.deploy('dev', 'theirs')
    else aws.http.stages.push({ StageName: 'dev', AutoDeploy: false, DeploymentId: aws.http.deploy('theirs') })
    const before = aws.dump()
    await attach(id, '--stage', 'prod')
    expect(aws.meets(kind, 'prod', open[0])).toBe('Sluice')
    expect(aws.meets(kind, 'dev', open[0])).toBe('the backend')
    await attach(id, '--stage', 'dev')
    expect(aws.meets(kind, 'dev', open[0])).toBe('Sluice')
    expect(await status(id)).toEqual([])
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  it('is restored even if API Gateway rejects an empty authorizer id', async () => {
    const before = aws.dump()
    await attach(id, ...everything)
    let turnedDown = 0
    aws.hooks = {
      before: (_, { patchOperations = [], AuthorizerId }) => {
        const isEmpty =
          AuthorizerId === '' ||
          (patchOperations as { path: string; value: string }[]).some(
            ({ path, value }) => path === '/authorizerId' && value === '',
          )
        if (!isEmpty) return
        turnedDown++
        throw failure('BadRequestException', 400, 'Invalid authorizer ID specified')
      },
    }
    await detach(id)
    expect(turnedDown).toBe(open.length + 1)
    expect(aws.dump()).toBe(before)
  })

  it('gets one authorizer even if the SDK repeats its creation after a lost answer', async () => {
    let first = true
    aws.hooks = {
      after: (name) => {
        if (name !== 'CreateAuthorizer' || !first) return
        first = false
        throw failure('BadRequestException', 400, 'Authorizer name must be unique.')
      },
    }
    expect((await attach(id)).code).toBe(0)
    expect(await status(id)).toEqual([])
    expect(aws.calls.filter((name) => name === 'CreateAuthorizer')).toHaveLength(1)
  })

  it('is attached once when two commands run at the same time', async () => {
    const both = await Promise.all([attach(id), attach(id)])
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1])
    expect(both.map(({ err }) => err).join('')).toContain(
      `another attach of API ${id} started just now: nothing was changed`,
    )
    expect(await status(id)).toEqual([])
  })

  it('is not attached again before an interrupted detach is finished', async () => {
    await attach(id)
    aws.hooks = {
      before: (name) => {
        if (name === 'DeleteAuthorizer') throw new Error('killed')
      },
    }
    await detach(id)
    aws.hooks = {}
    expect(await status(id)).toContain('detach was interrupted')
    expect((await attach(id)).err).toBe(`a detach of API ${id} was interrupted: finish it with sluice detach ${id}\n`)
  })

  describe('with something wrong', () => {
    const refusals: [string, () => unknown, string[], string][] = [
      ['no such stage', () => {}, ['--stage', 'live'], `API ${id} has no stage "live": there is prod`],
      ['no such method', () => {}, ['--methods', 'GET /cats'], `API ${id} has no method "GET /cats": it has `],
      [
        'a preflight',
        () => {},
        ['--methods', preflight],
        `${preflight} answers browsers’ preflights, which Sluice cannot limit: leave it out`,
      ],
      ['an authorizer', () => {}, ['--methods', taken[1]], STAYS[taken[1] as keyof typeof STAYS]],
      ['no methods', () => {}, ['--methods', ' , '], '--methods must name methods such as "GET /pets,POST /pets"'],
      ['no such function', () => {}, ['--function', 'other'], 'there is no function "other" in us-east-1'],
      [
        'the wrong Region',
        () => {},
        ['--function', FUNCTION.replace('us-east-1', 'eu-west-1')],
        'is in eu-west-1, not in us-east-1',
      ],
      [
        'a function of another account',
        () => {},
        ['--function', FUNCTION.replace('123456789012', '999999999999')],
        'is in account 999999999999, and these credentials and their APIs are in 123456789012',
      ],
      [
        'the same in short',
        () => {},
        ['--function', '999999999999:function:sluice-authorizer'],
        'function 999999999999:function:sluice-authorizer is in account 999999999999',
      ],
      [
        'another function',
        () => Object.assign(aws, { environment: {} }),
        [],
        'is not a Sluice authorizer: SLUICE_CONFIG_TABLE is not in its environment',
      ],
      [
        'another table',
        () => Object.assign(aws, { environment: { SLUICE_CONFIG_TABLE: 'theirs' } }),
        [],
        'reads config table "theirs", not "sluice-config"',
      ],
      [
        'no stack',
        () => Object.assign(aws, { outputs: {} }),
        [],
        'no stack in us-east-1 has an output AuthorizerFunctionArn: use --function',
      ],
      [
        'a caching authorizer',
        () => another(FUNCTION, 'limiter', 300),
        [],
        'calls this Sluice and caches decisions for 300 s, so cached requests are not counted',
      ],
      ['an authorizer of its own', () => another(FUNCTION, 'limiter', 0), [], 'authorizer "limiter" of API'],
      [
        'two Sluices',
        () => another(FUNCTION.replace('sluice-authorizer', 'other'), 'sluice-0123', 0),
        [],
        `API ${id} already has another Sluice: authorizer "sluice-0123"`,
      ],
    ]
    const another = (arn: string, name: string, ttl: number) => {
      const uri = `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${arn}/invocations`
      aws.rest.definition.authorizers.push({
        id: 'x',
        name,
        type: 'REQUEST',
        authorizerUri: uri,
        authorizerResultTtlInSeconds: ttl,
      })
      aws.http.definition.authorizers.push({
        AuthorizerId: 'x',
        Name: name,
        AuthorizerType: 'REQUEST',
        AuthorizerUri: uri,
        AuthorizerResultTtlInSeconds: ttl,
      })
    }

    it.each(refusals)('is refused in one line, and nothing changes: %s', async (_, arrange, args, sentence) => {
      arrange()
      const before = aws.dump()
      const { code, err } = await attach(id, ...args)
      expect(code).toBe(1)
      expect(err).toContain(sentence)
      expect(err.trimEnd().split('\n')).toHaveLength(1)
      expect(aws.dump()).toBe(before)
      expect(aws.kept()).toEqual([])
    })
  })
})

describe('an API that is none of these', () => {
  it('is reported as missing', async () => {
    for (const command of ['attach', 'status']) {
      expect(await aws.sluice([command, 'abcdef0123'])).toEqual({
        code: 1,
        out: '',
        err: 'there is no API abcdef0123 in us-east-1: check the id and --region\n',
      })
    }
    expect((await attach('no id')).err).toBe('an API\'s id must look like "a1b2c3d4e5", got "no id"\n')
  })

  it('is not found without rights: rights for both kinds are named, and one suffices', async () => {
    const deny = (...names: string[]) => {
      aws.hooks = {
        before: (name) => {
          if (names.includes(name)) throw failure('AccessDeniedException', 403, 'no')
        },
      }
    }
    deny('GetRestApi', 'GetApi')
    expect((await attach('httpapi001')).err).toBe(
      'missing rights: apigateway:GET on /restapis/httpapi001, apigateway:GET on /apis/httpapi001\n',
    )
    deny('GetRestApi')
    expect((await attach('httpapi001')).code).toBe(0)
  })

  it('is reported by status as not attached', async () => {
    expect(await aws.sluice(['status', 'restapi001'])).toEqual({
      code: 0,
      out: 'API restapi001 is not attached\n',
      err: '',
    })
  })
})

describe('a REST API', () => {
  const id = 'restapi001'

  it('keeps its CORS headers in the 429, including those of DEFAULT_4XX, which is unchanged', async () => {
    const untouched = JSON.stringify(aws.rest.definition.responses.DEFAULT_4XX)
    await attach(id)
    const { responses } = aws.rest.definition
    expect(responses.ACCESS_DENIED).toMatchObject({
      statusCode: '429',
      responseParameters: {
        'gatewayresponse.header.Access-Control-Allow-Origin': "'*'",
        'gatewayresponse.header.Retry-After': 'context.authorizer.retryAfter',
      },
    })
    expect(JSON.stringify(responses.DEFAULT_4XX)).toBe(untouched)
  })

  it('gets its earlier gateway response back, with changes that others made since', async () => {
    const header = (name: string) => `gatewayresponse.header.${name}`
    const mine = { [header('retry-after')]: "'60'", [header('X-Zoo')]: "'yes'" }
    aws.rest.definition.responses.ACCESS_DENIED = {
      statusCode: '401',
      responseParameters: mine,
      responseTemplates: { 'text/xml': '<no/>' },
    }
    const { ACCESS_DENIED: made } = aws.rest.definition.responses
    for (const statusCode of [undefined, '401']) {
      made!.statusCode = statusCode
      const before = aws.dump()
      await attach(id)
      expect(aws.rest.definition.responses.ACCESS_DENIED!.statusCode).toBe('429')
      await detach(id)
      expect(aws.dump()).toBe(before)
      Object.assign(aws.rest.definition.responses, { ACCESS_DENIED: made })
    }

    await attach(id)
    const { ACCESS_DENIED } = aws.rest.definition.responses
    ACCESS_DENIED!.responseParameters[header('X-New')] = "'new'"
    ACCESS_DENIED!.statusCode = '420'
    const { err } = await detach(id)
    expect(err).toContain('gateway response ACCESS_DENIED: statusCode was changed since')
    expect(aws.rest.definition.responses.ACCESS_DENIED).toEqual({
      statusCode: '420',
      responseParameters: { ...mine, [header('X-New')]: "'new'" },
      responseTemplates: { 'text/xml': '<no/>' },
    })
  })

  it('shows others’ undeployed edits before they go live; detach removes them from the stage again', async () => {
    aws.rest.definition.resources.r5 = {
      path: '/draft',
      methods: { GET: { authorizationType: 'NONE', apiKeyRequired: false } },
    }
    aws.rest.method('POST /pets').apiKeyRequired = false
    delete aws.rest.definition.resources.r1
    const before = aws.dump()
    const { err } = await aws.sluice(['attach', id, '--dry-run'])
    expect(err).toContain('undeployed edits of others go live with the deployment of stage prod:\n')
    for (const edit of ['GET /draft is new', 'POST /pets no longer requires an API key', 'GET / is deleted'])
      expect(err).toContain(`  ${edit}\n`)
    expect(err).not.toContain('GET /pets changes from')
    await attach(id)
    const { err: said } = await detach(id)
    expect(said).toContain(
      'edits of others that went live with attach are no longer deployed on stage prod, but stay in the API: ',
    )
    expect(aws.dump()).toBe(before)
  })

  it('gets an authorizer without identity sources, even if the service adds a default', async () => {
    const { handle } = aws.rest
    jest.spyOn(aws.rest, 'handle').mockImplementation((name, input) => {
      const filled =
        name === 'CreateAuthorizer' ? { ...input, identitySource: 'method.request.header.Authorization' } : input
      return handle.call(aws.rest, name, filled)
    })
    await attach(id)
    expect(aws.rest.definition.authorizers[1]!.identitySource).toBe('')
    expect(await status(id)).toEqual([])
  })

  it('needs --stage if it has several stages, and a stage without a canary', async () => {
    aws.rest.deploy('dev')
    expect((await attach(id)).err).toBe(`choose a stage of API restapi001 with --stage: there is prod, dev\n`)
    aws.rest.stages[1]!.canarySettings = {}
    expect((await attach(id, '--stage', 'dev')).err).toContain('stage dev has a canary')
    expect((await attach(id, '--stage', 'prod', '--headers')).err).toContain('--headers is for HTTP APIs')
  })
})

describe('an HTTP API', () => {
  const id = 'httpapi001'
  /** What the API's owner maps, one of them a header that Sluice has, too. */
  const OWN = { 'append:header.X-Zoo': 'yes', 'append:header.ratelimit-policy': 'zoo' }
  const ADDED = Object.keys(RESPONSE_MAPPING).filter((name) => !name.endsWith('.RateLimit-Policy'))
  const mappings = () => aws.http.definition.integrations[0]!.ResponseParameters!

  describe('that maps a header of Sluice’s by itself', () => {
    it('keeps its own mapping with --headers, whatever the case of the name, and gets the others', async () => {
      await attach(id, '--headers', '200,404')
      expect(mappings()[200]).toMatchObject(OWN)
      expect(Object.keys(mappings()[200]!)).toEqual([...Object.keys(OWN), ...ADDED])
      expect(Object.keys(mappings()[404]!)).toEqual(Object.keys(RESPONSE_MAPPING))
      expect(await status(id)).toEqual([])
    })

    it('gets it back from what an earlier release overwrote, with the next attach or with detach', async () => {
      const before = aws.dump()
      /** As that release left the API and its journal. */
      const attachAsBefore = async () => {
        await attach(id, '--headers', '200')
        const overwritten = { 'append:header.X-Zoo': 'yes', ...RESPONSE_MAPPING }
        aws.http.definition.integrations[0]!.ResponseParameters = { 200: overwritten }
        const step = aws.table.get(`attachment#${id} step#integration#i1`) as unknown as { after: object }
        step.after = { M: { 200: { M: marshall(overwritten) } } }
      }
      await attachAsBefore()
      await detach(id)
      expect(aws.dump()).toBe(before)

      await attachAsBefore()
      expect((await attach(id, '--headers', '200')).code).toBe(0)
      expect(Object.keys(mappings()[200]!).sort()).toEqual([...Object.keys(OWN), ...ADDED].sort())
      await detach(id)
      expect(aws.dump()).toBe(before)
    })

    it('that comes after attach stays, and the next attach takes its own from beside it', async () => {
      await attach(id, '--headers', '200')
      mappings()[200]!['append:header.ratelimit'] = 'theirs'
      expect(await status(id)).toEqual([
        'integration i1: overwrite:header.RateLimit for 200 is attach’s, beside another mapping of that header',
      ])
      expect((await attach(id)).code).toBe(0)
      expect(mappings()[200]).not.toHaveProperty(['overwrite:header.RateLimit'])
      expect(await status(id)).toEqual([])
      await detach(id)
      expect(mappings()).toEqual({ 200: { ...OWN, 'append:header.ratelimit': 'theirs' } })
    })
  })

  it.each<[string, (now: Record<string, Record<string, string>>) => void, string]>([
    [
      'removes a header',
      (now) => delete now[200]!['overwrite:header.X-RateLimit-Limit'],
      'integration i1: overwrite:header.X-RateLimit-Limit for 200 is missing',
    ],
    [
      'removes a status code',
      (now) => delete now[404],
      `integration i1: ${Object.keys(RESPONSE_MAPPING).join(', ')} for 404 is missing`,
    ],
    [
      'gives a header another value',
      (now) => Object.assign(now[200]!, { 'overwrite:header.RateLimit': 'mine' }),
      'integration i1: overwrite:header.RateLimit for 200 was changed since',
    ],
  ])('is reported by status, and repaired by the next attach, when somebody %s', async (_, edit, sentence) => {
    await attach(id, '--headers', '200,404')
    edit(mappings())
    const edited = aws.dump()
    expect(await status(id)).toEqual([sentence])
    expect((await aws.sluice(['status', id])).code).toBe(1)
    expect(aws.dump()).toBe(edited)
    expect((await attach(id)).code).toBe(0)
    expect(await status(id)).toEqual([])
    expect(Object.keys(mappings()[200]!)).toHaveLength(2 + ADDED.length)
    await detach(id)
    expect(mappings()[200]).toMatchObject(OWN)
    expect(Object.values(mappings()[200]!).filter((value) => value.startsWith('$'))).toEqual([])
  })

  it('is reported by status without an integration that somebody deleted, and not for mappings of their own', async () => {
    await attach(id, '--headers', '200')
    Object.assign(mappings()[200]!, { 'append:header.X-More': 'more' })
    Object.assign(mappings(), { 500: { 'append:header.RateLimit': 'theirs' } })
    expect(await status(id)).toEqual([])
    aws.calls = []
    expect((await attach(id)).out).toContain('already attached, nothing to do')
    aws.http.definition.integrations.shift()
    expect(await status(id)).toEqual(['integration i1 is gone'])
  })

  it('is restored when a second attach with other status codes died after any of its calls', async () => {
    const before = aws.dump()
    const arrange = async () => {
      jest.restoreAllMocks()
      aws = new FakeAws()
      await attach(id, '--headers', '200,404')
      aws.calls = []
    }
    await arrange()
    await attach(id, '--headers', '404,500')
    const [count, first] = [aws.calls.length, aws.calls.indexOf('Put')]
    for (let last = first + 1; last <= count; last += STEP) {
      await arrange()
      let calls = 0
      aws.hooks = {
        after: () => {
          if (++calls >= last) throw new Error('killed')
        },
      }
      expect([last, (await attach(id, '--headers', '404,500')).code]).toEqual([last, 2])
      aws.hooks = {}
      expect([last, (await detach(id)).code]).toEqual([last, 0])
      expect([last, aws.dump()]).toEqual([last, before])
    }
  })

  it('names routes without Sluice whose answers get the headers, too', async () => {
    const { err } = await attach(id, '--methods', 'GET /pets', '--headers', '200')
    expect(err).toContain('integration i1 also serves $default without Sluice')
    expect((await attach(id, '--headers', '200')).err).not.toContain('also serves')
  })

  it('gets rate-limit headers on responses with --headers; detach removes those that nobody changed', async () => {
    const before = aws.dump()
    await attach(id, '--headers', '200,404')
    const [zoo, other] = aws.http.definition.integrations
    expect(zoo!.ResponseParameters![200]).toMatchObject({
      'append:header.X-Zoo': 'yes',
      'overwrite:header.X-RateLimit-Remaining': '$context.authorizer.remaining',
    })
    expect(Object.keys(zoo!.ResponseParameters![404]!)).toEqual(Object.keys(RESPONSE_MAPPING))
    expect(other!.ResponseParameters).toBeUndefined()
    await detach(id)
    expect(aws.dump()).toBe(before)

    await attach(id, '--headers')
    aws.http.definition.integrations[0]!.ResponseParameters![200]!['overwrite:header.RateLimit'] = 'mine'
    const { err } = await detach(id)
    expect(err).toContain('integration i1: overwrite:header.RateLimit for 200 was changed since')
    expect(aws.http.definition.integrations[0]!.ResponseParameters).toEqual({
      200: { ...OWN, 'overwrite:header.RateLimit': 'mine' },
    })
    expect((await attach(id, '--headers', '99')).err).toContain(
      '--headers must be status codes such as "200,404", got "99"',
    )
  })

  it('loses the reason that an earlier release put on allowed responses, with the next attach or with detach', async () => {
    const before = aws.dump()
    const reason = { 'overwrite:header.X-RateLimit-Reason': '$context.authorizer.reason' }
    /** As after an attach of that release, whose journal has the mapping as well. */
    const attachAsBefore = async () => {
      await attach(id, '--headers', '200')
      Object.assign(aws.http.definition.integrations[0]!.ResponseParameters![200]!, reason)
      const { after } = aws.table.get(`attachment#${id} step#integration#i1`) as unknown as {
        after: { M: Record<string, { M: object }> }
      }
      Object.assign(after.M[200]!.M, marshall(reason))
    }

    await attachAsBefore()
    expect((await attach(id, '--headers', '200')).code).toBe(0)
    expect(Object.keys(aws.http.definition.integrations[0]!.ResponseParameters![200]!)).toEqual([
      ...Object.keys(OWN),
      ...ADDED,
    ])
    await detach(id)
    expect(aws.dump()).toBe(before)

    await attachAsBefore()
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  it('needs no deployment on a stage that deploys automatically, and names other stages that will be limited', async () => {
    aws.http.stages = [
      { StageName: '$default', AutoDeploy: true },
      { StageName: 'beta', AutoDeploy: true },
    ]
    const before = aws.dump()
    const { err } = await attach(id, '--stage', '$default')
    expect(err).toContain('beta deploys automatically and will be limited as well')
    expect(aws.calls).not.toContain('CreateDeployment')
    expect(aws.meets('http', 'beta', 'GET /pets')).toBe('Sluice')
    expect(await status(id)).toEqual([])
    await detach(id)
    expect(aws.dump()).toBe(before)
  })

  it("shows others' undeployed edits before they go live", async () => {
    aws.http.definition.routes.shift()
    aws.http.definition.routes[0]!.Target = 'integrations/i2'
    const { err } = await aws.sluice(['attach', id, '--dry-run'])
    expect(err).toContain(
      'undeployed edits of others go live with the deployment of stage prod:\n  GET /pets is deleted\n  $default changes\n',
    )
  })
})
