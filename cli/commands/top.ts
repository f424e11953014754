import { InvalidArgumentError, Option } from 'commander'
import { durationMs, wholeNumber } from '../arguments'
import { ipv6Prefix } from '../callers/limits'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { failureOf } from '../exit'
import { settingsModes, switchText, warnOfSwitch } from '../tiers/mode-switch'
import { findSource } from '../top/find-source'
import { Names } from '../top/names'
import { runTop } from '../top/run'
import { FIELDS, type Field, ORDER_NAMES, type Order } from '../top/tally'

interface Options extends OutputOptions {
  readonly once?: boolean
  readonly since: number
  readonly interval: number
  readonly by: readonly Field[]
  readonly sort: Order
  readonly limit: number
  readonly gateway?: string
  readonly logGroup?: string
}

export const addTop: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'top',
    'Show who is denied right now, by which policy and why: from the log or the local gateway. A log does ' +
      'not have every denial, so its numbers are lower bounds, marked "≥". On a terminal, q quits.',
    [
      'sluice top',
      'sluice top --once --json',
      'sluice top --log-group /aws/lambda/my-limiter --sort recent',
      'sluice top --gateway http://localhost:3001',
    ],
  )
    .option('--once', 'print once and exit')
    .addOption(
      new Option('--since <duration>', 'period to count, 10s to 1d')
        .argParser(durationBetween(10_000, DAY_MS, '10s to 1d'))
        .default(300_000, '5m'),
    )
    .addOption(
      new Option('--interval <duration>', 'refresh interval, 1s to 1h')
        .argParser(durationBetween(1000, 3_600_000, '1s to 1h'))
        .default(2000, '2s'),
    )
    .addOption(
      new Option('--by <fields>', `fields to group by, of ${FIELDS.join(', ')}`)
        .argParser(fields)
        .default(['client', 'tier', 'policy', 'reason'], 'client,tier,policy,reason'),
    )
    .addOption(new Option('--sort <order>', 'which rows come first').choices(ORDER_NAMES).default('denials'))
    .option('--limit <rows>', 'at most this many rows', wholeNumber(1, 10_000), 20)
    .option('--gateway <url>', 'read from the local gateway at this address')
    .option('--log-group <name>', 'log group (default: the limiter’s)')
    .action(async (options: Options) => {
      const { source, connection } = await findSource(session, options)
      // who reads a log need not be allowed to read the table
      const items = await connection
        .configTable()
        .then((table) => table.policySet())
        .catch(() => [])
      const all = items.map(({ item }) => item)
      for (const text of [switchText(all), ...settingsModes(all).map((one) => one.text)]) warnOfSwitch(session, text)
      const names = new Names(
        () => connection.configTable(),
        ipv6Prefix(session),
        session.io.clock,
        (error) => session.print.note(`clients are not named: ${failureOf(error).message.split('\n')[0]}`),
      )
      const { since: sinceMs, interval: intervalMs, once = false, json = false } = options
      await runTop(session, source, names, { ...options, sinceMs, intervalMs, once, json })
    })
}

const DAY_MS = 86_400_000

const durationBetween = (least: number, most: number, wanted: string) => (text: string) => {
  const ms = durationMs(text)
  if (ms < least || ms > most) throw new InvalidArgumentError(`It must be ${wanted}.`)
  return ms
}

function fields(text: string): readonly Field[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const unknown = names.filter((name) => !FIELDS.includes(name as Field))
  if (unknown.length > 0)
    throw new InvalidArgumentError(`It must be one or more of ${FIELDS.join(', ')}, separated by commas.`)
  return names as Field[]
}
