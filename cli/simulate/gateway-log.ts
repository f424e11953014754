import { Readable } from 'node:stream'
import { FORGOTTEN } from '../../provisioning/access-log'
import { failureOf, ServiceError, UserError } from '../exit'

const TIMEOUT_MS = 30_000

/** What a local gateway remembers of its requests. */
export interface GatewayLog {
  readonly title: string
  readonly text: Readable
  /** Requests before those that it remembers. */
  readonly forgotten: number
}

/**
 * Reads the access log of a local gateway.
 *
 * @param address such as `http://localhost:3000`.
 */
export async function readGatewayLog(address: string): Promise<GatewayLog> {
  let response: Response
  let text: string
  try {
    response = await fetch(`${address}/_local/access-log`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    text = await response.text()
  } catch (error) {
    const why = error instanceof Error && error.cause ? error.cause : error
    throw new ServiceError(`no local gateway answers at ${address}: ${failureOf(why).message.split('\n')[0]}`)
  }
  const forgotten = response.headers.get(FORGOTTEN)
  if (!response.ok || forgotten === null || !/^\d+$/.test(forgotten))
    throw new UserError(`${address} does not answer as sluice dev of this version does (status ${response.status})`)
  if (text === '')
    throw new UserError(`the local gateway at ${address} has had no request since it started: send it some`)
  return { title: `the local gateway at ${address}`, text: Readable.from([text]), forgotten: Number(forgotten) }
}
