import { systemClock } from '../limiter/clock'
import { DirectCalls } from '../limiter/stores/direct-calls'
import { beginReadings, type FirstReadings } from './config-table/first-readings'
import { config as readConfig } from './environment'
import type { AuthorizerAnswer } from './responses/answers'

/** What lives as long as the instance, and is made once. */
const config = readConfig()
const calls = new DirectCalls({ endpoint: config.dynamodbEndpoint })
let first: FirstReadings | undefined
let authorizer: ((event: unknown) => Promise<AuthorizerAnswer>) | undefined

/** Asks the config table, and loads the code that decides until that answers. What fails is loaded at the next call. */
async function load() {
  first ??= beginReadings(calls, config.configTable, systemClock)
  await new Promise((resolve) => setImmediate(resolve)) // until the event loop has turned, and the questions are sent
  const { assembleAuthorizer } = await import('./assemble-authorizer.ts')
  authorizer ??= assembleAuthorizer(config, calls, first)
  return authorizer
}
// While the instance starts, without any request; those that come before it is there, or where it failed, call again.
Promise.resolve()
  .then(load)
  .catch(() => {})

/** Lambda's entry point. */
export const handler = async (event: unknown): Promise<AuthorizerAnswer> => (authorizer ?? (await load()))(event)
