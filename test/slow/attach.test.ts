import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as rest from '@aws-sdk/client-api-gateway'
import * as http from '@aws-sdk/client-apigatewayv2'
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb'
import {
  CreateFunctionCommand,
  GetFunctionConfigurationCommand,
  GetPolicyCommand,
  LambdaClient,
} from '@aws-sdk/client-lambda'
import { marshall } from '@aws-sdk/util-dynamodb'
import { buildSync } from 'esbuild'
import { WebSocket } from 'ws'
import { clientKey, tierKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { createStateTable } from '../../limiter/stores/state-table'
import { createConfigTable } from '../../tiered/create-config-table'
import { sluice } from '../cli/command-line'
import { authorizerCode, MINISTACK, type MiniStack, startMiniStack, zipped } from '../engines/ministack'

const NAMES = { state: 'sluice-state', config: 'sluice-config', function: 'sluice-authorizer', backend: 'zoo' } as const
const ROLE = 'arn:aws:iam::000000000000:role/any'
const LIMIT = 3
const KEY = 'the key of chat'

const BACKEND = "exports.handler = async () => ({ statusCode: 200, body: 'meow' })"

const group = existsSync(MINISTACK) ? describe : describe.skip

group(
  `attaching on MiniStack${existsSync(MINISTACK) ? '' : ' (skipped: it is not installed, bash .ci/ministack does)'}`,
  () => {
    const scratch = mkdtempSync(join(tmpdir(), 'sluice-attach-'))
    const environment = { ...process.env }
    let aws: MiniStack
    let clients: {
      rest: rest.APIGatewayClient
      http: http.ApiGatewayV2Client
      lambda: LambdaClient
      tables: DynamoDBClient
    }

    beforeAll(async () => {
      aws = await startMiniStack()
      Object.assign(process.env, aws.env) // where the SDK looks, the command line's too
      clients = {
        rest: new rest.APIGatewayClient(),
        http: new http.ApiGatewayV2Client(),
        lambda: new LambdaClient(),
        tables: new DynamoDBClient(),
      }
      await createStateTable(clients.tables, NAMES.state)
      await createConfigTable(clients.tables, NAMES.config)
      const tier = {
        ...tierKey('anonymous'),
        by: 'ip',
        policies: [{ name: 'per-hour', limit: LIMIT, window: '1h', algorithm: 'sliding-log' }],
      }
      const items = [
        tier,
        { ...tierKey('chat'), policies: [{ name: 'per-day', limit: 4, window: '1d', algorithm: 'fixed-window' }] },
        { ...clientKey(hashApiKey(KEY)), id: 'chat', tier: 'chat' },
      ]
      for (const item of items)
        await clients.tables.send(new PutItemCommand({ TableName: NAMES.config, Item: marshall(item) }))
      await createFunction(NAMES.function, authorizerCode(scratch), {
        SLUICE_STATE_TABLE: NAMES.state,
        SLUICE_CONFIG_TABLE: NAMES.config,
      })
      await createFunction(NAMES.backend, { 'index.js': BACKEND })
    })
    afterAll(async () => {
      for (const client of Object.values(clients ?? {})) client.destroy()
      await aws?.stop()
      process.env = environment
      rmSync(scratch, { recursive: true, force: true })
    })

    async function createFunction(
      FunctionName: string,
      code: Readonly<Record<string, string>>,
      Variables: Record<string, string> = {},
    ): Promise<void> {
      await clients.lambda.send(
        new CreateFunctionCommand({
          FunctionName,
          Runtime: 'nodejs22.x',
          Handler: 'index.handler',
          Role: ROLE,
          Timeout: 10,
          Code: { ZipFile: zipped(code) },
          Environment: { Variables },
        }),
      )
    }

    const command = (...args: string[]) => sluice([...args, '--table', NAMES.config], { env: aws.env })

    const attach = async (id: string, ...more: string[]) => {
      const said = await command('attach', id, '--yes', '--function', NAMES.function, ...more)
      expect(said).toMatchObject({ code: 0, out: expect.stringContaining('attached: ') })
    }
    const drift = async (id: string): Promise<string[]> => JSON.parse((await command('status', id, '--json')).out).drift
    const statuses = async (id: string, path: string, count: number) => {
      const found: number[] = []
      for (let i = 0; i < count; i++)
        found.push((await aws.send(`https://${id}.execute-api.us-east-1.amazonaws.com${path}`)).status)
      return found
    }

    /** Ids of the statements by which API Gateway may call Sluice. */
    async function permissions(): Promise<string[]> {
      const policy = await clients.lambda
        .send(new GetPolicyCommand({ FunctionName: NAMES.function }))
        .catch(() => ({ Policy: '{"Statement":[]}' }))
      return JSON.parse(policy.Policy!).Statement.map(({ Sid }: { Sid: string }) => Sid)
    }

    async function backendArn(): Promise<string> {
      const { FunctionArn } = await clients.lambda.send(
        new GetFunctionConfigurationCommand({ FunctionName: NAMES.backend }),
      )
      return FunctionArn!
    }

    describe('a foreign REST API', () => {
      let id: string
      let pets: string
      beforeAll(async () => {
        const uri = `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${await backendArn()}/invocations`
        const api = await clients.rest.send(new rest.CreateRestApiCommand({ name: 'zoo', tags: { team: 'zoo' } }))
        id = api.id!
        const { items = [] } = await clients.rest.send(new rest.GetResourcesCommand({ restApiId: id }))
        const made = await clients.rest.send(
          new rest.CreateResourceCommand({ restApiId: id, parentId: items[0]!.id, pathPart: 'pets' }),
        )
        pets = made.id!
        const theirs = await clients.rest.send(
          new rest.CreateAuthorizerCommand({
            restApiId: id,
            name: 'theirs',
            type: 'TOKEN',
            authorizerUri: uri,
            identitySource: 'method.request.header.Authorization',
          }),
        )
        for (const [httpMethod, authorizerId] of [['GET'], ['POST', theirs.id], ['OPTIONS']] as const) {
          const at = { restApiId: id, resourceId: pets, httpMethod }
          const authorizationType = authorizerId ? 'CUSTOM' : 'NONE'
          await clients.rest.send(new rest.PutMethodCommand({ ...at, authorizationType, authorizerId }))
          await clients.rest.send(
            new rest.PutIntegrationCommand({ ...at, type: 'AWS_PROXY', integrationHttpMethod: 'POST', uri }),
          )
        }
        await clients.rest.send(
          new rest.PutGatewayResponseCommand({
            restApiId: id,
            responseType: 'DEFAULT_4XX',
            responseParameters: { 'gatewayresponse.header.Access-Control-Allow-Origin': "'*'" },
          }),
        )
        await clients.rest.send(new rest.CreateDeploymentCommand({ restApiId: id, stageName: 'prod' }))
      })

      /** What the service exports, and what an export leaves out. */
      async function everything(): Promise<string> {
        const { body } = await clients.rest.send(
          new rest.GetExportCommand({
            restApiId: id,
            stageName: 'prod',
            exportType: 'oas30',
            parameters: { extensions: 'apigateway,authorizers' },
          }),
        )
        const { item: stages = [] } = await clients.rest.send(new rest.GetStagesCommand({ restApiId: id }))
        const rests = [
          await clients.rest.send(new rest.GetAuthorizersCommand({ restApiId: id })),
          await clients.rest.send(new rest.GetGatewayResponsesCommand({ restApiId: id })),
          await clients.rest.send(new rest.GetDeploymentsCommand({ restApiId: id })),
          stages.map(({ lastUpdatedDate: _, ...stage }) => stage),
          await permissions(),
        ]
        return [new TextDecoder().decode(body), ...rests.map((one) => JSON.stringify(one, withoutMetadata))].join('\n')
      }

      it('is attached, answers 429 over the limit, is looked through, and is byte for byte what it was after detach', async () => {
        const before = await everything()
        expect(await statuses(id, '/prod/pets', LIMIT + 1)).toEqual(Array(LIMIT + 1).fill(200))
        expect(await permissions()).toEqual([])

        await attach(id)
        const [first, ...others] = await statuses(id, '/prod/pets', LIMIT + 2)
        expect([first, ...others]).toEqual([...Array(LIMIT).fill(200), 429, 429])
        const denied = await aws.send(`https://${id}.execute-api.us-east-1.amazonaws.com/prod/pets`)
        expect(denied.headers['access-control-allow-origin']).toBe('*')
        expect(await drift(id)).toEqual([])

        await clients.rest.send(
          new rest.PutMethodCommand({
            restApiId: id,
            resourceId: pets,
            httpMethod: 'DELETE',
            authorizationType: 'NONE',
          }),
        )
        expect(await drift(id)).toEqual(['DELETE /pets is new and unprotected'])
        await clients.rest.send(new rest.DeleteMethodCommand({ restApiId: id, resourceId: pets, httpMethod: 'DELETE' }))

        expect(await command('detach', id, '--yes')).toMatchObject({ code: 0 })
        expect(await everything()).toBe(before)
        expect(await statuses(id, '/prod/pets', LIMIT + 1)).toEqual(Array(LIMIT + 1).fill(200))
      })

      it('is restored by detach when the process that attaches is killed at any of its steps', async () => {
        const before = await everything()
        let steps = 1
        for (let step = 1; step <= steps; step++) {
          const args = ['attach', id, '--yes', '--function', NAMES.function, '--table', NAMES.config]
          const child = spawn(process.execPath, [join(__dirname, '..', '..', 'bin', 'sluice.js'), ...args], {
            stdio: ['ignore', 'ignore', 'pipe'],
            env: { ...process.env },
          })
          let said = ''
          child.stderr.setEncoding('utf8').on('data', (text: string) => {
            said += text
            const [, count] = new RegExp(`\\[${step}/(\\d+)\\]`).exec(said) ?? []
            if (count === undefined) return
            steps = Number(count)
            child.kill('SIGKILL')
          })
          await once(child, 'exit')
          expect([said, child.signalCode]).toEqual([said, 'SIGKILL'])
          expect(await command('detach', id, '--yes')).toMatchObject({ code: 0 })
          expect(await everything()).toBe(before)
        }
        expect(steps).toBe(5)
      })

      it('brings its usage plan: who shows a key of the plan has the plan’s quota', async () => {
        const before = await everything()
        const [value, quota] = ['a-key-of-the-plan-0123456789', LIMIT + 2]
        const { id: keyId } = await clients.rest.send(
          new rest.CreateApiKeyCommand({ name: 'acme', value, enabled: true }),
        )
        const plan = await clients.rest.send(
          new rest.CreateUsagePlanCommand({
            name: 'gold',
            apiStages: [{ apiId: id, stage: 'prod' }],
            quota: { limit: quota, period: 'DAY' },
          }),
        )
        await clients.rest.send(new rest.CreateUsagePlanKeyCommand({ usagePlanId: plan.id, keyId, keyType: 'API_KEY' }))
        const imported = await command('import', 'usage-plans', '--yes')
        expect(imported).toMatchObject({ code: 0, out: expect.stringContaining('imported: 1 item, 1 client') })
        expect(JSON.stringify(imported)).not.toContain(value)
        const attached = await command('attach', '--tag', 'team=zoo', '--function', NAMES.function, '--yes')
        expect(attached).toMatchObject({ code: 0, out: expect.stringContaining(`${id} "zoo": attached`) })
        const url = `https://${id}.execute-api.us-east-1.amazonaws.com/prod/pets`
        const ask = async () => (await aws.send(url, { headers: { 'x-api-key': value } })).status
        // until then the key is one of an unknown tier: anonymous, and the address has used up its limit
        while ((await ask()) !== 200) await sleep(1000)
        const found: number[] = []
        for (let i = 1; i < quota + 1; i++) found.push(await ask())
        expect(found).toEqual([...Array(quota - 1).fill(200), 429])
        await command('detach', id, '--yes')
        expect(await everything()).toBe(before)
      })

      it('opens no method without a flag that names it, and gets the authorizer back that --replace took', async () => {
        const before = await everything()
        const refused = await command('attach', id, '--yes', '--function', NAMES.function, '--replace')
        expect([refused.code, refused.err]).toEqual([
          1,
          expect.stringContaining(
            'POST /pets would lose authentication: Sluice does not call its function zoo as upstream authorizer',
          ),
        ])
        expect(await everything()).toBe(before)
        await attach(id, '--replace', '--open', 'POST /pets')
        const at = { restApiId: id, resourceId: pets, httpMethod: 'POST' }
        const { authorizerId } = await clients.rest.send(new rest.GetMethodCommand(at))
        const { items = [] } = await clients.rest.send(new rest.GetAuthorizersCommand({ restApiId: id }))
        expect(items.find((one) => one.id === authorizerId)?.name).toMatch(/^sluice-/)
        await command('detach', id, '--yes')
        expect(await everything()).toBe(before)
      })
    })

    async function everythingOf(id: string): Promise<string> {
      const at = { ApiId: id }
      const { Items: stages = [] } = await clients.http.send(new http.GetStagesCommand(at))
      const all = [
        await clients.http.send(new http.GetRoutesCommand(at)),
        await clients.http.send(new http.GetAuthorizersCommand(at)),
        (await clients.http.send(new http.GetIntegrationsCommand(at))).Items!.map(
          ({ ResponseParameters = {}, ...one }) => ({
            ...one,
            // Codes without mappings map nothing.
            mapped: Object.entries(ResponseParameters).filter(([, values]) => Object.keys(values).length > 0),
          }),
        ),
        await clients.http.send(new http.GetDeploymentsCommand(at)),
        stages.map(({ LastUpdatedDate: _, ...stage }) => stage),
        await permissions(),
      ]
      return all.map((one) => JSON.stringify(one, withoutMetadata)).join('\n')
    }

    describe('a foreign HTTP API', () => {
      let id: string
      beforeAll(async () => {
        const { ApiId } = await clients.http.send(new http.CreateApiCommand({ Name: 'zoo', ProtocolType: 'HTTP' }))
        id = ApiId!
        const { IntegrationId } = await clients.http.send(
          new http.CreateIntegrationCommand({
            ApiId,
            IntegrationType: 'AWS_PROXY',
            IntegrationUri: await backendArn(),
            PayloadFormatVersion: '2.0',
          }),
        )
        for (const RouteKey of ['GET /pets', 'OPTIONS /pets', '$default']) {
          await clients.http.send(
            new http.CreateRouteCommand({ ApiId, RouteKey, Target: `integrations/${IntegrationId}` }),
          )
        }
        const { DeploymentId } = await clients.http.send(new http.CreateDeploymentCommand({ ApiId }))
        await clients.http.send(new http.CreateStageCommand({ ApiId, StageName: 'prod', DeploymentId }))
      })

      it('is attached, answers 403 over the limit, is looked through, and is what it was after detach', async () => {
        const before = await everythingOf(id)
        expect(await statuses(id, '/prod/pets', 2)).toEqual([200, 200])

        await attach(id, '--headers')
        const found = await statuses(id, '/prod/pets', LIMIT + 2)
        expect(found.slice(-2)).toEqual([403, 403])
        expect(await drift(id)).toEqual([])
        await clients.http.send(
          new http.UpdateAuthorizerCommand({
            ApiId: id,
            AuthorizerId: (await clients.http.send(new http.GetAuthorizersCommand({ ApiId: id }))).Items![0]!
              .AuthorizerId,
            AuthorizerResultTtlInSeconds: 60,
          }),
        )
        expect(await drift(id)).toEqual([expect.stringContaining('it caches decisions for 60 s')])

        expect(await command('detach', id, '--yes')).toMatchObject({ code: 0 })
        expect(await everythingOf(id)).toBe(before)
        expect(await statuses(id, '/prod/pets', 2)).toEqual([200, 200])
      })
    })

    describe('a foreign WebSocket API', () => {
      let id: string
      beforeAll(async () => {
        const tables = `client: new DynamoDBClient({ maxAttempts: 1 }), configTable: '${NAMES.config}', stateTable: '${NAMES.state}'`
        const source = `
          import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
          import { createTieredLimiter, withMessageLimit } from './tiered'
          const limiter = createTieredLimiter({ ${tables}, deadlineMs: 5000, write: () => {} })
          export const handler = withMessageLimit(async ({ body }) => ({ statusCode: 200, body: 'heard ' + body }), { limiter })`
        const stdin = { contents: source, resolveDir: join(__dirname, '../..'), loader: 'ts' } as const
        const built = buildSync({ stdin, bundle: true, platform: 'node', format: 'cjs', write: false })
        await createFunction('chat', { 'index.js': built.outputFiles[0]!.text })
        const { ApiId } = await clients.http.send(
          new http.CreateApiCommand({
            Name: 'chat',
            ProtocolType: 'WEBSOCKET',
            RouteSelectionExpression: '$request.body.action',
          }),
        )
        id = ApiId!
        const IntegrationUri = (await backendArn()).replace(/zoo$/, 'chat')
        const { IntegrationId } = await clients.http.send(
          new http.CreateIntegrationCommand({ ApiId, IntegrationType: 'AWS_PROXY', IntegrationUri }),
        )
        for (const RouteKey of ['$connect', '$default', '$disconnect'])
          await clients.http.send(
            new http.CreateRouteCommand({ ApiId, RouteKey, Target: `integrations/${IntegrationId}` }),
          )
        const { DeploymentId } = await clients.http.send(new http.CreateDeploymentCommand({ ApiId }))
        await clients.http.send(new http.CreateStageCommand({ ApiId, StageName: 'prod', DeploymentId }))
      })

      /** Connects, sends so many messages, and gives what came back; a status alone where the connection is refused. */
      function chat(count: number): Promise<{ status: number; heard: string[] }> {
        const { port } = new URL(aws.env.AWS_ENDPOINT_URL!)
        const headers = { host: `${id}.execute-api.localhost:${port}`, 'x-api-key': KEY }
        const socket = new WebSocket(`ws://localhost:${port}/prod`, { headers })
        const heard: string[] = []
        return new Promise((resolve, reject) => {
          const end = (status: number) => {
            socket.terminate()
            resolve({ status, heard })
          }
          socket.on('error', reject).on('unexpected-response', (_, { statusCode = 0 }) => end(statusCode))
          socket.on('open', () => (count === 0 ? end(101) : socket.send('{"action":"say"}')))
          socket.on('message', (data) => {
            heard.push(String(data))
            if (heard.length < count) socket.send('{"action":"say"}')
            else end(101)
          })
        })
      }

      it('is attached: a client is denied by the message and then refused; and is what it was after detach', async () => {
        const before = await everythingOf(id)
        const [anonymous] = (await chat(1)).heard // counted by its address, as the calls of the HTTP API were
        expect(JSON.parse(anonymous!)).toMatchObject({ code: 'over-limit', limit: LIMIT })
        await attach(id)
        const { status, heard } = await chat(5)
        expect([status, heard.slice(0, 3)]).toEqual([101, Array(3).fill('heard {"action":"say"}')])
        expect(heard.slice(3).map((text) => JSON.parse(text))).toMatchObject(
          Array(2).fill({
            status: 429,
            code: 'over-limit',
            policy: 'per-day',
            limit: 4,
            connectionId: expect.any(String),
          }),
        )
        expect(await chat(0)).toEqual({ status: 403, heard: [] })
        expect(await drift(id)).toEqual([])
        expect(await command('detach', id, '--yes')).toMatchObject({ code: 0 })
        expect(await everythingOf(id)).toBe(before)
        expect((await chat(1)).status).toBe(101)
      })
    })
  },
)

/** What is about an answer and not of the API, and what is not there said in two ways. */
const withoutMetadata = (key: string, value: unknown) =>
  key === '$metadata' || value === '' || value === null ? undefined : value
