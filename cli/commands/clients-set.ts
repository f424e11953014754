import { gather, moment } from '../arguments'
import { changeClient, tell } from '../callers/client-changes'
import { checkTier, recordsOf } from '../callers/client-records'
import {
  checkOverridesIn,
  limitsLost,
  type OverrideOptions,
  overridesText,
  parseOverrides,
  withUntil,
} from '../callers/overrides'
import { readUsageKey, type UsageKeyOption, withUsageKey } from '../callers/usage-key'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { parseClientItem } from '../facade/callers'
import { type Mistake, printed } from '../facade/values'
import { confirm } from '../terminal/question'
import { readPolicySet } from '../tiers/read-policy-set'

interface Options extends OutputOptions, OverrideOptions, UsageKeyOption {
  readonly tier?: string
  readonly name?: string
  readonly notes?: string
  /** `false`: remove all. */
  readonly overrides?: boolean
  readonly expires?: string
  readonly enable?: boolean
  readonly yes?: boolean
}

const CHANGES = ['tier', 'name', 'notes', 'override', 'until', 'expires', 'enable', 'usageIdentifierKey'] as const

export const addClientsSet: AddCommand = (group, session) => {
  const command = withUntil(
    describeTableCommand(group, 'set <id>', 'Change a client, for all its credentials, within 30 seconds.', [
      'sluice clients set acme --tier enterprise',
      'sluice clients set acme --override per-minute=2x --until friday',
      'sluice clients set acme --enable',
    ])
      .option('--tier <name>', 'new tier')
      .option('--name <text>', 'display name; "" for none')
      .option('--notes <text>', 'free text; "" for none')
      .option('--override <policy=limit>', 'as of clients create; other overrides are kept', gather),
  )
    .option('--no-overrides', 'remove all overrides but those of --override')
    .option('--expires <when>', 'when its credentials expire: 30d, 2027-01-31T00:00:00Z, never')
    .option('--enable', 'allow it again after clients disable')
    .option('-y, --yes', 'do not ask for confirmation')
  withUsageKey(command).action(async (id: string, options: Options) => {
    if (options.overrides !== false && CHANGES.every((change) => options[change] === undefined)) {
      throw new UserError(
        'give what to change: --tier, --name, --notes, --override, --no-overrides, --expires, --enable or --usage-identifier-key',
      )
    }
    const now = session.io.clock()
    const added = parseOverrides(options, now)
    const expiresAt =
      options.expires === 'never'
        ? undefined
        : options.expires && moment(options.expires, '--expires', session.io.clock)
    const usageIdentifierKey = await readUsageKey(options, session.io)
    const connection = session.connect(options)
    const table = await connection.configTable()
    if (options.tier !== undefined) await checkTier(table, options.tier)
    const ofRecord = (item: Fields) => ({
      ...(options.overrides === false ? {} : (item.overrides as object | undefined)),
      ...added,
    })
    let before: unknown
    let after: unknown
    const change = (item: Fields, all: readonly Fields[]) => {
      const overrides = ofRecord(item)
      if (item === all[0]) [before, after] = [item.overrides, overrides]
      return valid({
        ...item,
        ...(options.tier !== undefined && { tier: options.tier }),
        ...(options.name !== undefined && { name: options.name || undefined }),
        ...(options.notes !== undefined && { notes: options.notes || undefined }),
        overrides: Object.keys(overrides).length > 0 ? overrides : undefined,
        ...(options.expires !== undefined && { expiresAt: expiryOf(item, all, expiresAt) }),
        ...(options.enable && { disabled: undefined }),
        ...(usageIdentifierKey !== undefined && { usageIdentifierKey: usageIdentifierKey ?? undefined }),
      })
    }
    if (options.tier !== undefined || options.override || options.enable) {
      const records = (await recordsOf(table, id)).map((record) => record.item)
      const { configuration } = readPolicySet((await table.policySet()).map((record) => record.item))
      const item = records[0]!
      const { tier } = change(item, records)
      if (options.tier !== undefined || options.override)
        checkOverridesIn(configuration, id, String(tier), ofRecord(item), Object.keys(added))
      const { policies } = configuration
      const lost = new Set(records.flatMap((one) => limitsLost(policies, String(one.tier), String(tier))))
      const questions = [
        ...(lost.size > 0
          ? [`Move client ${printed(id)} to tier ${printed(tier)}, without ${[...lost].join(', ')}?`]
          : []),
        ...(options.enable && records.some((one) => one.disabled) ? [`Allow client ${printed(id)} again?`] : []),
      ]
      if (questions.length > 0)
        await confirm(questions.join(' '), session.io, options, () => connection.describe('config'))
    }
    await changeClient(session, table, id, change)
    const isAboutOverrides = options.override !== undefined || options.overrides === false
    const overridesNote = isAboutOverrides ? `, its overrides are now ${overridesText(after, now) || 'none'}` : ''
    const endless = Object.keys(added).filter((name) => hadEnd(before, name) && added[name]!.until === undefined)
    const note = endless.length > 0 ? `; the end of ${endless.join(', ')} is removed: give --until for another` : ''
    tell(session, options, `client ${printed(id)} is changed${overridesNote}${note}`, { id, changed: true })
  })
}

/** A record as it shall be. @throws UserError where it would not be in force. */
function valid(record: Fields): Fields {
  const issues: Mistake[] = []
  const given = Object.entries(record).filter(([, value]) => value !== undefined)
  parseClientItem(Object.fromEntries(given), issues)
  if (issues.length > 0)
    throw new UserError(
      `client ${printed(record.id)} would be invalid, and nothing is changed: ${issues.join('; ')}; sluice doctor says what mends it`,
    )
  return record
}

/** Whether the override of a policy had an end. */
const hadEnd = (overrides: unknown, name: string): boolean =>
  (overrides as Readonly<Record<string, { readonly until?: unknown } | undefined>> | undefined)?.[name]?.until !==
  undefined

/**
 * A client's own end, but for a key that ends before the others: that is in the grace of a rotation, which must not be
 * made longer.
 */
function expiryOf(item: Fields, all: readonly Fields[], expiresAt: string | undefined): unknown {
  const end = (of: unknown) => (typeof of === 'string' ? Date.parse(of) : Infinity)
  const own = Math.max(...all.map((one) => end(one.expiresAt)))
  return end(item.expiresAt) < Math.min(own, end(expiresAt)) ? item.expiresAt : expiresAt
}

type Fields = Readonly<Record<string, unknown>>
