import { type Client, inputsOf, subjectOf } from '../../facade/callers'
import {
  type Assembled,
  type AuthorizerParts,
  type Charge,
  checkAddress,
  type GatewayRequest,
  type Holding,
  matchRoutes,
  type Outcome,
  Plans,
  planCharges,
  planPreflight,
  type Rules,
  type SourceList,
  selectTier,
  type Units,
} from '../../facade/decisions'
import { type Configuration, type Costs, setFor } from '../../facade/policies'
import { toUnits } from '../../facade/simulation'
import type { LoggedRequest } from '../requests/logged-request'
import type { Caller } from './caller'
import type { RequestKind } from './request-kind'
import type { RuleSet } from './rule-set'

/** Why a request is decided without its limits. */
export type Reason = NonNullable<Outcome['reason']>

/** What a request comes to before its limits are asked. */
export interface Prepared {
  /** The name of the tier; empty where the request got no further. */
  readonly tier: string
  /** The pattern of the route that it counts for; `*` where none is configured. */
  readonly route: string
  /** What to charge; or why nothing is. */
  readonly charges: readonly Charge[] | Reason
  /** Whether the same kind of request of the same caller comes to the same at any time. */
  readonly isLasting: boolean
  /** What the request holds until it ends, and the caller with whom that stands. */
  readonly holding?: Holding & { readonly caller: string }
  /** A cost that depends on what the log does not tell. */
  readonly unknownCost?: true
}

/** Outcomes of a log's authorizer that no tiers file changes: who asked was not let in, or not counted. */
const REFUSED_THEN: ReadonlySet<string> = new Set<Reason>([
  'unauthorized',
  'unverified',
  'malformed',
  'blocked',
  'exempt',
])

/** Whether a line is of a request that is refused, or passes, whatever the limits are. */
export const wasRefused = ({ reason }: LoggedRequest): boolean => reason !== undefined && REFUSED_THEN.has(reason)

/** A source of identity has found the caller already: what is left of the list is how addresses are read. */
const SOURCES: SourceList = { list: [], address: { trustedHops: 0, viewerAddress: false } }

/** Requests that the same rules apply to. */
export interface RequestClass {
  readonly request?: GatewayRequest
  readonly configuration?: Configuration
  /** Missing where the path cannot be understood. */
  readonly rules?: Rules
  readonly route: string
}

const MALFORMED: RequestClass = { route: '*' }

/** Goes the steps of the authorizer for logged requests, up to what a request charges. */
export class Preparer {
  private readonly plans: Plans
  private readonly parts: Assembled
  private readonly byRules = new Map<string, RequestClass>()
  /** Mistakes that the authorizer would log. */
  readonly mistakes = new Set<string>()

  constructor(
    private readonly rules: RuleSet,
    ipv6Prefix: number,
  ) {
    this.plans = new Plans((_level, event, details) => void this.mistakes.add(`${event}: ${JSON.stringify(details)}`))
    const parts: Pick<AuthorizerParts, 'plans' | 'ipv6Prefix' | 'failOpen' | 'log'> = {
      plans: this.plans,
      ipv6Prefix,
      failOpen: false,
      log: (_level, event) => void this.mistakes.add(event),
    }
    this.parts = parts as Assembled
  }

  /** The class of a kind of request, the same object for all kinds to which the same rules apply. */
  classOf({ request, isPathless }: RequestKind): RequestClass {
    if (!request) return MALFORMED
    const { configuration: whole } = this.rules
    const configuration = { ...whole, policies: setFor(whole.policies, request) }
    const { rules } = matchRoutes({ event: undefined, now: 0, request, configuration })
    const route = isPathless ? '*' : (rules?.routes[0]?.pattern.text ?? '*')
    const made = { request, configuration, rules, route }
    if (!rules || rules.costs.some(isByValue)) return made
    const id = `${request.apiId}/${request.stageName}\n${route}\n${rules.scopes.join('\n')}`
    const known = this.byRules.get(id) ?? made
    this.byRules.set(id, known)
    return known
  }

