import { authorizerName } from '../../cli/attach/wanted'
import { sluice } from '../cli/command-line'
import { runs } from '../runs'
import { FakeAws, FUNCTION } from './fake-aws'
import { failure } from './fake-service'

let aws: FakeAws
beforeEach(() => {
  jest.restoreAllMocks()
  aws = new FakeAws()
})
afterAll(() => jest.restoreAllMocks())

const attach = (id: string, ...more: string[]) => aws.sluice(['attach', id, '--yes', ...more])
const detach = (id: string, ...more: string[]) => aws.sluice(['detach', id, '--yes', ...more])

/** What the limiter’s end leaves: neither function nor permissions; the config table only where it was kept. */
function destroy({ table = true } = {}): void {
  aws.isFunctionGone = true
  aws.statements.clear()
  aws.outputs = {}
  if (table) aws.table.clear()
}

/** What `dump` says but for deployments, which have other ids after one more. */
const withoutDeployments = (dump: string) => {
  const { rest, http } = JSON.parse(dump)
  for (const api of [rest, http]) {
    delete api.deployments
    delete api.stages
  }
  return { rest, http }
}

describe('status without an id', () => {
  it('lists all APIs that are attached, each with its function, phase and methods', async () => {
    await attach('restapi001')
    await attach('httpapi001', '--methods', 'GET /pets')
    const { code, out } = await aws.sluice(['status'])
    expect(code).toBe(0)
    expect(out).toMatch(/^api +kind +name +function +phase +since +methods$/m)
    expect(out).toMatch(/^httpapi001 +HTTP +zoo +sluice-authorizer +attached +\S+ +GET \/pets$/m)
    expect(out).toMatch(/^restapi001 +REST +zoo +sluice-authorizer +attached +\S+ +all$/m)
    expect(JSON.parse((await aws.sluice(['status', '--json'])).out)).toMatchObject([
      { apiId: 'httpapi001', kind: 'HTTP', function: FUNCTION, phase: 'attached', methods: ['GET /pets'] },
      { apiId: 'restapi001', kind: 'REST', function: FUNCTION, phase: 'attached', methods: 'all' },
    ])
  })

  it('says that none is, and names the right that is missing', async () => {
    expect((await aws.sluice(['status'])).out).toBe('no API is attached (config table sluice-config)\n')
    aws.hooks = {
      before: (name) => {
        if (name === 'Scan') throw failure('AccessDeniedException', 400, 'no')
      },
    }
    expect(await aws.sluice(['status'])).toMatchObject({
      code: 1,
      err: 'missing right: dynamodb:Scan on table/sluice-config\n',
    })
  })
})

