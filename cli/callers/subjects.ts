import { Plans } from '../../lambda/charge-plans'
import type { Configuration } from '../../lambda/config-table/configuration'
import type { Access } from '../../lambda/config-table/items/access-list'
import { type Client, clientAt, parseClientItem } from '../../lambda/config-table/items/client-item'
import { setFor } from '../../lambda/config-table/items/scoped-set'
import type { ApiStage, Apis } from '../../lambda/config-table/items/scopes'
import type { Settings } from '../../lambda/config-table/items/settings'
import { ANONYMOUS, type Route, type Tier } from '../../lambda/config-table/items/tiers'
import type { SubjectKeys } from '../../lambda/config-table/subject-keys'
import { clientIpKey } from '../../lambda/identity/client-ip'
import { parseIpAddress } from '../../lambda/ip-address'
import { type Rules, rulesOf, rulesOfRoute } from '../../lambda/rules'
import { type SubjectInputs, subjectOf } from '../../lambda/subjects'
import type { EpochMs } from '../../limiter/clock'
import { type CompiledPolicy, distinct } from '../../limiter/compiled-policy'
import { printed } from '../../limiter/errors'
import { UserError } from '../exit'
import type { ConfigTable } from '../tables/config-table'
import { readHmacKeys } from '../tables/hmac-key'
import { switchText } from '../tiers/mode-switch'
import { readPolicySet } from '../tiers/read-policy-set'
import { isTurnedAway, stateOf } from './client-records'

/** A subject, with what is needed to compute its counters. */
export interface Subject {
  /** `client:acme`, `user:42`, `ip:203.0.113.7`, `global`, `route:GET /export`. */
  readonly name: string
  /** Where its state is now. */
  readonly key: string
  /** Where it was, and is going to be. */
  readonly keys: SubjectKeys
  /** Where the state of any subject is now. */
  readonly keyOf: (name: string) => string
  /** `undefined` for those who have none, such as `global`. */
  readonly tier: Tier | undefined
  /** The record of a client, for its own numbers. */
  readonly client: Client | undefined
  /** The state of its client record, if not simply active: `disabled`, `until 2027-01-31`. */
  readonly remark: string | undefined
  /** Why limits do not decide its requests: they are denied before, or allowed without counting. */
  readonly beforeLimits: 'blocked' | 'unauthorized' | 'exempt' | undefined
  /** What `sluice off` or `sluice observe on` did, in a line. */
  readonly switched: string | undefined
  /** The API and stage that its requests are for, where somebody asks about these. */
  readonly at: ApiStage
  /** As requests there find it. */
  readonly configuration: Configuration
}

/** A policy as it counts one subject. */
export interface Counted {
  readonly policy: string
  /** Where it counts each route apart. */
  readonly route: string | undefined
  /** Its name tells it from all others of the subject. */
  readonly compiled: CompiledPolicy
  /** Whose state it counts in: the subject's own, or what it is together with its API or stage. */
  readonly name: string
  readonly key: string
}

const NOWHERE: ApiStage = { apiId: undefined, stageName: undefined }

/** Requests that no configured route is for. */
const OTHER_ROUTES = 'other routes'

/** An address that no caller has, for requests in which only another subject matters. */
const ELSEWHERE = 'ip:elsewhere'

/** A client, user or claim of another issuer than the first has its namespace behind an `@`. */
const KINDS = /^((?:client|user|claim)(?:@[^:]+)?|ip|route|header|api|stage):(.*)$/s
const WANTED =
  "a client's id, client:…, user:…, ip:…, global, api:…, stage:<api>/<stage>, route:…, header:<name>=<value> or claim:<name>=<value>"

/**
 * Finds out who is meant: a client's id, or spelled out `client:acme`, `user:42`, `ip:203.0.113.7`, `global`,
 * `route:GET /export`, `header:x-tenant=north`, `claim:org=acme`, `api:shop`, `stage:shop/prod`.
 *
 * @param place the API, `shop`, or its stage, `shop/prod`, that requests are for.
 * @param tier to take for one whom the config table knows nothing of; wins over its record.
 * @param ipv6Prefix bits of an IPv6 address that tell callers apart, where the settings say nothing.
 */
