import { readFileSync } from 'node:fs'
import { printed } from '../../limiter/errors'
import { RateLimiter } from '../../limiter/rate-limiter'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { decideEvent, type EventDecision } from '../callers/decide-event'
import { EXAMPLE_EVENT } from '../callers/example-event'
import { ipv6Prefix } from '../callers/limits'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import type { Connection } from '../tables/connection'
import { type Check, checkClients, checkClock, checkConfiguration, checkTable, checkTimeToLive } from '../tables/health'
import { checkHmacKey } from '../tables/hmac-key'
import { isLoopback } from '../tables/local-engine'

interface Options extends OutputOptions {
  readonly event?: string
  readonly exampleEvent?: boolean
}

const COLOURS = { ok: 'green', warning: 'yellow', FAILED: 'red' } as const

export const addDoctor: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'doctor',
    'Check tables, time to live, configuration, clients and clock. The exit code is 1 if a check fails.',
    ['sluice doctor', 'sluice doctor --example-event > event.json', 'sluice doctor --event event.json'],
  )
    .option('--event <file>', 'explain how this authorizer event (a JSON file) would be decided; nothing is charged')
    .option('--example-event', 'print an event to start from, for --event; needs no table')
    .action(async (options: Options) => {
      if (options.exampleEvent) return session.print.json(EXAMPLE_EVENT)
      const event = options.event === undefined ? undefined : readEvent(options.event)
      const connection = session.connect(options)
      const configTable = await connection.tableName('config')
      const stateTable = await connection.tableName('state')
      const checks = await examine(connection, configTable, stateTable, session)
      const decision = event && (await decide(event.content, connection, configTable, stateTable, session))
      if (decision) checks.push(asCheck(decision))
      if (options.json) session.print.json({ healthy: isHealthy(checks), checks, ...(decision && { event: decision }) })
      else {
        for (const check of checks) show(check, session)
        if (decision) explain(decision, session)
      }
      if (!isHealthy(checks)) throw new UserError('checks failed')
    })
}

async function examine(
  connection: Connection,
  configTable: string,
  stateTable: string,
  { io }: Session,
): Promise<Check[]> {
  const { client, endpoint } = connection
  const table = await connection.configTable()
  const where = endpoint ?? `DynamoDB in ${await connection.region()}`
  return [
    { name: 'connection', status: 'ok', found: `${where}; tables named by ${connection.foundBy()}` },
    await checkTable(client, configTable, 'config'),
    await checkTable(client, stateTable, 'state'),
    await checkTimeToLive(client, stateTable, endpoint !== undefined && isLoopback(endpoint)),
    ...(await checkConfiguration(table)),
    await checkClients(table, io.clock),
    await checkHmacKey(table, io.clock),
    await checkClock(client, configTable, io.clock),
  ]
}

function decide(
  event: unknown,
  { client }: Connection,
  configTable: string,
  tableName: string,
  session: Session,
): Promise<EventDecision> {
  const { clock } = session.io
  const limiter = new RateLimiter({
    store: new DynamoDbStore({ client, tableName }),
    clock,
    deadlineMs: 10_000,
    onStoreError: 'throw',
  })
  return decideEvent(event, { client, configTable, limiter, clock, ipv6Prefix: ipv6Prefix(session) })
}

/** A denial is a valid result; being unable to decide is a failed check. */
function asCheck({ context, logged, unverified }: EventDecision): Check {
  if (unverified) {
    const found = ['denied (unverified): 500, callers cannot be verified at the moment', ...logged].join('; ')
    return { name: 'event', status: 'FAILED', found, remedy: 'see the checks above' }
  }
  if (!context)
    return {
      name: 'event',
      status: 'ok',
      found: 'denied (unauthorized): 401, this request needs valid credentials',
    }
  const { reason, allowed, detail } = context
  const found = `${allowed ? 'allowed' : 'denied'} (${reason}): ${detail}`
  if (reason === 'malformed')
    return {
      name: 'event',
      status: 'FAILED',
      found,
      remedy: 'it must be an event that API Gateway sends to a REQUEST authorizer',
    }
  if (reason === 'unavailable' || reason === 'unverified')
    return { name: 'event', status: 'FAILED', found: [found, ...logged].join('; '), remedy: 'see the checks above' }
  return { name: 'event', status: 'ok', found }
}

function show({ name, status, found, remedy }: Check, { print }: Session): void {
  print.line(`${print.style(COLOURS[status], status.padEnd(8))}${name}: ${found}`)
  if (remedy !== undefined) print.line(`        ${print.style('bold', 'do')}: ${remedy}`)
}

function explain({ request, api, identity, tier, route, policies, context }: EventDecision, { print }: Session): void {
  if (request === undefined) return
  print.table(
    ['event', ''],
    [
      ['request', request],
      ['API', api ?? 'not in the event'],
      ['identity', identity],
      ['tier', tier || '-'],
      ['route', route ?? 'none is configured for it'],
      ['policies', policies.join(', ') || '-'],
      ['decided by', context?.policy || '-'],
      ['remaining', context?.policy ? `${context.remaining} of ${context.limit}` : '-'],
    ],
  )
}

const isHealthy = (checks: readonly Check[]): boolean => checks.every(({ status }) => status !== 'FAILED')

/** In an object, because an event may be anything. */
function readEvent(path: string): { readonly content: unknown } {
  try {
    return { content: JSON.parse(readFileSync(path, 'utf8')) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? 'there is no such file' : message
    throw new UserError(
      `--event must be a JSON file with an event that API Gateway sends to a REQUEST authorizer, got ${printed(path)}: ${what}; sluice doctor --example-event prints one`,
    )
  }
}
