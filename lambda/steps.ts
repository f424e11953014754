import type { ReservedDecision } from '../limiter/options'
import type { Charge } from '../limiter/rate-limiter'
import type { AuthorizerParts } from './authorizer-parts'
import type { Holding } from './charge-plans'
import { chargedBy } from './charged-units'
import type { Configuration } from './config-table/configuration'
import { type Client, clientAt } from './config-table/items/client-item'
import { setFor } from './config-table/items/scoped-set'
import { SigningKeys } from './config-table/items/signing-keys'
import { ANONYMOUS, type Tier } from './config-table/items/tiers'
import { SubjectKeys } from './config-table/subject-keys'
import { unitsFor } from './cost'
import { addressKey, addressOf } from './identity/client-ip'
import type { FailedCredentials } from './identity/failed-credentials'
import { identify } from './identity/identify'
import { knownIn, type RequestTrace, type TraceWith } from './request-trace'
import type { Outcome } from './responses/context'
import type { GatewayRequest } from './responses/request'
import { type Rules, rulesFor } from './rules'
import { inputsOf, subjectOf } from './subjects'
import { errorDetails } from './telemetry/log'
import { undecided, unverified } from './undecided'
import type { Check } from './upstream/check'

/** The parts, and the failed credentials that an instance remembers by address. */
export interface Assembled extends AuthorizerParts {
  readonly failedCredentials: FailedCredentials<Client>
}

/** What one step adds to the trace. A step that adds an outcome is the last one. */
type Found = Partial<RequestTrace>

type Step = (trace: RequestTrace, parts: Assembled) => Found | Promise<Found>

const WITHOUT_SECRET = new SubjectKeys()
const WITHOUT_SIGNATURES = new SigningKeys()

async function readConfiguration({ request, now }: TraceWith<'request'>, parts: Assembled): Promise<Found> {
  const [current, subjectKeys, signingKeys = WITHOUT_SIGNATURES] = await Promise.all([
    parts.configuration.current(),
    parts.subjectKeys?.current() ?? WITHOUT_SECRET,
    parts.signingKeys?.current(),
  ])
  if (!current || !subjectKeys) return { outcome: unverified(parts) }
  return {
    configuration: { ...current, policies: setFor(current.policies, request) },
    sources: parts.sources.of(current.policies.settings), // one list for all APIs
    keyOf: (subject) => subjectKeys.keyOf(subject, now),
    provenanceOf: (apiKey) => signingKeys.provenanceOf(apiKey),
  }
}

export function checkAddress(
  { request, configuration, sources, keyOf, now }: TraceWith<'request' | 'configuration' | 'sources' | 'keyOf'>,
  { ipv6Prefix }: Assembled,
): Found {
  const ip = addressOf(request, sources.address)
  const address = `ip:${ip ? addressKey(ip, sources.address.ipv6Prefix ?? ipv6Prefix) : 'unknown'}`
  const access = configuration.access.ofAddress(ip, now)
  return { ip, address, access, ...(access === 'block' && { outcome: blocked(keyOf(address)) }) }
}

/** @param subject so that the log and the access log name whom it is about. */
const blocked = (subject: string): Outcome => ({ reason: 'blocked', subject })

/** Calls the upstream authorizer, where there is one. A request passes only if that grants it. */
export async function askUpstream(trace: RequestTrace, { upstream: asked, log }: AuthorizerParts): Promise<Found> {
  const upstream = (await asked?.check(trace.event, trace.request!)) ?? NO_UPSTREAM
  if (upstream.kind === 'unavailable') log('error', 'upstream_unavailable', errorDetails(upstream.cause))
  return { upstream, ...(upstream.kind !== 'granted' && { outcome: { reason: refusalOf(upstream) } }) }
}

const NO_UPSTREAM: Check = { kind: 'granted', grant: { context: {} } }

/**
 * On a REST API a Deny becomes a 429, so the upstream's denial is a 401 there; on an HTTP API every denial is a 403.
 */
const refusalOf = ({ kind }: Check) => (kind === 'denied' ? 'unauthorized' : 'unverified')

