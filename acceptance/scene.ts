import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import { ApiGatewayV2Client } from '@aws-sdk/client-apigatewayv2'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { clientKey } from '../lambda/config-table/items/config-keys'
import { hashApiKey } from '../lambda/identity/api-key'
import type { Account } from './account'
import type { TIERS } from './tiers'
import { Traffic } from './traffic'

export const ROOT = join(__dirname, '..')

/** What was deployed, by the names of the stacks' outputs. */
export interface Outputs {
  readonly sample: { readonly ApiUrl: string; readonly AuthorizerFunctionArn: string }
  readonly limiter: Readonly<
    Record<
      | 'RestUrl'
      | 'TargetUrl'
      | 'ProbeUrl'
      | 'HttpUrl'
      | 'HttpTargetUrl'
      | 'HttpProbeUrl'
      | 'ConfigTable'
      | 'Function'
      | 'LogGroup'
      | 'KeyId',
      string
    >
  >
  readonly other: { readonly SocketUrl: string; readonly LeftUrl: string }
}

/** Clients of the services that checks ask, of the account and Region of the environment. */
export class Clients {
  readonly rest = new APIGatewayClient()
  readonly http = new ApiGatewayV2Client()
  readonly stacks = new CloudFormationClient()
  readonly lambda = new LambdaClient()
  readonly tables = new DynamoDBClient()
  /** Its failures are looked at one by one. */
  readonly once = new DynamoDBClient({ maxAttempts: 1 })

  destroy(): void {
    for (const client of [this.rest, this.http, this.stacks, this.lambda, this.tables, this.once]) client.destroy()
  }
}

/** What checks look at, and with. */
export class Scene {
  readonly traffic: Traffic
  readonly isEmulator: boolean

  constructor(
    readonly name: string,
    readonly account: Account,
    readonly outputs: Outputs,
    readonly clients: Clients,
    readonly env: NodeJS.ProcessEnv,
    /** Deploys the stack of other APIs with its `protect()` taken out of the HTTP API. */
    readonly unprotect: () => Promise<void>,
  ) {
    this.isEmulator = account.isEmulator
    this.traffic = new Traffic(env.AWS_ENDPOINT_URL)
  }

  /** A client that nobody else is: what its requests show. */
  async newCaller(tier: keyof (typeof TIERS)['tiers']): Promise<Readonly<Record<string, string>>> {
    const key = `acceptance-${randomBytes(16).toString('hex')}`
    const item = { ...clientKey(hashApiKey(key)), id: `acceptance-${randomBytes(6).toString('hex')}`, tier }
    const documents = DynamoDBDocumentClient.from(this.clients.tables)
    await documents.send(new PutCommand({ TableName: this.outputs.limiter.ConfigTable, Item: item }))
    return { 'x-api-key': key }
  }

  /** Runs the command line as an operator would, with the limiter that was deployed. */
  sluice(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    const command = [join(ROOT, 'bin', 'sluice.js'), ...args, '--limiter', `${this.name}-limiter`]
    return new Promise((resolve) => {
      execFile(process.execPath, command, { env: this.env, maxBuffer: 2 ** 26 }, (error, out, err) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
      )
    })
  }
}

/** Such as `a1b2c3d4e5` in its URL. */
export const apiIdIn = (url: string): string => new URL(url).hostname.split('.')[0]!
