import type { EpochMs } from '../lambda/clock'
import { printed } from '../lambda/errors'
import { clientIpKey } from '../lambda/identity/client-ip'
import { type CompiledPolicy, compile, distinct } from '../lambda/limiter/compiled-policy'
import { subjectKey } from '../lambda/limiter/subject-key'
import { ANONYMOUS, type Route, routeOf, type Tier, type TierPolicy } from '../lambda/policies/tiers'
import { tierKey } from '../lambda/tiers/config-items'
import { Plans } from '../lambda/tiers/plans'
import type { PolicySetItem } from '../lambda/tiers/tiers-file'
import { stateOf } from './client-records'
import type { ConfigTable } from './config-table'
import { UserError } from './exit'
import { type ReadSet, readPolicySet } from './policy-set'

/** Somebody who is counted, and by what. */
export interface Subject {
  /** `client:acme`, `ip:203.0.113.7`, `global`. */
  readonly name: string
  /** Where its state is. */
  readonly key: string
  /** `undefined` for `global`. */
  readonly tier: Tier | undefined
  /** What its requests meet, where its record says more than that it is a client. */
  readonly remark: string | undefined
  readonly read: ReadSet
}

/** A policy as it counts one subject. */
export interface Counted {
  readonly policy: string
  /** Where it counts each route apart. */
  readonly route: string | undefined
  /** Its name tells it from all others of the subject. */
  readonly compiled: CompiledPolicy
}

/** Requests that no configured route is for. */
const OTHER_ROUTES = 'other routes'

/**
 * Finds out who is meant: a client's id, or spelled out `client:acme`, `user:42`, `ip:203.0.113.7`, `global`.
 *
 * @param tier to take for one whom the config table knows nothing of; wins over its record.
 * @param ipv6Prefix bits of an IPv6 address that tell callers apart.
 */
export async function findSubject(
  text: string,
  tier: string | undefined,
  table: ConfigTable,
  ipv6Prefix: number,
  now: EpochMs,
): Promise<Subject> {
  const items = (await table.policySet()).map(({ item }) => item)
  if (text === 'global') return subject(text, items, undefined)
  const [, kind = 'client', rest] = /^(client|user|ip):(.*)$/s.exec(text) ?? []
  const id = rest ?? text
  if (id === '') throw new UserError(`a subject must be a client's id, client:…, user:…, ip:… or global, got ${printed(text)}`)
  if (kind === 'ip') {
    const address = clientIpKey(id, ipv6Prefix)
    if (address === undefined) throw new UserError(`an address must be such as ip:203.0.113.7, got ${printed(text)}`)
    return subject(`ip:${address}`, items, tier ?? ANONYMOUS)
  }
  const record = kind === 'client' ? (await table.clients(id))[0]?.item : undefined
  const found = tier ?? record?.tier ?? settingsOf(items).defaultTier
  if (typeof found !== 'string') {
    throw new UserError(`there is no client ${printed(id)}: say with --tier which tier to take, or ip:… for an address`)
  }
  const state = record && stateOf(record, now)
  return subject(`${kind}:${id}`, withOverrides(items, found, record?.overrides), found, state === 'active' ? undefined : state)
}

/** Every policy that counts the subject, those by route once for each route that is configured. */
export function countedOf({ name, tier, read }: Subject): Counted[] {
  const counted = (policy: TierPolicy, route: Route | undefined): Counted => {
    const scope = policy.by.perRoute ? route?.pattern.text : ''
    const shown = policy.by.perRoute ? (route?.pattern.text ?? OTHER_ROUTES) : undefined
    return { policy: policy.name, route: shown, compiled: compile(policy, scope) }
  }
  const all = tier
    ? [undefined, ...read.set.routes].flatMap((route) =>
        [...tier.policies, ...(route?.policies ?? [])].filter(countsSubject(name, tier)).map((policy) => counted(policy, route)),
      )
    : read.global.map((policy): Counted => ({ policy: policy.name, route: undefined, compiled: compile(policy) }))
  const byCode = new Map(all.map((one) => [one.compiled.code, one]))
  return [...byCode].map(([code, one]) => ({ ...one, compiled: { ...one.compiled, name: `${one.policy} ${code}` } }))
}

/** What one request of the subject is held to, as the authorizer works it out. */
export function planOf(
  { name, tier, read }: Subject,
  request: string | undefined,
): { readonly policies: readonly CompiledPolicy[]; readonly cost: number } {
  if (!tier) return { policies: distinct(read.global.map((policy) => compile(policy))), cost: 1 }
  const [, method = 'GET', path] = /^(?:([A-Za-z]+) +)?(\/\S*)$/.exec(request ?? '/') ?? []
  if (path === undefined) throw new UserError(`--route must be a method and a path such as "GET /search", got ${printed(request)}`)
  const route = request === undefined ? undefined : routeOf(read.set, method.toUpperCase(), path)
  const known = !isUnknown(name, tier)
  const plan = new Plans({ current: async () => read.set }).planFor(read.set, tier, route, known)
  return { policies: known && name.startsWith('ip:') ? plan.address : plan.caller, cost: plan.cost }
}

/** An address of somebody without a tier of their own is counted by all policies, a client's address only by those that say so. */
const isUnknown = (name: string, tier: Tier): boolean => name.startsWith('ip:') && tier.name === ANONYMOUS

const countsSubject =
  (name: string, tier: Tier) =>
  ({ by }: TierPolicy): boolean =>
    isUnknown(name, tier) || by.subject === (name.startsWith('ip:') ? 'ip' : 'client')

function subject(name: string, items: readonly PolicySetItem[], tierName: string | undefined, remark?: string): Subject {
  const read = readPolicySet(items)
  const tier = tierName === undefined ? undefined : read.set.tiers.get(tierName)
  if (tierName !== undefined && !tier) {
    throw new UserError(
      `there is no valid tier ${printed(tierName)} for ${name}: known are ${[...read.set.tiers.keys()].join(', ') || 'none'}`,
    )
  }
  return { name, key: subjectKey(name), tier, remark, read }
}

/** The tier's item with a client's own limits in place of the tier's. */
function withOverrides(items: readonly PolicySetItem[], tier: string, overrides: unknown): readonly PolicySetItem[] {
  if (typeof overrides !== 'object' || overrides === null) return items
  const own = overrides as Readonly<Record<string, object | undefined>>
  const overridden = (policy: { readonly name?: unknown }) =>
    typeof policy?.name === 'string' && Object.hasOwn(own, policy.name) ? { ...policy, ...own[policy.name] } : policy
  return items.map((item) =>
    item.sk === tierKey(tier).sk && Array.isArray(item.policies) ? { ...item, policies: item.policies.map(overridden) } : item,
  )
}

const settingsOf = (items: readonly PolicySetItem[]): PolicySetItem | Record<string, undefined> =>
  items.find(({ sk }) => sk === 'settings') ?? {}