describe.each([
  ['rest', 'restapi001'],
  ['http', 'httpapi001'],
] as const)('a %s API whose limiter was deleted', (kind, id) => {
  it('is reported by status as failing', async () => {
    await attach(id)
    destroy({ table: false })
    const { code, out, err } = await aws.sluice(['status', id])
    expect(code).toBe(1)
    expect(out).toContain(`function ${FUNCTION} was deleted: every request to the methods that use it fails`)
    expect(err).toContain(`restore the API with sluice detach ${id}`)
  })

  it.each([
    ['status', '', []],
    ['detach', '--dry-run', []],
    ['detach', '--yes', ['--stack', 'Sluice']],
  ])('makes %s %s without --table say what fails, and both ways to restore it', async (command, more, stack) => {
    jest.spyOn(global, 'fetch').mockRejectedValue(new Error('connection refused'))
    await attach(id)
    destroy()
    const before = aws.dump()
    const said = await sluice([command, id, '--region', 'us-east-1', ...stack, ...(more ? [more] : [])])
    expect([said.code, said.out]).toEqual([1, ''])
    expect(said.err).toContain(`calls function ${FUNCTION}, which was deleted: every request to its methods fails`)
    expect(said.err).toContain(`sluice detach ${id} --function-gone`)
    expect(said.err).toContain('name it with --table (aws dynamodb list-tables lists the tables)')
    expect(said.err).not.toContain('--state-table')
    expect(said.err.trimEnd().split('\n')).toHaveLength(1)
    expect(aws.dump()).toBe(before)
    const restored = await sluice(['detach', id, '--function-gone', '--dry-run', '--region', 'us-east-1', ...stack])
    expect(restored.err).toContain('dry run: nothing was changed')
  })

  it('is not said to be deleted while its function is there, or nothing calls it', async () => {
    jest.spyOn(global, 'fetch').mockRejectedValue(new Error('connection refused'))
    const status = () => sluice(['status', id, '--region', 'us-east-1'])
    aws.outputs = {}
    const none = await status()
    expect(none.err).toContain(`API ${id} has no authorizer that attach made`)
    expect(none.err).not.toContain('--function-gone')
    aws.outputs = { AuthorizerFunctionArn: FUNCTION }
    await attach(id)
    aws.outputs = {}
    const { code, err } = await status()
    expect(code).toBe(1)
    expect(err).toContain(`detach it with sluice detach ${id} --table sluice-config`)
    expect(err).not.toContain('--function-gone')
  })

  it.each([[], ['--function-gone']])(
    'gets back all that is on record where the config table was kept: detach %j',
    async (...options) => {
      const before = aws.dump()
      await attach(
        id,
        '--replace',
        ...(kind === 'rest' ? ['--open', 'ANY /users'] : ['--open', 'GET /users']),
        ...more(kind),
      )
      aws.isFunctionGone = true
      aws.statements.clear()
      expect(await detach(id, ...options)).toMatchObject({ code: 0, out: expect.stringContaining('detached') })
      expect(aws.dump()).toBe(before)
      expect(aws.kept()).toEqual([])
    },
  )

  it('is refused by the attach of another limiter, which says how to restore it', async () => {
    await attach(id)
    destroy()
    const other = FUNCTION.replace('sluice-authorizer', 'new-authorizer')
    aws.otherFunctions.set(other, { SLUICE_CONFIG_TABLE: 'sluice-config' })
    const before = aws.dump()
    const { code, err } = await attach(id, '--function', other)
    expect(code).toBe(1)
    expect(err).toContain(`calls function ${FUNCTION}, which was deleted: every request to its methods fails`)
    expect(err).toContain(`restore the API with sluice detach ${id} --function-gone`)
    expect(aws.dump()).toBe(before)
  })

  it('is not touched as long as the function exists, or may not be looked for', async () => {
    await attach(id)
    aws.table.clear()
    const before = aws.dump()
    expect((await detach(id, '--function-gone')).err).toContain('which exists: detach it with sluice detach')
    aws.hooks = {
      before: (name) => {
        if (name === 'GetFunctionConfiguration') throw failure('AccessDeniedException', 403, 'no')
      },
    }
    expect((await detach(id, '--function-gone')).err).toBe(
      `missing right: lambda:GetFunctionConfiguration on function ${FUNCTION}\n`,
    )
    expect(aws.dump()).toBe(before)
  })

  it('says that there is nothing to do where attach left nothing', async () => {
    expect((await detach(id, '--function-gone')).out).toBe(
      `API ${id} has no authorizer that attach made, nothing to do\n`,
    )
  })
})

function more(kind: 'rest' | 'http'): string[] {
  return kind === 'rest' ? ['--open', 'DELETE /pets/{id}'] : ['--open', 'GET /admin', '--headers']
}