export async function findSubject(
  text: string,
  tier: string | undefined,
  place: string | undefined,
  table: ConfigTable,
  ipv6Prefix: number,
  now: EpochMs,
): Promise<Subject> {
  const items = (await table.policySet()).map(({ item }) => item)
  const { configuration } = readPolicySet(items)
  const { apis, settings } = configuration.policies
  const { keys } = await readHmacKeys(table)
  const keyOf = (name: string) => keys.keyOf(name, now)
  const at = place === undefined ? NOWHERE : placeNamed(place, '--api', apis)
  const subject = (
    name: string,
    tierName: string | undefined,
    client?: Client,
    remark?: string,
    there = at,
  ): Subject => {
    const found = { name, key: keyOf(name), keys, keyOf, at: there, ...tierOf(name, configuration, there, tierName) }
    return { ...found, client, remark, beforeLimits: undefined, switched: switchText(items) }
  }
  const { access } = configuration
  const asListed = (one: Subject, listed: Access | undefined): Subject =>
    listed === undefined || one.beforeLimits ? one : { ...one, beforeLimits: listed === 'block' ? 'blocked' : 'exempt' }
  if (text === 'global') return subject(text, tier)
  const { kind, id } = namedBy(text)
  if (kind === 'api' || kind === 'stage') {
    const there = placeNamed(id, 'a subject', apis)
    const stage = `${there.apiId}/${there.stageName}`
    if ((kind === 'stage') !== (there.stageName !== undefined))
      throw new UserError(`a subject must be ${WANTED}, got ${printed(text)}`)
    return subject(`${kind}:${kind === 'api' ? there.apiId : stage}`, tier, undefined, undefined, there)
  }
  if (kind === 'ip')
    return asListed(
      subject(addressName(id, settings, ipv6Prefix), tier ?? ANONYMOUS),
      access.ofAddress(parseIpAddress(id), now),
    )
  if (!/^(client|user)(@|$)/.test(kind)) return subject(`${kind}:${id}`, tier)
  const records = (kind === 'client' ? await table.clients(id) : []).map(({ item }) => item)
  const record = records.find((one) => !isTurnedAway(one, now)) ?? records[0] // one good credential is enough
  const found = tier ?? record?.tier ?? settings.defaultTier
  if (typeof found !== 'string') {
    throw new UserError(`there is no client ${printed(id)}: give its tier with --tier, or an address as ip:…`)
  }
  const state = record && stateOf(record, now)
  const client = record && parseClientItem(record, [])
  const made = subject(`${kind}:${id}`, found, client && clientAt(client, now), state === 'active' ? undefined : state)
  if (record && isTurnedAway(record, now)) return { ...made, beforeLimits: 'unauthorized' }
  return kind === 'client' ? asListed(made, access.ofClient(id, now)) : made
}

/** `client:acme` in its parts; what has no kind is a client's id. */
export function namedBy(text: string): { readonly kind: string; readonly id: string } {
  const [, kind = 'client', id = text] = KINDS.exec(text) ?? []
  if (id === '') throw new UserError(`a subject must be ${WANTED}, got ${printed(text)}`)
  return { kind, id }
}

/** The subject of an address: itself, or the IPv6 network by which it is counted. */
export function addressName(text: string, { identity }: Settings, ipv6Prefix: number): string {
  const rules = identity.find((one) => one.source === 'ip')
  const address = clientIpKey(text, rules?.ipv6Prefix ?? ipv6Prefix)
  if (address === undefined)
    throw new UserError(`an address must be such as ip:203.0.113.7, got ${printed(`ip:${text}`)}`)
  return `ip:${address}`
}

/** Every policy that counts the subject; a policy by route once per configured route. */
export function countedOf(one: Subject): Counted[] {
  const byCode = new Map<string, Counted>()
  for (const route of [undefined, ...one.configuration.policies.routes]) {
    for (const { name, key, policies } of countedOn(one, rulesOfRoute(route)).charges) {
      for (const compiled of policies) {
        const counted = { policy: compiled.name, route: routeShown(one, compiled.name, route), compiled, name, key }
        const id = `${compiled.prefix} ${key}`
        if (!byCode.has(id)) byCode.set(id, counted)
      }
    }
  }
  return [...byCode].map(([id, counted]) => ({
    ...counted,
    compiled: { ...counted.compiled, name: `${counted.policy} ${id}` },
  }))
}

/** What a request charges somewhere. */
interface Planned {
  /** The subject's own first; of what it is together with its API or stage, too. */
  readonly charges: readonly {
    readonly name: string
    readonly key: string
    readonly policies: readonly CompiledPolicy[]
  }[]
  readonly cost: number
}