  prepare(line: LoggedRequest, caller: Caller, { request, configuration, rules, route }: RequestClass): Prepared {
    const now = line.at
    const done = (charges: Prepared['charges'], tier = ''): Prepared => ({ tier, route, charges, isLasting: false })
    if (wasRefused(line)) return done(line.reason as Reason)
    if (!request || !configuration) return done('malformed')
    const start = {
      event: undefined,
      now,
      request,
      configuration,
      sources: SOURCES,
      keyOf: (subject: string) => subject,
    }
    const atAddress = checkAddress({ ...start, request: { ...request, sourceIp: line.sender.ip } }, this.parts)
    if (atAddress.outcome) return done(atAddress.outcome.reason!)
    const found = { ...start, address: caller.address, access: atAddress.access, ip: caller.ip }
    if (isPreflight(line)) {
      const planned = planPreflight(found, this.parts)
      return done(typeof planned === 'string' ? planned : planned.charges)
    }
    if (!rules) return done('malformed')
    const { client } = caller
    if (client && (client.disabled || now >= (client.expiresAt ?? Infinity))) return done('unauthorized')
    const ofClient = client && configuration.access.ofClient(client.id, now)
    if (ofClient === 'block') return done('blocked')
    const trace = {
      ...found,
      request: { ...request, headers: headersOf(line) },
      rules,
      identity: caller.identity,
      ...(ofClient && { access: ofClient }),
    }
    const selected = selectTier(trace, this.parts)
    if (selected.outcome || !selected.tier) return done(selected.outcome!.reason!, selected.tier?.name)
    const tier = selected.tier
    const planned = planCharges({ ...trace, tier }, this.parts)
    if (planned.outcome) return done(planned.outcome.reason!, tier.name)
    const plan = planned.plan!
    const inputs = inputsOf(trace)
    const keys = plan.groups.map(({ who, route: own }) => subjectOf(who, inputs, own))
    const isUnknown = rules.costs.some(dependsOnUnknown(line))
    const units = isUnknown ? unitsOf(planned.units!, line) : planned.units!
    const charges = plan.chargesFor(keys, units, { key: inputs.caller ?? inputs.address, weight: tier.weight })
    const isLasting =
      !this.rules.hasAccess && !isUnknown && line.values === undefined && (!client || isLastingClient(client))
    return {
      tier: tier.name,
      route,
      charges: plan.holding ? charges : charges.map(toUnits),
      isLasting,
      ...(plan.holding && { holding: { ...plan.holding, caller: inputs.caller ?? inputs.address } }),
      ...(isUnknown && { unknownCost: true }),
    }
  }
}

/** A log has no headers; but of a preflight, the authorizer named this policy. */
export const isPreflight = ({ target, policy }: LoggedRequest): boolean =>
  policy === 'preflight' && target.method === 'OPTIONS'

const NO_HEADERS: ReadonlyMap<string, string> = new Map()

function headersOf({ values }: LoggedRequest): ReadonlyMap<string, string> {
  if (!values) return NO_HEADERS
  return new Map([...values].flatMap(([name, value]) => (name.startsWith('header:') ? [[name.slice(7), value]] : [])))
}

/** Whether nothing about a client ends at some time. */
const isLastingClient = ({ overrides, expiresAt }: Client): boolean =>
  expiresAt === undefined && Object.values(overrides).every(({ until }) => until === undefined)

/** Whether a route's cost depends on the request. */
const isByValue = ({ cost, costs }: Costs): boolean =>
  [cost, ...Object.values(costs ?? {})].some((one) => typeof one !== 'number')

/** Whether a cost is by a header, or by a claim or query that the line does not have. */
const dependsOnUnknown =
  ({ values, target }: LoggedRequest) =>
  ({ cost, costs }: Costs): boolean =>
    [cost, ...Object.values(costs ?? {})].some((one) => {
      if (typeof one === 'number') return false
      const { source, name } = one
      if (source === 'path') return false
      if (source === 'query') return !target.path?.includes('?')
      return values?.has(`${source}:${name}`) !== true
    })

/** Units as the authorizer charged them then, where the log has them; a denial was charged nothing. */
function unitsOf(byRules: Units, { cost, costs }: LoggedRequest): Units {
  const named = Object.entries(byRules.costs ?? {}).map(([name, units]) => [name, costs?.get(name) || units])
  return { cost: cost || byRules.cost, ...(byRules.costs && { costs: Object.fromEntries(named) }) }
}
