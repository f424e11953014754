import { Plans } from '../../lambda/charge-plans'
import type { Client } from '../../lambda/config-table/items/client-item'
import { ANONYMOUS, type Route, type Tier } from '../../lambda/config-table/items/tiers'
import { costOf, NO_FACTS } from '../../lambda/cost'
import { type Rules, rulesOf, rulesOfRoute } from '../../lambda/rules'
import { type SubjectInputs, subjectOf } from '../../lambda/subjects'
import { type CompiledPolicy, distinct } from '../../limiter/compiled-policy'
import { printed } from '../../limiter/errors'
import { UserError } from '../exit'
import { hint } from './hints'
import { KINDS, type Subject } from './subjects'

/** Requests that no configured route is for. */
const OTHER_ROUTES = 'other routes'

/** An address that no caller has, for requests in which only another subject matters. */
const ELSEWHERE = 'ip:elsewhere'

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
  if (request === undefined) return countedOn(one, rulesOfRoute(undefined))
  const { policies } = one.configuration
  const rules = rulesOf(policies, method.toUpperCase(), path)
  if (rules.routes.length === 0) {
    const known = policies.routes.map(({ pattern }) => pattern.text).sort()
    const said = `no route is configured for ${printed(request)}${hint(`${method.toUpperCase()} ${path}`, known, 'sluice tiers list')}`
    throw new UserError(`${said}; for requests that no route is configured for, leave --route out`)
  }
  return countedOn(one, rules)
}

/** The policies by which a request for a route counts the subject, in the order of evaluation. */
function countedOn({ name, tier, client, at, configuration, stateKeys }: Subject, rules: Rules): Planned {
  const plan = new Plans(() => {}).planFor(configuration, tier, rules, client)
  const asking = { ...requestOf(name, tier, client), ...at }
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
      key: stateKeys.keyOf(subject),
      policies: distinct(policies),
    })),
    cost: costOf(rules.costs, NO_FACTS),
  }
}

/** A request that has this subject and no other known one. */
function requestOf(name: string, tier: Tier | undefined, client: Client | undefined): SubjectInputs {
  const [, kind = name, rest = ''] = KINDS.exec(name) ?? []
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(rest) ?? []
  const isAnonymous = kind === 'ip' && tier?.name === ANONYMOUS
  const [base, namespace = ''] = kind.split('@')
  const isCaller = base === 'client' || base === 'user' || isAnonymous
  return {
    caller: client ? `client:${client.id}` : isCaller ? name : 'client:elsewhere', // a record's client, by whatever name
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
