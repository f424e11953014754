import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { Io } from '../terminal/io'
import { announcedGateways, type LocalGateway } from './gateway-files'
import { isLoopback } from './local-engine'

/** A gateway on this machine answers at once, unless the machine is busy. */
const TIMEOUT_MS = 3000

/** Options by which a command says where its tables, or the requests that it reads, are. */
type Where = {
  readonly [name in
    | 'endpoint'
    | 'region'
    | 'table'
    | 'stateTable'
    | 'stack'
    | 'limiter'
    | 'gateway'
    | 'logGroup'
    | 'log']?: string | readonly string[]
}

/**
 * The local gateway that runs, of those that announced themselves; undefined where there is none.
 *
 * @throws UserError where several run
 */
export async function onlyGateway(env: Io['env']): Promise<LocalGateway | undefined> {
  const running = await runningOf(announcedGateways(env))
  if (running.length <= 1) return running[0]
  const names = running.map(({ address, dynamodb }) => `${address} (--endpoint ${dynamodb})`)
  throw new UserError(`several local gateways run, choose one: ${names.join(', ')}`)
}

/** Those that answer as they announced: on the port of a gateway that is gone there may be another. */
async function runningOf(announced: readonly LocalGateway[]): Promise<LocalGateway[]> {
  const answers = await Promise.all(announced.map(({ address }) => runningGateway(address)))
  return announced.filter(({ dynamodb }, at) => answers[at]?.dynamodb === dynamodb)
}

/** The local gateway that runs at an address; undefined where there is none. */
export async function runningGateway(address: string): Promise<LocalGateway | undefined> {
  try {
    const answer = await fetch(`${address}/_local/gateway`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { dynamodb } = (await answer.json()) as { readonly dynamodb?: unknown }
    const isOurs = typeof dynamodb === 'string' && /^https?:\/\//.test(dynamodb) && isLoopback(dynamodb)
    return isOurs ? { address, dynamodb } : undefined
  } catch {
    return undefined
  }
}

/** The address that `--gateway` says. @throws UserError for one that is not on this machine */
export function gatewayAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' || !isLoopback(text))
    throw new UserError(
      `--gateway must be the address of sluice dev on this machine, such as http://localhost:3000, got ${printed(text)}`,
    )
  return url.origin
}

/**
 * The local gateway that announced that its own DynamoDB is at this URL of this machine; undefined where none did that
 * runs.
 *
 * @throws UserError where several did
 */
export async function gatewayOfEngine(endpoint: string, env: Io['env']): Promise<LocalGateway | undefined> {
  const { port } = new URL(endpoint)
  const running = await runningOf(announcedGateways(env).filter(({ dynamodb }) => new URL(dynamodb).port === port))
  if (running.length <= 1) return running[0]
  const names = running.map(({ address }) => `--gateway ${address}`)
  throw new UserError(`several local gateways use ${endpoint}, choose one: ${names.join(', ')}`)
}

/** Whether a command reads a log that was named, and so no local gateway's requests or tables. */
export const isLogNamed = ({ log, logGroup }: Where): boolean => Boolean(log || logGroup)

/**
 * The local gateway whose tables a command means: where neither options nor the environment say where the tables are,
 * and there is no AWS to ask, for lack of a Region or of credentials. With both, `Connection` names what it could be.
 */
export async function meantGateway(where: Where, env: Io['env']): Promise<LocalGateway | undefined> {
  const { endpoint, region, table, stateTable, stack, limiter, gateway: named } = where
  const given = [endpoint, region, table, stateTable, stack, limiter, named, env.SLUICE_DYNAMODB_ENDPOINT]
  if (isLogNamed(where) || [...given, env.SLUICE_CONFIG_TABLE, env.SLUICE_STATE_TABLE].some(Boolean)) return undefined
  const gateway = await onlyGateway(env)
  return gateway === undefined || (await isAwsSetUp(env)) ? undefined : gateway
}

async function isAwsSetUp(env: Io['env']): Promise<boolean> {
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION
  const client = new CloudFormationClient(region ? { region } : {})
  try {
    await client.config.region()
    await client.config.credentials()
    return true
  } catch {
    return false
  } finally {
    client.destroy()
  }
}