describe('a REST API without limiter and journal', () => {
  const id = 'restapi001'

  it('is as before after detach --function-gone: the deployment from before says what its methods had', async () => {
    const before = aws.dump()
    await attach(id)
    destroy()
    const dry = await aws.sluice(['detach', id, '--function-gone', '--dry-run'])
    expect(dry.out).toContain('GET /pets: no authorizer again')
    expect(dry.err).toContain('GET /pets had no authorizer in deployment d1')
    expect(dry.err).toContain('if it still exists, name it with --table')
    expect(await detach(id, '--function-gone')).toMatchObject({ code: 0, out: expect.stringMatching(/^detached$/m) })
    expect(aws.meets('rest', 'prod', 'GET /pets')).toBe('the backend')
    expect(withoutDeployments(aws.dump())).toEqual(withoutDeployments(withCors(before)))
    expect(aws.rest.deployments.map(({ description }) => description)).toEqual([
      'by hand',
      'sluice detach --function-gone',
    ])
    expect((await detach(id, '--function-gone')).out).toContain('nothing to do')
    expect(await attach(id, '--function', fresh())).toMatchObject({ code: 0 })
  })

  /** The 429 had taken over the headers of DEFAULT_4XX, which nobody can tell from somebody's own. */
  function withCors(before: string): string {
    const dump = JSON.parse(before)
    dump.rest.responses.ACCESS_DENIED = {
      statusCode: '403',
      responseParameters: dump.rest.responses.DEFAULT_4XX.responseParameters,
      responseTemplates: {},
    }
    return JSON.stringify(dump)
  }

  function fresh(): string {
    const other = FUNCTION.replace('sluice-authorizer', 'new-sluice-authorizer')
    aws.isFunctionGone = false
    return other
  }

  it('keeps a method closed whose authorizer is not on record, until --open names it', async () => {
    await attach(id, '--replace', '--open', 'ANY /users', '--open', 'DELETE /pets/{id}')
    destroy()
    const first = await detach(id, '--function-gone')
    expect(first.code).toBe(1)
    expect(first.err).toContain('ANY /users stays closed: what it had before attach is not on record')
    expect(first.err).toContain("allow no authentication with --open 'ANY /users'")
    expect(aws.rest.method('GET /pets').authorizationType).toBe('NONE')
    expect(aws.rest.method('DELETE /pets/{id}').authorizationType).toBe('AWS_IAM')
    expect(aws.rest.method('ANY /users')).toMatchObject({ authorizationType: 'CUSTOM' })
    expect(aws.meets('rest', 'prod', 'GET /pets')).toBe('the backend')
    expect(aws.meets('rest', 'prod', 'ANY /users')).toBe('an error')

    const again = await detach(id, '--function-gone')
    expect([again.code, again.out]).toEqual([1, ''])
    const opened = await aws.sluice(['detach', id, '--function-gone', '--open', 'ANY /users'], { typed: 'y\n' })
    expect(opened.err).toContain(`Remove what attach left on API ${id}, and open ANY /users? [y/N]`)
    expect(opened.code).toBe(0)
    expect(aws.rest.definition.authorizers.map(({ id }) => id)).toEqual(['pool'])
    expect(aws.meets('rest', 'prod', 'ANY /users')).toBe('the backend')
  })

  it('keeps all methods closed where the deployments of attach were deleted', async () => {
    await attach(id)
    destroy()
    aws.rest.deploy('prod', 'theirs')
    aws.rest.deployments = aws.rest.deployments.filter(({ description }) => !description?.startsWith('sluice attach'))
    const before = aws.dump()
    const { code, err } = await detach(id, '--function-gone')
    expect(code).toBe(1)
    expect(err).toContain('GET /pets stays closed')
    expect(aws.dump()).toBe(before)
    const open = ['GET /', 'GET /pets', 'POST /pets', 'GET /pets/{id}'].flatMap((key) => ['--open', key])
    expect(await detach(id, '--function-gone', ...open)).toMatchObject({ code: 0 })
    expect(aws.meets('rest', 'prod', 'GET /pets')).toBe('the backend')
  })

  it('is restored by the next run when one died after any of its calls', async () => {
    await attach(id)
    destroy()
    aws.calls = []
    await detach(id, '--function-gone')
    const [wanted, count] = [withoutDeployments(aws.dump()), aws.calls.length]
    for (let last = 1; last <= count; last += runs(4, 1)) {
      jest.restoreAllMocks()
      aws = new FakeAws()
      await attach(id)
      destroy()
      let calls = 0
      aws.hooks = {
        after: () => {
          if (++calls >= last) throw new Error('killed')
        },
      }
      await detach(id, '--function-gone')
      aws.hooks = {}
      expect([last, (await detach(id, '--function-gone')).code]).toEqual([last, 0])
      expect([last, withoutDeployments(aws.dump())]).toEqual([last, wanted])
      expect([last, aws.meets('rest', 'prod', 'GET /pets')]).toEqual([last, 'the backend'])
    }
  }, 60_000)

  it('does not take somebody else’s undeployed opening with it', async () => {
    await attach(id)
    destroy()
    Object.assign(aws.rest.method('DELETE /pets/{id}'), { authorizationType: 'NONE' })
    const before = aws.dump()
    const { code, err } = await detach(id, '--function-gone')
    expect(code).toBe(1)
    expect(err).toContain('DELETE /pets/{id} is deployed with AWS_IAM, but has no authorizer')
    expect(aws.dump()).toBe(before)
  })

  it('keeps what somebody changed while the plan was shown', async () => {
    await attach(id)
    destroy()
    aws.hooks = {
      before: (name) => {
        if (name !== 'UpdateMethod') return
        aws.hooks = {}
        Object.assign(aws.rest.method('GET /pets/{id}'), { authorizationType: 'AWS_IAM', authorizerId: undefined })
      },
    }
    expect((await detach(id, '--function-gone')).err).toContain('it was changed meanwhile')
    expect(aws.rest.method('GET /pets/{id}').authorizationType).toBe('AWS_IAM')
  })
})

