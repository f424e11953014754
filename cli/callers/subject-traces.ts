import { UserError } from '../exit'
import { AccessList, inputsOf, type SubjectInputs } from '../facade/callers'
import {
  type AuthorizerContext,
  contextOf,
  type Decision,
  makeDecider,
  type OwnSteps,
  Plan,
  type PlanGroup,
  planCharges,
  type ReadOnlyParts,
  type RequestTrace,
  type TraceWith,
  type Units,
} from '../facade/decisions'
import type { Configuration, Dimension, Tier } from '../facade/policies'
import { type Asked, isCounted } from './asked'

/** What a request asks for. */
export interface Requested {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** `limit=100`. @default none */
  readonly query?: string
}

/** What the authorizer would say to a request. */
export interface Verdict {
  readonly context: AuthorizerContext
  /** What the limits said; absent where something else decides. */
  readonly decision: Decision | undefined
  /** What the request takes; `undefined` where it is denied before that is known. */
  readonly units: Units | undefined
  /** The policies that were asked; absent where something else decides before. */
  readonly plan: Plan | undefined
  /** Policies by something that is not known of the request. */
  readonly unasked: readonly PlanGroup[]
  readonly trace: RequestTrace
}

/** What limits hold a subject to. */
export interface Held extends Pick<RequestTrace, 'now' | 'identity' | 'tier'> {
  readonly configuration: Configuration
  readonly inputs: SubjectInputs
}

/** A trace in which the caller is known, as far as it will be. */
type Identified = Parameters<typeof inputsOf>[0]

/** A trace with what the command line's own step found. */
type AskedTrace = TraceWith<'outcome'> & { readonly unasked?: readonly PlanGroup[] }

/**
 * What the authorizer would say to a request of a subject: its own steps decide, with a limiter that charges nothing.
 * Policies by what is not known of the request, such as a client's address, are left out.
 *
 * @param given takes the place of what the request's routes say that it costs.
 *
 * @throws what the limiter throws.
 */
export async function decideFor(
  asked: Asked,
  request: Requested,
  given: Partial<Units>,
  parts: ReadOnlyParts,
): Promise<Verdict> {
  let failure: unknown
  const decide: ReadOnlyParts['limiter']['decide'] = (charges) =>
    parts.limiter.decide(charges).catch((error) => {
      failure = error
      throw error
    })
  const trace = await run(asked, request, { ...parts, limiter: { decide } }, { planCharges: planOf(asked, given) })
  if (failure !== undefined) throw failure // the failure mode is for requests, not for whoever looks
  const { outcome, plan, unasked = [] } = trace
  return {
    context: contextOf(trace),
    decision: outcome.decision,
    units: trace.units,
    plan,
    unasked,
    trace,
  }
}

/** What comes before the limits of a subject's requests; its outcome has a reason only where they do not decide. */
export const traceBeforeLimits = (
  asked: Asked,
  request: Requested,
  parts: ReadOnlyParts,
): Promise<TraceWith<'outcome'>> => run(asked, request, parts, { decideCharges: stop })

/** What limits hold a subject to, as if nothing stood before them: no block, no disabled or expired record. */
export async function heldTo(asked: Asked, request: Requested, parts: ReadOnlyParts): Promise<Held> {
  const configuration = async () => {
    const current = await parts.configuration.current()
    return current && { ...current, access: new AccessList([]), identityUnknown: false }
  }
  const { record } = asked
  const clients: ReadOnlyParts['clients'] = {
    async find(credential, apiKey) {
      const found = await parts.clients.find(credential, apiKey)
      if (typeof found === 'object') return { ...found, disabled: false, expiresAt: undefined }
      // an invalid record names its client all the same
      const { id, tier }: Readonly<Record<string, unknown>> = record?.item ?? {}
      return typeof id === 'string' && typeof tier === 'string' ? { id, tier, overrides: {}, disabled: false } : found
    },
  }
  const own = { ...parts, clients, configuration: { current: configuration } }
  const trace = await run(asked, request, own, { planCharges: stop })
  if (!trace.configuration) throw new UserError(['the configuration cannot be read', ...parts.logged].join('; '))
  return {
    now: trace.now,
    configuration: trace.configuration,
    identity: trace.identity,
    tier: trace.tier === NO_TIER ? undefined : trace.tier,
    inputs: inputsOf(trace as Identified),
  }
}

