import type { Command } from 'commander'
import type { StoredItem } from '../../provisioning/documents'
import { endOf } from '../ends'
import { UserError } from '../exit'
import { parseClientItem } from '../facade/callers'
import { Plans, rulesOfRoute } from '../facade/decisions'
import { type Configuration, isOfEverybody, type PolicySet, type TierPolicy } from '../facade/policies'
import { type EpochMs, type Mistake, printed, suggestion } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { readPolicySet } from '../tiers/read-policy-set'

/** An override as the config table has it. */
export interface WrittenOverride {
  readonly limit?: number
  readonly burst?: number
  readonly factor?: number
  readonly until?: string
}

type WrittenOverrides = Readonly<Record<string, WrittenOverride>>

const UNITS = /^([1-9]\d{0,14})(?::([1-9]\d{0,14}))?$/
const TIMES = /^(\d{1,7}(?:\.\d{1,3})?)x$/

/** The options of commands that give a client numbers of its own. */
export interface OverrideOptions {
  readonly override?: readonly string[]
  readonly until?: string
  readonly timezone?: string
}

export const withUntil = (command: Command): Command =>
  command
    .option(
      '--until <when>',
      'when these overrides end: a time, a duration, or the end of a date or weekday (if that is today, of the next)',
    )
    .option('--timezone <name>', 'time zone of the days in --until (default: UTC)')

/**
 * `per-minute=600` or `per-minute=600:50`: another limit, and another burst, than the tier's; `per-minute=2x`: so many
 * times both. All end together.
 */
export function parseOverrides(
  { override: texts = [], until: when, timezone }: OverrideOptions,
  now: EpochMs,
): Record<string, WrittenOverride> {
  if (timezone !== undefined && when === undefined)
    throw new UserError('--timezone needs --until: it is the time zone of its days')
  const until = when === undefined ? undefined : endOf(when, '--until', timezone ?? 'UTC', now)
  if (until !== undefined && texts.length === 0)
    throw new UserError('--until needs --override: it is the end of an override')
  const named = new Set<string>()
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, numbers = ''] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.+)$/.exec(text) ?? []
      const [, limit, burst] = UNITS.exec(numbers) ?? []
      const factor = Number(TIMES.exec(numbers)?.[1])
      if (name === undefined || (limit === undefined && !(factor > 0))) {
        const wanted =
          '--override must be a policy and its limit such as "per-minute=600", "per-second=10:20" or "per-minute=2x"'
        throw new UserError(`${wanted}, got ${printed(text)}`)
      }
      if (named.has(name)) throw new UserError(`--override ${printed(name)} is given twice: give one`)
      named.add(name)
      const written =
        limit === undefined
          ? { factor }
          : { limit: Number(limit), ...(burst !== undefined && { burst: Number(burst) }) }
      return [name, { ...written, ...(until !== undefined && { until }) }]
    }),
  )
}

/**
 * Throws where the authorizer would not take these numbers for a client of this tier.
 *
 * @param added names of those that are new, each of which must be a policy's.
 */
export async function checkOverrides(
  table: ConfigTable,
  id: string,
  tier: string,
  overrides: WrittenOverrides,
  added: readonly string[],
): Promise<void> {
  const { configuration } = readPolicySet((await table.policySet()).map(({ item }) => item))
  checkOverridesIn(configuration, id, tier, overrides, added)
}

/** The same by a configuration that was read. */
export function checkOverridesIn(
  configuration: Configuration,
  id: string,
  tier: string,
  overrides: WrittenOverrides,
  added: readonly string[],
): void {
  const { policies } = configuration
  const known = policiesOf(policies, tier)
  for (const name of added) {
    const meant = known.filter((policy) => policy.name === name)
    if (meant.length === 0) {
      const names = [...new Set(known.map((policy) => policy.name))]
      const instead = names.length === 0 ? ', which has none' : suggestion(name, names)
      throw new UserError(`--override ${printed(name)} is not a policy of tier ${printed(tier)}${instead}`)
    }
    if (meant.every(({ by }) => isOfEverybody(by))) {
      throw new UserError(
        `--override ${printed(name)}: that policy counts all callers together, so a client cannot override it`,
      )
    }
  }
  const issues: Mistake[] = []
  const client = parseClientItem({ id, tier, overrides }, issues)
  const plans = new Plans((_level, _message, details) => {
    issues.push(...(details as { readonly issues: readonly Mistake[] }).issues)
  })
  for (const route of [undefined, ...policies.routes])
    plans.planFor(configuration, policies.tiers.get(tier), rulesOfRoute(route), client)
  if (issues.length > 0)
    throw new UserError(
      `the overrides of client ${printed(id)} are invalid for its tier: ${[...new Set(issues.map(String))].join('; ')}`,
    )
}