describe('an HTTP API without limiter and journal', () => {
  const id = 'httpapi001'

  it.each([false, true])(
    'keeps its routes closed until --open names them, because its deployments cannot be read (auto deploy: %s)',
    async (AutoDeploy) => {
      aws.http.stages[0]!.AutoDeploy = AutoDeploy
      const before = aws.dump()
      await attach(id, '--headers', '200')
      destroy()
      const attached = aws.dump()
      const first = await detach(id, '--function-gone')
      expect(first.code).toBe(1)
      expect(first.err).toContain("--open 'GET /pets' --open '$default'")
      expect(aws.dump()).toBe(attached)
      expect(await detach(id, '--function-gone', '--open', 'GET /pets', '--open', '$default')).toMatchObject({
        code: 0,
      })
      expect(withoutDeployments(aws.dump())).toEqual(withoutDeployments(before))
      expect(aws.meets('http', 'prod', 'GET /pets')).toBe('the backend')
    },
  )
})

describe('an API of another Sluice', () => {
  const THEIRS = FUNCTION.replace('sluice-authorizer', 'their-limiter')
  const authorizer = (name: string, arn = THEIRS) => {
    const uri = `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${arn}/invocations`
    aws.rest.definition.authorizers.push({
      id: 'x',
      name,
      type: 'REQUEST',
      authorizerUri: uri,
      authorizerResultTtlInSeconds: 0,
    })
  }
  const id = 'restapi001'

  it.each([
    ['attach made', () => authorizerName(THEIRS), 'detach it with sluice detach restapi001 --table their-config'],
    ['a construct made', () => 'ShopApiSluice0A1B2C3D', 'remove it where it is defined'],
    ['somebody made', () => 'limiter', 'remove it where it is defined'],
  ])('is reported by status and detach, and refused by attach: %s', async (_, name, advice) => {
    authorizer(name())
    aws.otherFunctions.set(THEIRS, { SLUICE_CONFIG_TABLE: 'their-config' })
    const before = aws.dump()
    for (const command of ['status', 'detach', 'attach']) {
      const { code, out, err } = await aws.sluice([command, id, ...(command === 'status' ? [] : ['--yes'])])
      expect([command, code, out]).toEqual([command, 1, ''])
      expect(err).toContain(`the Sluice ${THEIRS} with config table "their-config"`)
      expect(err.toLowerCase()).toContain(advice)
      expect(err.trimEnd().split('\n')).toHaveLength(1)
    }
    expect(JSON.parse((await aws.sluice(['status', id, '--json'])).out)).toMatchObject({
      attached: false,
      sluices: [{ authorizer: name(), function: THEIRS, configTable: 'their-config' }],
    })
    expect(aws.dump()).toBe(before)
    expect(aws.kept()).toEqual([])
  })

  it('is known by the name of its authorizer where the function may not be looked at', async () => {
    authorizer('ShopApiSluice0A1B2C3D')
    aws.hooks = {
      before: (name, { FunctionName }) => {
        if (name === 'GetFunctionConfiguration' && FunctionName === THEIRS)
          throw failure('AccessDeniedException', 403, 'no')
      },
    }
    expect((await attach(id)).err).toContain('already has another Sluice: authorizer "ShopApiSluice0A1B2C3D"')
    expect((await aws.sluice(['status', id])).code).toBe(1)
  })

  it('is no other Sluice if the function of an authorizer is somebody’s own', async () => {
    authorizer('tokens')
    aws.otherFunctions.set(THEIRS, {})
    expect((await aws.sluice(['status', id])).out).toBe(`API ${id} is not attached\n`)
    expect((await attach(id)).code).toBe(0)
  })

  it('is this limiter’s own where the construct protects it: status says so', async () => {
    authorizer('ShopApiSluice0A1B2C3D', FUNCTION)
    const { code, out } = await aws.sluice(['status', id])
    expect(code).toBe(0)
    expect(out).toContain('is not attached by attach, and calls this limiter: authorizer "ShopApiSluice0A1B2C3D"')
  })

  it('is not answered "nothing to do" by detach if attach made the authorizer and the journal is lost', async () => {
    await attach(id)
    aws.table.clear()
    expect(await detach(id)).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing of API restapi001 is on record in config table "sluice-config"'),
    })
  })
})