/** What one request of the subject is held to, as the authorizer works it out. */
export function planOf(one: Subject, request: string | undefined): Planned {
  const [, method = 'GET', path] = /^(?:([A-Za-z]+) +)?(\/\S*)$/.exec(request ?? '/') ?? []
  if (path === undefined)
    throw new UserError(`--route must be a method and a path such as "GET /search", got ${printed(request)}`)
  const rules =
    request === undefined ? rulesOfRoute(undefined) : rulesOf(one.configuration.policies, method.toUpperCase(), path)
  return countedOn(one, rules)
}

/** The policies by which a request for a route counts the subject, in the order of evaluation. */
function countedOn({ name, tier, client, at, configuration, keyOf }: Subject, rules: Rules): Planned {
  const plan = new Plans(() => {}).planFor(configuration, tier, rules, client)
  const asking = { ...requestOf(name, tier), ...at }
  const charges = new Map<string, CompiledPolicy[]>()
  for (const { who, route, policies } of plan.groups) {
    const those = who.filter(
      (dimension) => at.apiId === undefined || (dimension !== 'api' && (dimension !== 'stage' || !at.stageName)),
    )
    const subject = subjectOf(who, asking, route)
    if (
      subject !== name &&
      (those.length === who.length || those.length === 0 || subjectOf(those, asking, route) !== name)
    )
      continue
    charges.set(subject, [...(charges.get(subject) ?? []), ...policies])
  }
  return {
    charges: [...charges].map(([subject, policies]) => ({
      name: subject,
      key: keyOf(subject),
      policies: distinct(policies),
    })),
    cost: plan.cost,
  }
}

/** A request that has this subject and no other known one. */
function requestOf(name: string, tier: Tier | undefined): SubjectInputs {
  const [, kind = name, rest = ''] = KINDS.exec(name) ?? []
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(rest) ?? []
  const isAnonymous = kind === 'ip' && tier?.name === ANONYMOUS
  const [base, namespace = ''] = kind.split('@')
  const isCaller = base === 'client' || base === 'user' || isAnonymous
  return {
    caller: isCaller ? name : 'client:elsewhere',
    user: isCaller ? name : 'user:elsewhere',
    address: kind === 'ip' ? name : ELSEWHERE,
    headers: new Map(kind === 'header' ? [[key, value]] : []),
    claims: base === 'claim' ? { [key]: value } : {},
    namespace,
  }
}

/** The route that a policy counts apart, in words; `undefined` for one that counts all routes together. */
function routeShown(
  { tier, configuration: { policies } }: Subject,
  name: string,
  route: Route | undefined,
): string | undefined {
  const policy = [...policies.global, ...(route?.policies ?? []), ...(tier?.policies ?? [])].find(
    (one) => one.name === name,
  )
  return policy?.by.perRoute && policy.by.who.length > 0 ? (route?.pattern.text ?? OTHER_ROUTES) : undefined
}

function tierOf(
  name: string,
  all: Configuration,
  at: ApiStage,
  tierName: string | undefined,
): Pick<Subject, 'tier' | 'configuration'> {
  const { apiId, stageName = apiId && '' } = at // who names no stage asks what holds for the API
  const configuration = { ...all, policies: setFor(all.policies, { apiId, stageName }) }
  const { tiers } = configuration.policies
  const tier = tierName === undefined ? undefined : tiers.get(tierName)
  if (tierName !== undefined && !tier) {
    throw new UserError(
      `there is no valid tier ${printed(tierName)} for ${name}: known are ${[...tiers.keys()].join(', ') || 'none'}`,
    )
  }
  return { tier, configuration }
}

/**
 * The API of `shop` or `shop/prod`, by its id, label or name.
 *
 * @throws UserError when several are called so.
 */
function placeNamed(text: string, what: string, apis: Apis | undefined): ApiStage {
  const [, word, stageName] = /^([^/]+)(?:\/([\w$-]+))?$/.exec(text) ?? []
  if (word === undefined)
    throw new UserError(`${what} must name an API or its stage, such as shop or shop/prod, got ${printed(text)}`)
  const ids = [...(apis?.idsOf(word) ?? [word])]
  if (ids.length > 1)
    throw new UserError(`${what} must name one API, and ${printed(word)} matches several: ${ids.join(', ')}`)
  return { apiId: ids[0], stageName }
}
