import { UserError } from '../exit'
import { subjectOf } from '../facade/callers'
import type { Counter } from '../facade/counters'
import {
  type Charge,
  type CompiledPolicy,
  distinct,
  idOf,
  isFair,
  Plans,
  type Rules,
  rulesOf,
  rulesOfRoute,
} from '../facade/decisions'
import type { Route } from '../facade/policies'
import { printed } from '../facade/values'
import { isCounted } from './asked'
import { hint } from './hints'
import { OTHER_REQUEST, type Requested } from './subject-traces'
import type { Subject } from './subjects'

/** Requests that no configured route is for. */
const OTHER_ROUTES = 'other routes'

/** A policy as it counts one subject. */
export interface Counted extends Counter {
  /** Whose state it counts in: the subject's own, or what it is together with its API or stage. */
  readonly name: string
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

/** What the subject's requests charge fair policies that it shares with others, as their caller. */
export function sharedBy(one: Subject): Charge[] {
  const { tier, client, configuration, stateKeys, inputs, name } = one
  const caller = { key: stateKeys.keyOf(name), weight: tier?.weight ?? 1 }
  const charges = [undefined, ...configuration.policies.routes].flatMap((route): Charge[] => {
    const plan = new Plans(() => {}).planFor(configuration, tier, rulesOfRoute(route), client)
    return plan.groups.filter(isFair).map(({ who, route: own, policies }) => ({
      key: stateKeys.keyOf(subjectOf(who, inputs, own)),
      policies: policies.filter(({ fair }) => fair),
      cost: 0,
      caller,
    }))
  })
  return [...new Map(charges.map((charge) => [`${charge.key} ${idOf(charge.policies)}`, charge])).values()]
}

/** What a request charges somewhere. */
interface Planned {
  /** The subject's own first; of what it is together with its API or stage, too. */
  readonly charges: readonly {
    readonly name: string
    readonly key: string
    readonly policies: readonly CompiledPolicy[]
  }[]
}

/** What `GET /search?limit=100` asks for; without any, a request that no configured route is for. */
export function requestedBy(one: Subject, request: string | undefined): Requested {
  if (request === undefined) return OTHER_REQUEST
  const [, method = 'GET', path, query] = /^(?:([A-Za-z]+) +)?(\/[^\s?]*)(?:\?(\S*))?$/.exec(request) ?? []
  if (path === undefined)
    throw new UserError(`--route must be a method and a path such as "GET /search", got ${printed(request)}`)
  const requested = { method: method.toUpperCase(), path, query }
  const { policies } = one.configuration
  if (rulesOf(policies, requested.method, path).routes.length > 0) return requested
  const known = policies.routes.map(({ pattern }) => pattern.text).sort()
  const message = `no route is configured for ${printed(request)}${hint(`${requested.method} ${path}`, known, 'sluice tiers list')}`
  throw new UserError(`${message}; for requests without a configured route, omit --route`)
}

/** By what a request counts the subject itself, in the order of evaluation. */
export function planOf(one: Subject, request: string | undefined): Planned {
  const { method, path } = requestedBy(one, request)
  return countedOn(one, rulesOf(one.configuration.policies, method, path))
}

/** The policies by which a request for a route counts the subject, in the order of evaluation. */
function countedOn(one: Subject, rules: Rules): Planned {
  const { tier, client, configuration, stateKeys, inputs } = one
  const plan = new Plans(() => {}).planFor(configuration, tier, rules, client)
  const charges = new Map<string, CompiledPolicy[]>()
  for (const { who, route, policies } of plan.groups) {
    if (!isCounted(one, who, route, inputs)) continue
    const subject = subjectOf(who, inputs, route)
    charges.set(subject, [...(charges.get(subject) ?? []), ...policies])
  }
  return {
    charges: [...charges].map(([subject, policies]) => ({
      name: subject,
      key: stateKeys.keyOf(subject),
      policies: distinct(policies),
    })),
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
