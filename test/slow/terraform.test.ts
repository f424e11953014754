import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { App, Duration, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'
import { RESPONSE_MAPPING } from '../../provisioning/response-mapping'
import { blocksOf, PAGES } from '../docs/snippets/blocks'
import { MINISTACK, type MiniStack, startMiniStack } from '../engines/ministack'
import { type Block, hasTerraform, mistakesIn, parseFolder, parseText, terraform } from '../engines/terraform'

const ROOT = join(__dirname, '..', '..')
const FOLDERS = ['terraform', 'terraform/rest-api', 'terraform/http-api', 'examples/terraform']
const UPSTREAM = 'arn:aws:lambda:us-east-1:000000000000:function:theirs'
const KEY = 'arn:aws:kms:us-east-1:000000000000:key/11111111-2222-3333-4444-555555555555'

/** Every setting that becomes a variable of the function's environment, for the construct and for the module. */
const PROPS: RateLimiterProps = {
  failureMode: 'deny',
  authentication: 'none',
  decisionDeadline: Duration.millis(150),
  configTtl: Duration.minutes(1),
  ipv6Prefix: 64,
  denials: 'backend-429',
  upstreamDeadline: Duration.millis(800),
  upstreamCacheTtl: Duration.minutes(5),
  upstreamCacheHeaders: ['authorization', 'x-tenant'],
  logLevel: 'warn',
  logCallers: 'clear',
  metricsInterval: Duration.seconds(20),
  metricsNamespace: 'Mine',
  metricsByApi: true,
}
const VARIABLES = `
  failure_mode         = "deny"
  authentication       = "none"
  decision_deadline_ms = 150
  config_ttl_ms        = 60000
  ipv6_prefix          = 64
  denials              = "backend-429"
  log_level            = "warn"
  log_callers          = "clear"
  metrics_interval_ms  = 20000
  metrics_namespace    = "Mine"
  metrics_by_api       = true
  kms_key_arn          = "${KEY}"

  upstream = {
    function_arn  = "${UPSTREAM}"
    deadline_ms   = 800
    cache_ttl_ms  = 300000
    cache_headers = ["authorization", "x-tenant"]
  }
`

describe('the Terraform modules', () => {
  it.each(FOLDERS)('%s has only resources and arguments that version 6 of the provider knows', async (folder) => {
    const { resource: resources = {} } = await parseFolder(join(ROOT, folder))
    const mistakes = Object.entries(resources).flatMap(([type, named]) =>
      Object.entries(named as Record<string, Block[]>).flatMap(([, [block]]) => mistakesIn(type, block!)),
    )
    expect(mistakes).toEqual([])
    expect(Object.keys(resources)).not.toEqual([])
  })

  it('are checked for what is unknown and for what is missing, inside blocks, too', () => {
    const table = { name: 'a', hash_kye: 'pk', ttl: [{ enabled: true, attribute: 'exp' }], attribute: [{ name: 'pk' }] }
    expect(mistakesIn('aws_dynamodb_table', table)).toEqual([
      'aws_dynamodb_table.hash_kye is unknown',
      'aws_dynamodb_table.ttl.attribute is unknown',
      'aws_dynamodb_table.attribute.type is missing',
    ])
  })

  it('are called in the documentation with variables that they have, and all that they need', async () => {
    let calls = 0
    for (const page of PAGES)
      for (const { language, text } of blocksOf(page)) {
        if (language !== 'hcl') continue
        const { module: modules = {} } = (await parseText(text)) as Record<string, Record<string, Block[]>>
        for (const [{ source, ...given }] of Object.values(modules) as [Block][]) {
          const { variable = {} } = await parseFolder(join(ROOT, String(source).replace('./node_modules/sluice/', '')))
          const needed = Object.entries(variable).filter((entry) => !('default' in (entry[1] as Block[])[0]!))
          expect(Object.keys(variable)).toEqual(expect.arrayContaining(Object.keys(given)))
          expect(Object.keys(given)).toEqual(expect.arrayContaining(needed.map(([name]) => name)))
          calls++
        }
      }
    expect(calls).toBeGreaterThan(2)
  })

  it('describe every variable and output', async () => {
    for (const folder of FOLDERS.slice(0, 3)) {
      const { variable = {}, output = {} } = await parseFolder(join(ROOT, folder))
      for (const [block] of Object.values({ ...variable, ...output }) as Block[][])
        expect(block!.description).toMatch(/^[A-Z].*\.$/is)
    }
  })
})

const withTerraform = hasTerraform() ? describe : describe.skip
if (!hasTerraform())
  process.stdout.write('# no Terraform with a provider here: the modules are parsed, and not applied\n')

withTerraform('the Terraform modules, applied to MiniStack', () => {
  const home = mkdtempSync(join(tmpdir(), 'sluice-terraform-'))
  let aws: MiniStack
  let state: Readonly<Record<string, Block>>
  let outputs: Readonly<Record<string, { readonly value: string }>>

  const runs = (command: string, ...args: string[]) => terraform(home, aws.env, command, ...args)

  beforeAll(async () => {
    aws = await startMiniStack()
    const modules = join(home, 'node_modules', 'sluice')
    cpSync(join(ROOT, 'examples', 'terraform'), home, { recursive: true })
    cpSync(join(ROOT, 'terraform'), join(modules, 'terraform'), { recursive: true })
    const bundle = join(modules, 'dist', 'authorizer')
    mkdirSync(bundle, { recursive: true })
    buildAuthorizerBundle(bundle)
    // In place of the provider that makes archives, which is not on this machine.
    const code = readdirSync(bundle).filter((file) => file.endsWith('.js'))
    await zip(bundle, join(home, 'authorizer.zip'), code)
    await zip(home, join(home, 'backend.zip'), ['backend.mjs'])
    writeFileSync(
      join(home, 'package.tf'),
      'locals {\n  authorizer_zip = "authorizer.zip"\n  backend_zip    = "backend.zip"\n}\n',
    )
    writeFileSync(
      join(home, 'full.tf'),
      `module "full" {\n  source   = "./node_modules/sluice/terraform"\n  filename = local.authorizer_zip\n  name     = "full"\n  runtime  = var.runtime\n${VARIABLES}}\n`,
    )
    await runs('init')
    // Version 5 of the provider knows no nodejs24.x; MiniStack runs both on the Node that is there.
    await runs('apply', '-auto-approve', '-var', 'runtime=nodejs22.x')
    const shown = JSON.parse(await runs('show', '-json')).values
    outputs = shown.outputs
    state = Object.fromEntries(resourcesOf(shown.root_module).map(({ address, values }) => [address, values]))
  }, 300_000)
  afterAll(async () => {
    await aws?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  it('are formatted and valid', async () => {
    for (const folder of FOLDERS) await terraform(join(ROOT, folder), {}, 'fmt', '-check')
    await runs('validate')
  })

  it('are done after one apply: a plan right afterwards changes nothing', async () => {
    await runs('plan', '-var', 'runtime=nodejs22.x', '-out', 'second.plan')
    const { resource_changes: changes } = JSON.parse(await runs('show', '-json', 'second.plan'))
    const changed = (changes as { address: string; change: { actions: string[] } }[])
      .filter(({ change }) => change.actions.join() !== 'no-op')
      .map(({ address, change }) => `${change.actions.join()} ${address}`)
    // For these two MiniStack invents settings that nobody gave them.
    expect(changed.sort()).toEqual([
      'update aws_api_gateway_stage.prod',
      'update module.sluice_http.aws_apigatewayv2_authorizer.sluice',
    ])
  })

  describe.each([
    ['sluice', {}],
    ['full', PROPS],
  ] as const)('module.%s makes what the construct makes', (name, props) => {
    const of = (address: string) => state[`module.${name}.${address}`] as Record<string, never>
    let template: Template

    beforeAll(() => {
      const stack = new Stack(new App(), 'Stack', { env: { account: '000000000000', region: 'us-east-1' } })
      const isFull = name === 'full'
      new RateLimiter(stack, 'Limiter', {
        ...props,
        ...(isFull && {
          upstream: LambdaFunction.fromFunctionArn(stack, 'Theirs', UPSTREAM),
          encryptionKey: Key.fromKeyArn(stack, 'Key', KEY),
        }),
      })
      template = Template.fromStack(stack)
    })

    const only = (type: string, id: RegExp) => {
      const found = Object.entries(template.findResources(type)).filter(([one]) => id.test(one))
      expect(found).toHaveLength(1)
      return found[0]![1].Properties
    }

    it.each([
      ['state', /State/],
      ['config', /Config/],
    ])('the table %s', (table, id) => {
      const wanted = only('AWS::DynamoDB::GlobalTable', id)
      const made = of(`aws_dynamodb_table.${table}`) as Record<string, never> & {
        readonly attribute: readonly { readonly name: string; readonly type: string }[]
      }
      expect([
        { AttributeName: made.hash_key, KeyType: 'HASH' },
        ...(made.range_key ? [{ AttributeName: made.range_key, KeyType: 'RANGE' }] : []),
      ]).toEqual(wanted.KeySchema)
      expect(made.attribute.map(({ name, type }) => ({ AttributeName: name, AttributeType: type }))).toEqual(
        wanted.AttributeDefinitions,
      )
      expect(made.billing_mode).toBe(wanted.BillingMode)
      const [ttl] = made.ttl as unknown as Block[]
      expect(ttl?.enabled ? { AttributeName: ttl.attribute_name, Enabled: true } : undefined).toEqual(
        wanted.TimeToLiveSpecification,
      )
      const [replica] = wanted.Replicas
      expect((made.point_in_time_recovery as unknown as Block[])[0]!.enabled).toBe(
        replica.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled,
      )
      const [encryption] = made.server_side_encryption as unknown as Block[]
      expect(encryption?.kms_key_arn).toEqual(replica.SSESpecification?.KMSMasterKeyId)
      expect(made.deletion_protection_enabled).toBe(table === 'config')
    })

    it('the function, with its environment and its log', () => {
      const wanted = only('AWS::Lambda::Function', /Authorizer/)
      const made = of('aws_lambda_function.authorizer') as unknown as Block
      expect({
        Description: made.description,
        Handler: made.handler,
        Architectures: made.architectures,
        MemorySize: made.memory_size,
        Timeout: made.timeout,
      }).toEqual({
        Description: wanted.Description,
        Handler: wanted.Handler,
        Architectures: wanted.Architectures,
        MemorySize: wanted.MemorySize,
        Timeout: wanted.Timeout,
      })
      const tables = { SLUICE_STATE_TABLE: `${name}-state`, SLUICE_CONFIG_TABLE: `${name}-config` }
      expect((made.environment as Block[])[0]!.variables).toEqual({ ...wanted.Environment.Variables, ...tables })
      expect(of('aws_cloudwatch_log_group.authorizer').retention_in_days).toBe(
        only('AWS::Logs::LogGroup', /Authorizer/).RetentionInDays,
      )
      expect((made.logging_config as Block[])[0]!.log_group).toBe(`/aws/lambda/${name}`)
    })

    it("the role's policy, statement by statement", () => {
      const wanted = Object.entries(template.findResources('AWS::IAM::Policy'))
        .filter(([id]) => /Authorizer/.test(id))
        .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[])
      const made: Statement[] = JSON.parse(of('aws_iam_role_policy.authorizer').policy ?? '').Statement
      expect(made.map(normalized).sort()).toEqual([...new Set(wanted.map(normalized))].sort())
      const resource = (statement: Statement) => statement.Resource as string
      expect(made.map(resource).map((arn) => arn.replace(/^arn:aws:|us-east-1:000000000000:/g, ''))).toEqual([
        `logs:log-group:/aws/lambda/${name}:*`,
        `dynamodb:table/${name}-state`,
        `dynamodb:table/${name}-config`,
        `dynamodb:table/${name}-config`,
        ...(name === 'full' ? ['kms:key/11111111-2222-3333-4444-555555555555', 'lambda:function:theirs'] : []),
      ])
    })
  })

  it('make in front of each API what the construct makes', () => {
    const stack = new Stack(new App(), 'Stack')
    const limiter = new RateLimiter(stack, 'Limiter')
    const rest = new RestApi(stack, 'Rest')
    rest.root.addMethod('GET')
    limiter.protect(rest)
    const http = new HttpApi(stack, 'Http')
    http.addRoutes({ path: '/items', integration: new HttpUrlIntegration('Items', 'https://example.com') })
    limiter.protect(http)
    const template = Template.fromStack(stack)
    const the = (type: string) => Object.values(template.findResources(type))[0]!.Properties

    const restAuthorizer = state['module.sluice_rest.aws_api_gateway_authorizer.sluice']!
    const wantedRest = the('AWS::ApiGateway::Authorizer')
    expect(restAuthorizer).toMatchObject({
      type: wantedRest.Type,
      authorizer_result_ttl_in_seconds: wantedRest.AuthorizerResultTtlInSeconds,
      identity_source: '',
    })
    expect(wantedRest.IdentitySource).toBeUndefined()

    const httpAuthorizer = state['module.sluice_http.aws_apigatewayv2_authorizer.sluice']!
    const wantedHttp = the('AWS::ApiGatewayV2::Authorizer')
    expect(httpAuthorizer).toMatchObject({
      authorizer_type: wantedHttp.AuthorizerType,
      authorizer_payload_format_version: wantedHttp.AuthorizerPayloadFormatVersion,
      enable_simple_responses: wantedHttp.EnableSimpleResponses,
      authorizer_result_ttl_in_seconds: wantedHttp.AuthorizerResultTtlInSeconds,
    })
    expect(httpAuthorizer.identity_sources ?? []).toEqual(wantedHttp.IdentitySource)

    const wantedResponse = the('AWS::ApiGateway::GatewayResponse')
    expect(state['module.sluice_rest.aws_api_gateway_gateway_response.too_many_requests[0]']).toMatchObject({
      response_type: wantedResponse.ResponseType,
      status_code: wantedResponse.StatusCode,
      response_parameters: wantedResponse.ResponseParameters,
      response_templates: wantedResponse.ResponseTemplates,
    })
    const parameters = state['aws_apigatewayv2_integration.limited']!.response_parameters as Block[]
    expect(parameters.map(({ status_code }) => status_code).sort()).toEqual(['200', '201', '204', '404'])
    for (const { mappings } of parameters) expect(mappings).toEqual(RESPONSE_MAPPING)
    expect(state['aws_apigatewayv2_integration.open']!.response_parameters).toEqual([])

    for (const [module, authorizer, api] of [
      ['sluice_rest', restAuthorizer, restAuthorizer.rest_api_id],
      ['sluice_http', httpAuthorizer, httpAuthorizer.api_id],
    ] as const)
      expect(state[`module.${module}.aws_lambda_permission.sluice`]).toMatchObject({
        principal: 'apigateway.amazonaws.com',
        action: 'lambda:InvokeFunction',
        source_arn: `arn:aws:execute-api:us-east-1:000000000000:${api}/authorizers/${authorizer.id}`,
      })
  })

  it('limit both APIs by one count, once the tiers are in the table; the health check is not counted', async () => {
    const cli = ['tiers', 'apply', join(home, 'tiers.yaml'), '--yes', '--table', outputs.config_table!.value]
    const env = { ...process.env, ...aws.env }
    await promisify(execFile)(process.execPath, [join(ROOT, 'bin', 'sluice.js'), ...cli], { env })
    const [orders, items] = [`${outputs.orders_url!.value}/`, outputs.items_url!.value]
    const statuses: number[] = []
    for (const url of [`${orders}orders`, `${items}items`, `${orders}orders`, `${items}items`, `${orders}orders`])
      statuses.push((await aws.send(url)).status)
    for (const url of [`${orders}orders`, `${items}items`]) statuses.push((await aws.send(url)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 403])
    for (const url of [`${orders}health`, `${items}health`]) expect((await aws.send(url)).status).toBe(200)
  })

  it('refuse what the function would refuse at its first request, each by its name', async () => {
    const wrong = {
      failure_mode: 'open',
      authentication: 'both',
      decision_deadline_ms: '19',
      config_ttl_ms: '0.5',
      ipv6_prefix: '129',
      denials: '429',
      log_level: 'all',
      log_callers: 'yes',
      metrics_interval_ms: '-1',
      name: 'a b',
      architecture: 'arm',
    }
    const folder = join(home, 'node_modules', 'sluice', 'terraform')
    await terraform(folder, aws.env, 'init')
    const variables = Object.entries({ ...wrong, filename: 'a.zip', source_code_hash: 'x' }).flatMap(
      ([name, value]) => ['-var', `${name}=${value}`],
    )
    const upstream = '{ function_arn = "x", cache_ttl_ms = 5 }'
    const refused = await terraform(
      folder,
      aws.env,
      'plan',
      '-no-color',
      ...variables,
      '-var',
      `upstream=${upstream}`,
    ).then(
      () => 'nothing',
      (error: Error) => error.message,
    )
    for (const name of [...Object.keys(wrong), 'upstream.cache_headers']) expect(refused).toContain(`${name} must `)
  })
})

interface Statement {
  readonly Action: string | readonly string[]
  readonly Resource: unknown
  readonly Condition?: unknown
}

/** Without the resource, which is a token in a template; keys of two tables are one statement each there. */
const normalized = ({ Action, Condition }: Statement): string =>
  JSON.stringify([[Action].flat().sort(), Condition ?? null])

interface Module {
  readonly resources?: readonly { readonly address: string; readonly values: Block }[]
  readonly child_modules?: readonly Module[]
}

const resourcesOf = ({ resources = [], child_modules = [] }: Module): NonNullable<Module['resources']> => [
  ...resources,
  ...child_modules.flatMap(resourcesOf),
]

const zip = (cwd: string, archive: string, files: readonly string[]) =>
  promisify(execFile)(join(MINISTACK, 'python3'), ['-m', 'zipfile', '-c', archive, ...files], { cwd })
