import { systemClock } from '../limiter/clock'
import { DirectCalls } from '../limiter/stores/direct-calls'
import { beginReadings } from './config-table/first-readings'
import { config as readConfig } from './environment'
import type { AuthorizerAnswer } from './responses/answers'

/**
 * What an instance does first: it asks the config table, and loads the code that decides until that answers. All is made
 * once, and lives as long as the instance.
 */
const config = readConfig()
const calls = new DirectCalls({ endpoint: config.dynamodbEndpoint })
const first = beginReadings(calls, config.configTable, systemClock)

/** Resolves when the event loop has turned once: by then the questions are on their way. */
const asked = new Promise<void>((resolve) => setImmediate(resolve))

let authorizer: ((event: unknown) => Promise<AuthorizerAnswer>) | undefined

async function load() {
  await asked
  const { assembleAuthorizer } = await import('./assemble-authorizer.ts')
  authorizer ??= assembleAuthorizer(config, calls, first)
  return authorizer
}
load().catch(() => {}) // the requests try again

/** Lambda's entry point. */
export const handler = async (event: unknown): Promise<AuthorizerAnswer> => (authorizer ?? (await load()))(event)
