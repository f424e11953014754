import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerParent } from '../answer'
import { eventOf } from '../authorizer-event'

/** The fields of an HTTP API authorizer's answer that the bench reads. */
type Handler = (
  event: unknown,
) => Promise<{ readonly isAuthorized: boolean; readonly context: { readonly degraded: boolean } }>

const { handler } = require(process.argv[2]!) as { handler: Handler }

/** One event at a time, as Lambda hands them to an instance. */
let idle: Promise<unknown> = Promise.resolve()

/** 200 for an allowed request, 429 for a denied one, 500 for a decision that was made without the table. */
async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const apiKey = String(incoming.headers['x-api-key'])
  const event = eventOf({ path: incoming.url ?? '/', ip: '198.51.100.7', apiKey })
  const decided = idle.then(() => handler(event))
  idle = decided.catch(() => {})
  const status = await decided.then(
    ({ isAuthorized, context }) => (context.degraded ? 500 : isAuthorized ? 200 : 429),
    () => 500,
  )
  response.writeHead(status).end()
}

/**
 * The bundle's handler behind a minimal server, in a process of its own. It tells its parent the port, and
 * the processor time that it has used, in microseconds.
 */
const server = createServer((incoming, response) => void serve(incoming, response))
const listening = new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
})

answerParent<{ readonly id: number; readonly ask: 'port' | 'cpu' }>(async ({ ask }) => {
  if (ask === 'port') return listening
  const { user, system } = process.cpuUsage()
  return user + system
})