/** All policies that a client of a tier may be held to, whatever it asks for and wherever. */
function policiesOf({ global, routes, tiers, scoped }: PolicySet, tier: string): TierPolicy[] {
  const all = [
    ...global,
    ...[...routes, ...(scoped?.routes ?? [])].flatMap((route) => route.policies),
    ...[tiers.get(tier), ...(scoped?.tiers.get(tier) ?? [])].flatMap((one) => one?.policies ?? []),
  ]
  return all.filter(({ tiers: only }) => !only || only.includes(tier))
}

/** Names of the limits that a client has in one tier, and has not in another. */
export function limitsLost(policySet: PolicySet, from: string, to: string): string[] {
  if (!policySet.tiers.has(from)) return []
  const left = new Set(policiesOf(policySet, to).map(({ name }) => name))
  return [...new Set(policiesOf(policySet, from).map(({ name }) => name))].filter((name) => !left.has(name))
}

/**
 * `per-minute 600, per-second 10 (burst 20), per-day 2x until 2026-11-28T00:00:00Z`; those that have ended are marked.
 */
export function overridesText(overrides: unknown, now: EpochMs): string {
  return entriesOf(overrides)
    .map(([name, { factor, until, ...numbers }]) => {
      const end = until === undefined ? '' : Date.parse(until) <= now ? `, ended at ${until}` : ` until ${until}`
      return `${name} ${factor === undefined ? numbersText(numbers) : `${factor}x`}${end}`
    })
    .join(', ')
}

/** What overrides that end leave behind: `per-minute 600 from 2026-11-28T00:00:00Z on`. */
export function afterwards(policySet: PolicySet, tier: string, overrides: unknown, now: EpochMs): string {
  return entriesOf(overrides)
    .flatMap(([name, { until }]) => {
      if (until === undefined || Date.parse(until) <= now) return []
      const own = policiesOf(policySet, tier).filter((policy) => policy.name === name)
      const numbers = new Set(own.map(({ written }) => numbersText(written)))
      return numbers.size === 0 ? [] : [`${name} ${[...numbers].join(' or ')} from ${until} on`]
    })
    .join(', ')
}

/** Names of overrides in force that no policy has to which a client of the tier is held: they change nothing. */
export function withoutPolicy(policySet: PolicySet, tier: string, overrides: unknown, now: EpochMs): string[] {
  const inForce = entriesOf(overrides).filter(([, { until }]) => until === undefined || Date.parse(until) > now)
  if (inForce.length === 0) return [] // as of most clients, of which there may be many
  const known = new Set(policiesOf(policySet, tier).map(({ name }) => name))
  return inForce.flatMap(([name]) => (known.has(name) ? [] : [name]))
}

/** More clients are counted, and not named. */
const MAX_NAMED = 10

/** Sentences about clients whose overrides change nothing, because their tier has no such policy. */
export function overridesOfNothing(clients: readonly StoredItem[], policySet: PolicySet, now: EpochMs): string[] {
  const ids = new Map<string, Set<string>>()
  for (const { item } of clients) {
    const tier = String(item.tier)
    if (!policySet.tiers.has(tier)) continue
    for (const name of withoutPolicy(policySet, tier, item.overrides, now)) {
      const sentence = `overrides of ${printed(name)} change nothing, because tier ${printed(tier)} has no such policy`
      ids.set(sentence, (ids.get(sentence) ?? new Set()).add(String(item.id)))
    }
  }
  return [...ids].map(([sentence, all]) => `${sentence}: ${namesText([...all].sort())}`)
}

const namesText = (ids: readonly string[]): string =>
  `${ids.slice(0, MAX_NAMED).join(', ')}${ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ''}`

/** A sentence about clients whose tier will be gone. */
export function clientsOfNoTier(clients: readonly StoredItem[], gone: readonly string[]): string[] {
  const ids = new Set(clients.filter(({ item }) => gone.includes(String(item.tier))).map(({ item }) => String(item.id)))
  return ids.size === 0 ? [] : [`clients whose tier is deleted, ${ids.size}: ${namesText([...ids].sort())}`]
}

/** As they are stored: whoever writes them in a console may have written anything. */
const entriesOf = (overrides: unknown): [name: string, WrittenOverride][] =>
  Object.entries((overrides ?? {}) as Record<string, WrittenOverride | null>).map(([name, one]) => [name, one ?? {}])

const numbersText = ({ limit, burst }: Pick<WrittenOverride, 'limit' | 'burst'>): string =>
  `${limit}${burst === undefined ? '' : ` (burst ${burst})`}`
