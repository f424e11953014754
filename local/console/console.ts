import { isLoopback } from '../../cli/tables/local-engine'
import type { Hello, LastAnswer, Standing } from '../../pages/console/protocol'
import type { Decided } from '../gateway/decided'
import { BreakableDynamoDb } from './breakable-dynamodb'
import { createCallers } from './callers'
import type { ConsoleOptions } from './console-options'
import { endpointsOf } from './endpoints'
import { EventStreams } from './event-stream'
import { Firing } from './firing'
import type { Endpoint } from './pages'
import { Record } from './record'
import { TierChanges } from './tier-changes'

/** The server side of the page: endpoints and events. */
export interface Console {
  /** DynamoDB as the authorizer instances see it: behind the counting proxy once the page is used. */
  readonly dynamodb: string
  /** Whether the page is used. */
  readonly isWatched: boolean
  readonly endpoints: ReadonlyMap<string, Endpoint>
  decided(decided: Decided): void
  /** Records an event of an authorizer's log. */
  logged(event: string): void
  /** Ends the streams and the requests being sent, without waiting. */
  stop(): void
  /** Ends the rest, once no request is under way. */
  close(): Promise<void>
}

/** The shortest time between two updates of a page. */
const TELL_EVERY_MS = 150

/** The console behind its page. Nothing of it runs, and no proxy is before DynamoDB, until the page is opened. */
export function createConsole(options: ConsoleOptions): Console {
  const { engine, calls } = options
  const isLocal = isLoopback(engine.endpoint) && engine.endpoint.startsWith('http:')
  const record = new Record(Date.now)
  const dynamodb = new BreakableDynamoDb(engine.direct, () => changed())
  const callers = createCallers(
    options,
    (prefixes) => dynamodb.know(prefixes),
    (keys) => dynamodb.knowShared(keys),
  )
  const changes = new TierChanges({ ...options, changed: () => changed() })
  let last: LastAnswer | null = null
  let isChanged = false
  let timer: NodeJS.Timeout | undefined
  let watching: Promise<void> | undefined

  const standing = (): Standing => ({
    now: Date.now(),
    ...record.counts,
    backendCalls: calls.toJSON().total,
    ...dynamodb.standing,
    instances: options.instances,
    circuitsOpen: record.circuitsOpen,
    firing: firing.shot,
    change: changes.last,
    last: last && { ...last, decision: record.decisionOf(idOf(last)) },
  })
  const hello = (): Hello => {
    record.takeNew() // which are in it
    return {
      samples: options.samples,
      callers: callers.all,
      keyHeader: options.keyHeader,
      api: options.api,
      url: `http://localhost:${options.port()}`,
      isLocal,
      tallies: record.tallies,
      standing: standing(),
    }
  }
  const streams = new EventStreams(hello)
  const tell = () => {
    timer = undefined
    if (!isChanged || streams.size === 0) return
    isChanged = false
    const tallies = record.takeNew()
    if (tallies.length > 0) streams.send('tallies', tallies)
    streams.send('standing', standing())
  }
  const changed = () => {
    isChanged = true
    if (streams.size > 0) timer ??= setTimeout(tell, TELL_EVERY_MS)
  }
  const firing = new Firing({
    port: options.port,
    keyHeader: options.keyHeader,
    targetOf: (route) => options.samples.find((one) => one.route === route)!.target,
    answered: (answer) => {
      last = answer
      changed()
    },
    changed,
    clock: Date.now,
    random: Math.random,
  })
  const watch = () => {
    if (!isLocal) return Promise.resolve()
    watching ??= (async () => {
      await dynamodb.listen()
      record.beginWatching()
      await options.replaceInstances()
      changed()
    })().catch((error) => {
      watching = undefined
      throw error
    })
    return watching
  }

  return {
    get dynamodb() {
      return dynamodb.endpoint
    },
    get isWatched() {
      return watching !== undefined
    },
    endpoints: endpointsOf({ streams, firing, dynamodb, callers, changes, options, isLocal, watch, changed }),
    decided(one) {
      record.decided(one)
      changed()
    },
    logged(event) {
      record.logged(event)
      changed()
    },
    stop() {
      clearTimeout(timer)
      firing.close()
      streams.close()
    },
    close: () => dynamodb.close(),
  }
}

/** API Gateway's id of a request. */
const idOf = ({ headers }: LastAnswer): string =>
  headers.find(([name]) => ['x-amzn-requestid', 'apigw-requestid'].includes(name.toLowerCase()))?.[1] ?? ''
