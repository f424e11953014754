import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import { ApiGatewayV2Client } from '@aws-sdk/client-apigatewayv2'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { Session } from '../command'
import { UserError } from '../exit'
import type { PolicySet } from '../facade/policies'
import type { ConfigTable } from '../tables/config-table'
import type { Connection, TableOptions } from '../tables/connection'
import { LimiterChoiceError, NoLimiterError } from '../tables/limiters'
import { readPolicySet } from '../tiers/read-policy-set'
import { ApiLabel } from './api-label'
import type { ApiControl, Authorizer } from './api-state'
import { Calls } from './calls'
import { findApi } from './find-api'
import { type FoundFunction, FunctionPolicy, findFunction } from './function'
import { JournalStore } from './journal'
import { type FoundSluice, findSluices, type SeenFunction, seenAs } from './other-sluice'
import type { AttachJournal } from './steps'
import { parseFunctionArn } from './wanted'

/** A first connection takes longer than any call after it. */
export const TIMEOUTS = { connectionTimeout: 5000, requestTimeout: 30_000, throwOnRequestTimeout: true }

export interface OpenedApi {
  readonly control: ApiControl | undefined
  readonly journal: JournalStore
  readonly recorded: AttachJournal | undefined
  readonly region: string
  /** Finds and checks the function named on the command line or by a stack. */
  findFunction(stated: Parameters<typeof findFunction>[1]): Promise<FoundFunction>
  /** What the config table says; `undefined` where it has mistakes. */
  policies(): Promise<PolicySet | undefined>
  policyOf(functionArn: string): FunctionPolicy
  readonly label: ApiLabel
  readonly configTable: string
  /** The authorizers of an API that call a Sluice, this one or another. */
  sluices(authorizers: readonly Authorizer[]): Promise<readonly FoundSluice[]>
}

/** The clients for APIs, without a config table. */
export interface Aws {
  readonly connection: Connection
  readonly calls: Calls
  readonly region: string
  readonly rest: APIGatewayClient
  readonly http: ApiGatewayV2Client
  readonly lambda: LambdaClient
  readonly cloudFormation: CloudFormationClient
  /** The authorizers of an API that call a Sluice, this one or another. */
  sluices(authorizers: readonly Authorizer[]): Promise<readonly FoundSluice[]>
}

/** The same for one API. */
export interface Clients extends Aws {
  readonly control: ApiControl | undefined
}

/**
 * Opens the clients that `attach`, `detach` and `status` need for one API, and closes them after the work.
 *
 * @param withoutLimiter makes the error where no limiter is found. @default one that asks for the tables' names
 */
export function withApi<T>(
  session: Session,
  where: TableOptions,
  apiId: string,
  work: (opened: OpenedApi) => Promise<T>,
  withoutLimiter?: (clients: Clients) => Promise<Error>,
): Promise<T> {
  return withClients(session, where, apiId, async (clients) => {
    const table = await clients.connection.configTable().catch(async (error) => {
      const isGone = error instanceof NoLimiterError && !(error instanceof LimiterChoiceError)
      throw isGone && withoutLimiter ? await withoutLimiter(clients) : error
    })
    return work(await openApi(clients, table, apiId))
  })
}

/** An API with what is on record of it. */
export async function openApi(clients: Clients, table: ConfigTable, apiId: string): Promise<OpenedApi> {
  const { lambda, cloudFormation, calls, control, region, sluices } = clients
  const journal = new JournalStore(table, calls)
  return {
    control,
    journal,
    recorded: await journal.read(apiId),
    region,
    findFunction: (stated) => findFunction({ lambda, cloudFormation, calls, region, configTable: table.name }, stated),
    policies: async () => {
      const { configuration, issues } = readPolicySet((await table.policySet()).map(({ item }) => item))
      return issues.length === 0 ? configuration.policies : undefined
    },
    label: new ApiLabel(table, calls, journal, apiId),
    policyOf: (arn) => new FunctionPolicy(lambda, calls, arn),
    configTable: table.name,
    sluices,
  }
}

/** The same without a config table, of which nothing may be left. */
export const withClients = <T>(
  session: Session,
  where: TableOptions,
  apiId: string,
  work: (clients: Clients) => Promise<T>,
): Promise<T> => withAws(session, where, async (aws) => work({ ...aws, control: await findApi(apiId, aws, aws.calls) }))

/** The same for any number of APIs. */
export async function withAws<T>(session: Session, where: TableOptions, work: (aws: Aws) => Promise<T>): Promise<T> {
  const connection = session.connect(where)
  const region = await connection.region()
  const settings = { region, requestHandler: TIMEOUTS }
  const rest = new APIGatewayClient(settings)
  const http = new ApiGatewayV2Client(settings)
  const lambda = new LambdaClient(settings)
  const cloudFormation = new CloudFormationClient(settings)
  try {
    const calls = new Calls((text) => session.print.note(text))
    const sluices = (authorizers: readonly Authorizer[]) =>
      findSluices(authorizers, (arn) => lookAt(lambda, calls, region, arn))
    return await work({ connection, calls, region, rest, http, lambda, cloudFormation, sluices })
  } finally {
    for (const client of [rest, http, lambda, cloudFormation]) client.destroy()
  }
}

/** The API; throws if it does not exist. */
export function existing({ control, region }: Pick<OpenedApi, 'control' | 'region'>, apiId: string): ApiControl {
  if (!control) throw new UserError(`there is no API ${apiId} in ${region}: check the id and --region`)
  return control
}

/** Looks at an authorizer's function, which may be anybody's. */
async function lookAt(
  lambda: Pick<LambdaClient, 'send'>,
  calls: Calls,
  region: string,
  functionArn: string,
): Promise<SeenFunction> {
  if (parseFunctionArn(functionArn)?.region !== region)
    return { is: 'hidden', why: new UserError(`function ${functionArn} is not in ${region}`) }
  try {
    const { Environment } = await calls.make('lambda:GetFunctionConfiguration', `function ${functionArn}`, () =>
      lambda.send(new GetFunctionConfigurationCommand({ FunctionName: functionArn })),
    )
    return { is: 'there', configTable: Environment?.Variables?.SLUICE_CONFIG_TABLE }
  } catch (error) {
    return seenAs(error)
  }
}
