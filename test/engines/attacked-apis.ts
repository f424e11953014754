import * as rest from '@aws-sdk/client-api-gateway'
import * as http from '@aws-sdk/client-apigatewayv2'
import { BatchWriteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { CreateFunctionCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { marshall } from '@aws-sdk/util-dynamodb'
import { createStateTable } from '../../limiter/stores/state-table'
import { createConfigTable } from '../../tiered/create-config-table'
import { authorizerCode, type MiniStack, zipped } from './ministack'

export const NAMES = {
  state: 'sluice-state',
  config: 'sluice-config',
  function: 'sluice-authorizer',
  backend: 'backend',
} as const
const ROLE = 'arn:aws:iam::000000000000:role/any'
const BACKEND = "exports.handler = async () => ({ statusCode: 200, body: 'served' })"

/** Ids of APIs that are deployed to the stage `prod`. */
export interface DeployedApis {
  readonly rest: string
  readonly http: string
}

/**
 * Tables with these items, the authorizer's bundle as a function, and a REST and an HTTP API whose every request goes
 * to one backend.
 *
 * @param folder where archives may be made.
 * @param routes of the HTTP API, beside `$default`.
 */
export async function deployApis(
  { env }: MiniStack,
  folder: string,
  items: readonly object[],
  routes: readonly string[],
): Promise<DeployedApis> {
  const options = {
    endpoint: env.AWS_ENDPOINT_URL!,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  }
  const tables = new DynamoDBClient(options)
  await createStateTable(tables, NAMES.state)
  await createConfigTable(tables, NAMES.config)
  const puts = items.map((item) => ({ PutRequest: { Item: marshall(item, { removeUndefinedValues: true }) } }))
  await tables.send(new BatchWriteItemCommand({ RequestItems: { [NAMES.config]: puts } }))

  const lambda = new LambdaClient(options)
  const create = async (
    FunctionName: string,
    code: Readonly<Record<string, string>>,
    Variables: Record<string, string> = {},
  ) => {
    const Code = { ZipFile: zipped(code) }
    const made = { FunctionName, Runtime: 'nodejs22.x', Handler: 'index.handler', Role: ROLE, Timeout: 10 } as const
    return (await lambda.send(new CreateFunctionCommand({ ...made, Code, Environment: { Variables } }))).FunctionArn!
  }
  await create(NAMES.function, authorizerCode(folder), {
    SLUICE_STATE_TABLE: NAMES.state,
    SLUICE_CONFIG_TABLE: NAMES.config,
  })
  const backend = await create(NAMES.backend, { 'index.js': BACKEND })
  return {
    rest: await restApi(new rest.APIGatewayClient(options), backend),
    http: await httpApi(new http.ApiGatewayV2Client(options), backend, routes),
  }
}

async function restApi(client: rest.APIGatewayClient, backend: string): Promise<string> {
  const uri = `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${backend}/invocations`
  const { id: restApiId } = await client.send(new rest.CreateRestApiCommand({ name: 'attacked' }))
  const { items = [] } = await client.send(new rest.GetResourcesCommand({ restApiId }))
  const root = items[0]!.id!
  const all = await client.send(new rest.CreateResourceCommand({ restApiId, parentId: root, pathPart: '{proxy+}' }))
  for (const resourceId of [root, all.id!]) {
    const at = { restApiId, resourceId, httpMethod: 'ANY' }
    await client.send(new rest.PutMethodCommand({ ...at, authorizationType: 'NONE' }))
    await client.send(new rest.PutIntegrationCommand({ ...at, type: 'AWS_PROXY', integrationHttpMethod: 'POST', uri }))
  }
  await client.send(new rest.CreateDeploymentCommand({ restApiId, stageName: 'prod' }))
  client.destroy()
  return restApiId!
}

async function httpApi(client: http.ApiGatewayV2Client, backend: string, routes: readonly string[]): Promise<string> {
  const { ApiId } = await client.send(new http.CreateApiCommand({ Name: 'attacked', ProtocolType: 'HTTP' }))
  const made = { ApiId, IntegrationType: 'AWS_PROXY', IntegrationUri: backend, PayloadFormatVersion: '2.0' } as const
  const { IntegrationId } = await client.send(new http.CreateIntegrationCommand(made))
  for (const RouteKey of [...routes, '$default']) {
    await client.send(new http.CreateRouteCommand({ ApiId, RouteKey, Target: `integrations/${IntegrationId}` }))
  }
  const { DeploymentId } = await client.send(new http.CreateDeploymentCommand({ ApiId }))
  await client.send(new http.CreateStageCommand({ ApiId, StageName: 'prod', DeploymentId }))
  client.destroy()
  return ApiId!
}