export function matchRoutes({ request, configuration }: TraceWith<'request' | 'configuration'>): Found {
  const rules = rulesFor(configuration.policies, request)
  if (!rules) return { outcome: { reason: 'malformed' } }
  return { rules, ...(isPreflight(request, rules) && { verified: true }) }
}

/**
 * Preflights have no credentials, and a limit of their own. Where a route is configured for `OPTIONS`, its rules apply
 * instead.
 */
const isPreflight = ({ preflight }: GatewayRequest, { routes }: Rules): boolean =>
  preflight && !routes.some(({ pattern }) => pattern.method === 'OPTIONS')

async function decidePreflight(trace: TraceWith<FirstFindings>, parts: Assembled): Promise<Found> {
  const { verified, configuration, address, keyOf } = trace
  if (!verified) return {}
  const about = { subject: keyOf(address) }
  const planned = planPreflight(trace, parts)
  if (typeof planned === 'string') return { outcome: { ...about, reason: planned } }
  const { charges, plan, units } = planned
  const { taken, ...outcome } = await decided(charges, parts, configuration)
  return { plan, units, taken, outcome: { ...about, ...outcome } }
}

/** What a preflight charges, or why nothing. */
export function planPreflight(
  {
    configuration,
    access,
    address,
    keyOf,
  }: Pick<TraceWith<FirstFindings>, 'configuration' | 'access' | 'address' | 'keyOf'>,
  { plans }: Assembled,
): 'exempt' | 'uncounted' | (Required<Pick<RequestTrace, 'plan' | 'units'>> & { readonly charges: readonly Charge[] }) {
  const passes = passesUncounted(configuration, access)
  if (passes) return passes
  const plan = plans.preflightPlan(configuration)
  const units = { cost: 1 }
  return { plan, units, charges: plan.chargesFor([keyOf(`preflight:${address}`)], units) }
}

/** What is known after the first steps. */
type FirstFindings = 'request' | 'configuration' | 'sources' | 'keyOf' | 'address' | 'rules'

async function identifyCaller(trace: TraceWith<FirstFindings | 'provenanceOf'>, parts: Assembled): Promise<Found> {
  const { request, configuration, sources, address, keyOf, provenanceOf, now } = trace
  const { policies, access, identityUnknown } = configuration
  if (identityUnknown && parts.authentication !== 'none') return { outcome: unverified(parts) }
  const { failedCredentials } = policies.settings
  const clients = parts.failedCredentials.directoryFor(address, failedCredentials, provenanceOf)
  const identity = await identify(request, sources.list, clients, now)
  if (identity.kind === 'rejected') return { identity, outcome: { reason: 'unauthorized' } }
  if (identity.kind === 'unavailable') {
    parts.log('error', 'identity_unavailable', errorDetails(identity.cause))
    return { identity, outcome: { reason: 'unverified' } }
  }
  const { client, caller = '' } = (identity.kind === 'known' && identity) || {}
  const ofClient = client && access.ofClient(client.id, now)
  if (ofClient === 'block') return { identity, outcome: blocked(keyOf(caller)) }
  return { identity, ...(ofClient && { access: ofClient }) }
}

export function selectTier(trace: TraceWith<FirstFindings | 'identity'>, parts: Assembled): Found {
  const { configuration, rules, identity } = trace
  const known = knownIn(trace)
  const tier = tierOf(configuration, known)
  if (!tier) return { outcome: undecided(parts) }
  const credentials = known && !known.unchecked ? [] : [tier.credentials, rules.credentials]
  if (credentials.includes('required')) {
    const { unchecked } = identity as { readonly unchecked?: string }
    if (unchecked === 'unavailable') return { tier, outcome: unverified(parts) }
    // no error is logged for an address that shows many wrong credentials: it could fill the log
    const reason = unchecked === 'limited' ? 'unavailable' : 'unauthorized'
    return { tier, outcome: { ...aboutCaller({ ...trace, tier }), reason } }
  }
  if (tier.credentials === 'unknown' || (credentials.includes('unknown') && parts.authentication !== 'none'))
    return { tier, outcome: unverified(parts) }
  return { tier, verified: true }
}

