import { readFileSync } from 'node:fs'
import { checkFunction } from '../attach/function-check'
import { decideEvent, type EventDecision } from '../callers/decide-event'
import { entryText } from '../callers/deciding-entry'
import { EXAMPLE_EVENT } from '../callers/example-event'
import { ipv6Prefix, reservationText } from '../callers/limits'
import { unitsText } from '../callers/named-costs'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { type OpenReservations, reservationsOf } from '../facade/counters'
import { limiterOver } from '../facade/decisions'
import { DynamoDbStore, HMAC_RING, SIGNING_RING } from '../facade/tables'
import { printed } from '../facade/values'
import { brokenItem } from '../tables/broken-items'
import { checkCallers } from '../tables/callers-check'
import { type Check, notChecked } from '../tables/check'
import type { Connection } from '../tables/connection'
import { checkConnection } from '../tables/connection-check'
import { checkClock, checkConfiguration, checkTable, OF_SETTINGS } from '../tables/health'
import { checkKeyRing } from '../tables/key-ring'
import { checkLeftBehind } from '../tables/left-behind'
import { isLoopback } from '../tables/local-engine'
import { checkAuditTimeToLive, checkTimeToLive } from '../tables/time-to-live'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly event?: string
  readonly exampleEvent?: boolean
  readonly remove?: string
  readonly yes?: boolean
}

/** The most urgent first, as people read them. */
const COLOURS = { FAILED: 'red', warning: 'yellow', skipped: 'dim', ok: 'green' } as const
const URGENCY = Object.keys(COLOURS)

export const addDoctor: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'doctor',
    'Check tables, function, configuration, clients and clock. Exit code 1: a check fails.',
    ['sluice doctor', 'sluice doctor --example-event > event.json', 'sluice doctor --event event.json'],
  )
    .option('--event <file>', 'explain how an authorizer event (a JSON file) would be decided; charges nothing')
    .option('--example-event', 'print an event to start from; needs no table')
    .option('--remove <item>', 'remove an invalid item that a check names')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (options: Options) => {
      if (options.exampleEvent) return session.print.json(EXAMPLE_EVENT)
      const event = options.event === undefined ? undefined : readEvent(options.event)
      const connection = session.connect(options)
      if (options.remove !== undefined) return remove(options.remove, connection, session, options)
      const configTable = await connection.tableName('config')
      const stateTable = await connection.tableName('state')
      const { checks: examined, canDecide } = await examine(connection, configTable, stateTable, session)
      const decision =
        event && canDecide ? await decide(event.content, connection, configTable, stateTable, session) : undefined
      const ofEvent = decision ? [asCheck(decision)] : notChecked(event ? ['event'] : [], 'see config table')
      const checks = [...examined, ...ofEvent]
      if (options.json) session.print.json({ healthy: isHealthy(checks), checks, ...(decision && { event: decision }) })
      else {
        for (const check of [...checks].sort(byUrgency)) show(check, session)
        if (decision) explain(decision, session)
      }
      if (!isHealthy(checks)) throw new UserError('checks failed')
    })
}

/** @returns also whether requests can be decided with what the tables say. */
async function examine(
  connection: Connection,
  configTable: string,
  stateTable: string,
  { io, print }: Session,
): Promise<{ readonly checks: readonly Check[]; readonly canDecide: boolean }> {
  const { client, endpoint } = connection
  const table = await connection.configTable()
  const where = endpoint ?? `DynamoDB in ${await connection.region()}`
  const found = `${where}; tables named by ${connection.foundBy()}`
  const connected = await checkConnection(client, configTable, found, endpoint)
  const authorizer = await checkFunction(connection, (text) => print.note(text))
  if (connected.status === 'FAILED') {
    const names = ['config table', 'state table', ...OF_STATE_TABLE, ...OF_CONFIG_TABLE, 'clock']
    return { checks: [connected, ...authorizer, ...notChecked(names, 'see connection')], canDecide: false }
  }
  const [config, hasConfig] = await checkTable(client, configTable, 'config')
  const [state, hasState] = await checkTable(client, stateTable, 'state')
  const isOwn = endpoint !== undefined && isLoopback(endpoint)
  const checks = [
    connected,
    ...authorizer,
    config,
    state,
    ...(hasState ? [await checkTimeToLive(client, stateTable, isOwn)] : notChecked(OF_STATE_TABLE, 'see state table')),
    ...(hasConfig
      ? [
          ...(await checkConfiguration(table)),
          ...(await checkCallers(table, io.clock)),
          await checkKeyRing(HMAC_RING, table, io.clock),
          await checkKeyRing(SIGNING_RING, table, io.clock),
          await checkAuditTimeToLive(client, configTable, isOwn),
        ]
      : notChecked(OF_CONFIG_TABLE, 'see config table')),
    ...(hasConfig || hasState
      ? [await checkClock(client, hasConfig ? configTable : stateTable, io.clock)]
      : notChecked(['clock'], 'see the tables')),
    ...(await checkLeftBehind(connection)),
  ]
  return { checks, canDecide: hasConfig }
}

