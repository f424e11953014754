import { systemClock } from '../limiter/clock'
import { Lazy } from '../limiter/lazy'
import { DirectCalls } from '../limiter/stores/direct-calls'
import { beginReadings, type FirstReadings } from './config-table/first-readings'
import { config as readConfig } from './environment'
import type { AuthorizerAnswer } from './responses/answers'

/** What lives as long as the instance, and is made once. */
const config = readConfig()
const calls = new DirectCalls({ endpoint: config.dynamodbEndpoint })
let first: FirstReadings | undefined

/** Asks the config table, and loads the code that decides until that answers. */
const authorizer = new Lazy(async () => {
  first ??= beginReadings(calls, config.configTable, systemClock)
  await new Promise((resolve) => setImmediate(resolve)) // until the event loop has turned, and the questions are sent
  const { assembleAuthorizer } = await import('./assemble-authorizer.ts')
  return assembleAuthorizer(config, calls, first)
})
authorizer.preload() // while the instance starts, without any request

/** Lambda's entry point. */
export const handler = async (event: unknown): Promise<AuthorizerAnswer> => (await authorizer.get())(event)
