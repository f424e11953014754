import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { gatewayPortsOf } from '../dev-options'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { Io } from '../terminal/io'
import { announcedGateways, type LocalGateway } from './gateway-files'
import { isLoopback } from './local-engine'

/** The port at which `sluice dev` listens, and at which it is looked for, if no option says another. */
export const usualPort = (env: Io['env']): string => env.PORT || '3000'

/** A gateway on this machine answers at once. */
const TIMEOUT_MS = 300

/** Options by which a command says where its tables are. */
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
 * The local gateway that runs: on port `PORT`, else on any, of those that announced themselves; undefined where there
 * is none.
 *
 * @throws UserError where several run
 */
export async function usualGateway(env: Io['env']): Promise<LocalGateway | undefined> {
  const running = await runningGateways(env)
  if (running.length <= 1) return running[0]
  const names = running.map(({ address, dynamodb }) => `${address} (--endpoint ${dynamodb})`)
  throw new UserError(`several local gateways run, choose one: ${names.join(', ')}`)
}

async function runningGateways(env: Io['env']): Promise<LocalGateway[]> {
  const announced = env.PORT ? [] : announcedGateways(env)
  const addresses = new Set([`http://localhost:${usualPort(env)}`, ...announced.map(({ address }) => address)])
  const answers = await Promise.all([...addresses].map(runningGateway))
  // what answers on the port of a gateway that is gone is another, or none
  return answers.flatMap((one) => {
    const said = announced.find(({ address }) => address === one?.address)
    return one && (said === undefined || said.dynamodb === one.dynamodb) ? [one] : []
  })
}

const gatewayOnPort = (port: string | number) => runningGateway(`http://localhost:${port}`)

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

/** The local gateway whose own DynamoDB this is; undefined where none says so. */
export async function gatewayOfEngine(endpoint: string, env: Io['env']): Promise<LocalGateway | undefined> {
  const { host, port } = new URL(endpoint)
  const isIts = ({ dynamodb }: LocalGateway) => new URL(dynamodb).host === host
  for (const { address } of announcedGateways(env).filter(isIts)) {
    const running = await runningGateway(address)
    if (running && isIts(running)) return running
  }
  for (const own of [usualPort(env), ...gatewayPortsOf(Number(port))]) {
    const running = await gatewayOnPort(own)
    if (running && isIts(running)) return running
  }
  return undefined
}

/**
 * The local gateway whose tables a command means: where neither options nor the environment say where the tables are,
 * and there is no AWS to ask, for lack of a Region or of credentials. With both, `Connection` names what it could be.
 */
export async function meantGateway(where: Where, env: Io['env']): Promise<LocalGateway | undefined> {
  const { endpoint, region, table, stateTable, stack, limiter, gateway: named, logGroup, log } = where
  const given = [
    endpoint,
    region,
    table,
    stateTable,
    stack,
    limiter,
    named,
    logGroup,
    log,
    env.SLUICE_DYNAMODB_ENDPOINT,
  ]
  if ([...given, env.SLUICE_CONFIG_TABLE, env.SLUICE_STATE_TABLE].some(Boolean)) return undefined
  const gateway = await usualGateway(env)
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