/** Removes an item that is invalid, and that no other command removes. */
async function remove(name: string, connection: Connection, { io, print }: Session, options: Options): Promise<void> {
  const table = await connection.configTable()
  const { item, exact } = await brokenItem(table, name)
  await confirm(`Remove ${printed(name)}, which is not in force?`, io, options, () => connection.describe('config'))
  const key = { pk: item.pk, sk: item.sk }
  await io.interrupts.during(() => table.write([{ key, before: exact }]))
  if (options.json) print.json({ removed: name })
  else print.line(`${printed(name)} is removed`)
}

const OF_STATE_TABLE = ['time to live']
const OF_CONFIG_TABLE = ['configuration', ...OF_SETTINGS, 'clients', 'HMAC key', 'signing key', 'audit trail']

/** How an event would be decided, and what its caller holds already. */
interface Explained extends EventDecision {
  readonly reservations?: OpenReservations
}

async function decide(
  event: unknown,
  connection: Connection,
  configTable: string,
  tableName: string,
  session: Session,
): Promise<Explained> {
  const { clock } = session.io
  const { client } = connection
  const items = async () => (await (await connection.configTable()).policySet()).map(({ item }) => item)
  const store = new DynamoDbStore({ client, tableName })
  const limiter = limiterOver(store, clock)
  const deciding = { client, configTable, limiter, clock, ipv6Prefix: ipv6Prefix(session) }
  const decision = await decideEvent(event, deciding, items)
  const key = decision.policies.length > 0 ? decision.context?.subject : undefined
  const reservations = key ? await reservationsOf(store, key, clock()) : undefined
  return { ...decision, ...(reservations && { reservations }) }
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

const byUrgency = (a: Check, b: Check): number => URGENCY.indexOf(a.status) - URGENCY.indexOf(b.status)

function show({ name, status, found, remedy }: Check, { print }: Session): void {
  print.line(`${print.style(COLOURS[status], status.padEnd(8))}${name}: ${found}`)
  if (remedy !== undefined) print.line(`        ${print.style('bold', 'do')}: ${remedy}`)
}

function explain(decision: Explained, { print }: Session): void {
  const { reservations } = decision
  const { request, api, identity, tier, route, policies, units, context, entry, notLookedAt } = decision
  if (request === undefined) return
  const unless = (step: keyof typeof notLookedAt, found: string) =>
    notLookedAt[step] === undefined ? found : `not looked at: ${notLookedAt[step]}`
  print.table(
    ['event', ''],
    [
      ['request', request],
      ['API', api ?? 'not in the event'],
      [
        'identity',
        notLookedAt.identity === undefined ? identity : `${identity}; credentials ${unless('identity', '')}`,
      ],
      ['tier', unless('tier', tier || '-')],
      ['route', unless('route', route ?? 'none is configured for it')],
      ['policies', unless('policies', policies.join(', ') || '-')],
      ['cost', unless('policies', units ? unitsText(units) : '-')],
      ['decided by', context?.policy || (entry ? `the ${entry.list} list: ${entryText(entry)}` : '-')],
      ['remaining', context?.policy ? `${context.remaining} of ${context.limit}` : '-'],
      ...(reservations ? [['held', reservationText(reservations)]] : []),
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
