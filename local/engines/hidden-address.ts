import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { StartError } from '../start-error'
import type { EngineAddress } from './engine'

/** An address for an engine that no web page reaches. */
export interface HiddenAddress extends EngineAddress {
  /** Releases it. */
  release(): void
}

/**
 * Ports to which no browser connects for a page, whatever its origin. They come in pairs: the engine listens on the
 * first; this process holds the second for as long, so that two gateways that start at once never choose one engine.
 *
 * @see https://fetch.spec.whatwg.org/#port-blocking
 */
const PAIRS = [
  [6666, 6665],
  [6668, 6667],
  [6669, 6697],
  [6000, 6566],
  [10080, 5060],
  [4045, 5061],
] as const

/**
 * An address on this machine for an engine that answers every client. Its port is one that browsers refuse, and if the
 * system has all of 127.0.0.0/8 (Linux and Windows do) its address is one of 16 million.
 *
 * @param first the address to try before 127.0.0.1. @default a random one
 */
export async function hiddenAddress(first = randomLoopback()): Promise<HiddenAddress> {
  for (const host of [first, '127.0.0.1']) {
    for (const [port, held] of PAIRS) {
      const hold = await listen(host, held)
      if (hold === undefined) continue
      const probe = await listen(host, port)
      if (probe === undefined) {
        hold.close()
        continue
      }
      await new Promise((resolve) => probe.close(resolve))
      return { host, port, release: () => void hold.close() }
    }
  }
  const ports = PAIRS.map(([port]) => port).join(', ')
  throw new StartError(
    `the DynamoDB engine needs one of the ports ${ports}, and all are taken: stop a gateway, or name a DynamoDB that runs with SLUICE_DYNAMODB_ENDPOINT`,
  )
}

const randomLoopback = () => `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`

/** `undefined` if the address is taken, or does not exist. */
async function listen(host: string, port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).unref()
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined))
    server.listen({ host, port, exclusive: true }, () => resolve(server))
  })
}
