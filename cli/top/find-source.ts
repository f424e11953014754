import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { Calls } from '../attach/calls'
import { TIMEOUTS } from '../attach/open'
import type { Session } from '../command'
import { UserError } from '../exit'
import type { Connection, TableOptions } from '../tables/connection'
import { isLoopback } from '../tables/local-engine'
import { gatewayAddress, gatewayOfEngine, runningGateway } from '../tables/local-gateway'
import type { Io } from '../terminal/io'
import { GatewaySource } from './gateway-source'
import { LogSource } from './log-source'
import type { Source } from './source'

/** Where denials are to be heard of. */
export interface SourceOptions extends TableOptions {
  readonly gateway?: string
  readonly logGroup?: string
}

export interface OpenedSource {
  readonly source: Source
  /** To the tables that know callers. */
  readonly connection: Connection
}

/**
 * Finds where denials are told: the local gateway or the log group that is named; else the local gateway whose tables
 * are meant, else the log of the limiter that is.
 */
export async function findSource(session: Session, options: SourceOptions): Promise<OpenedSource> {
  const { gateway, logGroup } = options
  if (gateway !== undefined && logGroup !== undefined)
    throw new UserError('--gateway and --log-group are two sources of denials: leave one out')
  if (gateway !== undefined) {
    const address = gatewayAddress(gateway)
    // Its tables are in its own DynamoDB, unless the options say where.
    if (!options.endpoint) session.gateway = await runningGateway(address)
    return { source: new GatewaySource(address), connection: session.connect(options) }
  }
  if (session.gateway)
    return { source: new GatewaySource(session.gateway.address), connection: session.connect(options) }
  const connection = session.connect(options)
  if (logGroup !== undefined) return { source: logOf(session, connection, logGroup), connection }
  if (connection.endpoint !== undefined && isLoopback(connection.endpoint) && !options.stack && !options.limiter)
    return { source: await gatewayOf(connection.endpoint, session.io.env), connection }
  return { source: logOf(session, connection, await logGroupOf(session, connection)), connection }
}

async function gatewayOf(endpoint: string, env: Io['env']): Promise<Source> {
  const running = await gatewayOfEngine(endpoint, env)
  if (running) return new GatewaySource(running.address)
  throw new UserError(
    `the source of denials of the limiter at ${endpoint} is unknown: name the local gateway with --gateway http://localhost:PORT, or its log with --log-group`,
  )
}

function logOf(session: Session, { client, endpoint }: Connection, name: string): Source {
  const { env, clock } = session.io
  return new LogSource(name, {
    client,
    endpoint: env.AWS_ENDPOINT_URL_CLOUDWATCH_LOGS || endpoint || env.AWS_ENDPOINT_URL || undefined,
    clock,
    tell: (text) => session.print.note(text),
  })
}

/** The log group of the limiter's function. */
async function logGroupOf(session: Session, connection: Connection): Promise<string> {
  await connection.tableName('config')
  const { functionArn } = (await connection.foundLimiter()) ?? {}
  if (functionArn === undefined)
    throw new UserError(
      `nothing says which log to read, since ${connection.foundBy()} named the tables: name it with --log-group, or the limiter with --limiter`,
    )
  const { region, credentials } = connection.client.config
  const lambda = new LambdaClient({ region, credentials, endpoint: connection.endpoint, requestHandler: TIMEOUTS })
  try {
    const calls = new Calls((text) => session.print.note(text))
    const { LoggingConfig, FunctionName } = await calls.make(
      'lambda:GetFunctionConfiguration',
      `function ${functionArn}`,
      () => lambda.send(new GetFunctionConfigurationCommand({ FunctionName: functionArn })),
    )
    return LoggingConfig?.LogGroup ?? `/aws/lambda/${FunctionName}`
  } finally {
    lambda.destroy()
  }
}