async function run(asked: Asked, request: Requested, parts: ReadOnlyParts, steps: OwnSteps): Promise<AskedTrace> {
  const { claim, tier } = asked
  const decide = makeDecider({
    ...parts,
    steps: { ...stepsOf(asked), ...steps },
    sources: {
      of: (settings) => ({
        list: claim ? [{ resolve: () => claim }] : [],
        address: { ...parts.sources.of(settings).address, trustedHops: 0, viewerAddress: false },
      }),
    },
    clients: {
      async find(credential, apiKey) {
        const found = await parts.clients.find(credential, apiKey)
        return tier !== undefined && typeof found === 'object' ? { ...found, tier } : found
      },
    },
  })
  return decide(eventOf(asked, request))
}

/** What stands for a step where the subject is not one that a request can show. */
const stepsOf = ({ kind, name, tier, address }: Asked): OwnSteps => ({
  ...(kind === 'part' && tier === undefined && { selectTier: () => ({ tier: NO_TIER, verified: true }) }),
  // the hash of an address
  ...(name.startsWith('ip:') && address === undefined && { checkAddress: () => ({ address: name }) }),
})

/** The tier of callers of whom nothing is known. */
const NO_TIER: Tier = { name: '', credentials: 'optional', weight: 1, policies: [] }

/** Ends a trace before its limits are asked. */
const stop = () => ({ outcome: {} })

/** Plans as the authorizer does, and asks the limits where only the routes, and not what is given, cost nothing. */
const planOf =
  (asked: Asked, given: Partial<Units>): NonNullable<OwnSteps['planCharges']> =>
  (trace, parts) => {
    const found = planCharges(trace, parts)
    const { plan, outcome } = found
    if (!plan || !found.units) return found
    const units = costing(found.units, given)
    if (outcome && (outcome.reason !== 'uncounted' || !plan.takes(units))) return found
    return { ...narrowedTo(asked, plan, inputsOf(trace)), units }
  }

/** Leaves out of the plan what counts by something that is not known of the request. */
function narrowedTo(asked: Asked, { groups }: Plan, inputs: SubjectInputs) {
  const isAsked = ({ who, route }: PlanGroup) =>
    asked.kind === 'part' ? isCounted(asked, who, route, inputs) : !who.some((dimension) => isUnknown(asked, dimension))
  const plan = new Plan(groups.filter(isAsked))
  const unasked = asked.kind === 'part' ? [] : groups.filter((group) => !isAsked(group))
  return { plan, unasked, ...(plan.groups.length === 0 && { outcome: { reason: 'uncounted' } as const }) }
}

/** What a request takes by what is given, and else by its routes. */
export const costing = (ofRoutes: Units, { cost = ofRoutes.cost, costs }: Partial<Units>): Units => ({
  cost,
  costs: costs ? { ...ofRoutes.costs, ...costs } : ofRoutes.costs,
})

/** An anonymous caller is taken to send no header that policies count by. */
function isUnknown({ kind, name, at }: Asked, dimension: Dimension): boolean {
  if (dimension === 'api') return at.apiId === undefined
  if (dimension === 'stage') return at.stageName === undefined
  if (kind === 'anonymous' || dimension === 'client' || dimension === 'global') return false
  return dimension !== 'user' || name.startsWith('client@') // a token names the user as well
}

/** A stage that nobody names: what is for an API, and not for one of its stages, holds there. */
const ANY_STAGE = '-'

/** What API Gateway would send. */
const eventOf = ({ at, address, headers }: Asked, { method, path, query }: Requested) => ({
  httpMethod: method,
  path,
  headers,
  multiValueQueryStringParameters: valuesOf(query),
  requestContext: {
    domainName: 'subject.execute-api.local',
    apiId: at.apiId,
    stage: at.stageName ?? (at.apiId && ANY_STAGE),
    identity: { sourceIp: address },
  },
})

function valuesOf(query: string | undefined): Readonly<Record<string, readonly string[]>> {
  const values = new URLSearchParams(query)
  return Object.fromEntries([...new Set(values.keys())].map((name) => [name, values.getAll(name)]))
}

/** A request that only a route for all requests is for: no other has its method, or so many segments. */
export const OTHER_REQUEST: Requested = { method: 'OTHER', path: '/-'.repeat(201) }