/** Whom an outcome is about: the caller's tier, and the key of its state. */
const aboutCaller = (trace: TraceWith<'tier' | 'keyOf' | 'address'>) => ({
  tier: trace.tier.name,
  subject: trace.keyOf(knownIn(trace)?.caller ?? trace.address),
})

export function planCharges(trace: TraceWith<FirstFindings | 'tier'>, { plans }: Assembled): Found {
  const { request, configuration, access, tier, rules, now } = trace
  const { client, claims = {} } = knownIn(trace) ?? {}
  const passes = passesUncounted(configuration, access)
  if (passes) return { outcome: { ...aboutCaller(trace), reason: passes } }
  const plan = plans.planFor(configuration, tier, rules, client && clientAt(client, now))
  const units = unitsFor(rules.costs, { ...request, claims })
  const reason = plan.isTooMuch ? 'malformed' : plan.takes(units) ? undefined : 'uncounted'
  return { plan, units, ...(reason && { outcome: { ...aboutCaller(trace), reason } }) }
}

async function decideCharges(
  trace: TraceWith<FirstFindings | 'tier' | 'plan' | 'units'>,
  parts: Assembled,
): Promise<Found> {
  const { configuration, keyOf, tier, plan, units } = trace
  const inputs = inputsOf(trace)
  const keys = plan.groups.map(({ who, route }) => keyOf(subjectOf(who, inputs, route)))
  const about = aboutCaller(trace)
  const charges = plan.chargesFor(keys, units, { key: about.subject, weight: tier.weight })
  const { taken, ...outcome } = await decided(charges, parts, configuration, tier, plan.holding, about.subject)
  return { taken, outcome: { ...about, ...outcome } }
}

/** From the event to the outcome, in this order: the first step that finds one is the last. */
const STEPS = {
  readConfiguration,
  checkAddress,
  askUpstream,
  matchRoutes,
  decidePreflight,
  identifyCaller,
  selectTier,
  planCharges,
  decideCharges,
}

/** What stands for some of the steps, by their names. Each is given what the steps before it have found. */
export type OwnSteps = {
  readonly [Name in keyof typeof STEPS]?: (
    trace: Parameters<(typeof STEPS)[Name]>[0],
    parts: Assembled,
  ) => Found | Promise<Found>
}

/** All steps in their order, with one's own in the places of those of the same names. */
export const stepsWith = (own: OwnSteps = {}) => Object.values({ ...STEPS, ...own }) as readonly Step[]

const passesUncounted = ({ policies }: Configuration, access: RequestTrace['access']) =>
  access === 'allow' ? 'exempt' : policies.settings.mode === 'off' ? 'uncounted' : undefined

async function decided(
  charges: readonly Charge[],
  { limiter, failOpen, log }: AuthorizerParts,
  { policies }: Configuration,
  { name: tier = '', failureMode = failOpen ? undefined : 'deny' }: Partial<Tier> = {},
  holding?: Holding,
  caller?: string,
): Promise<Pick<Outcome, 'decision' | 'reservation'> & ReturnType<typeof chargedBy>> {
  const withoutStore = { onStoreError: failureMode, localShare: policies.settings.localShare }
  const reserving = holding && (await import('../limiter/reservations/reservation.ts'))
  const { reservation, ...decision }: ReservedDecision = reserving
    ? await reserving.reserve(limiter, charges, holding.forMs, holding.isSettled, withoutStore, caller)
    : await limiter.decide(charges, withoutStore)
  const { degraded, policy, failure } = decision
  if (degraded) log('warn', 'decision_without_store', { tier, policy, failure })
  return { decision, reservation, ...chargedBy(decision, charges, holding?.isSettled) }
}

/**
 * The caller's tier; where that does not exist, the default one; and the anonymous tier for anonymous callers, or as
 * the last resort.
 */
function tierOf({ policies: { tiers, settings } }: Configuration, known: { readonly tier?: string } | undefined) {
  const names = known ? [known.tier, settings.defaultTier, ANONYMOUS] : [ANONYMOUS]
  return names.map((name) => (name === undefined ? undefined : tiers.get(name))).find((tier) => tier !== undefined)
}
