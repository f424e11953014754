import type { Clock, EpochMs } from './clock'
import type { Check, Checker } from './delegate/check'
import { addressKey, addressOf } from './identity/client-ip'
import { type Directory, identify } from './identity/identify'
import type { Sources } from './identity/sources'
import type { IpAddress } from './ip-address'
import type { RateLimiter } from './limiter/rate-limiter'
import { subjectKey } from './limiter/subject-key'
import { routeOf } from './policies/policy-set'
import type { Settings } from './policies/settings'
import { ANONYMOUS } from './policies/tiers'
import { type AuthorizerAnswer, type Grant, toAnswer } from './responses/answers'
import { type AuthorizerContext, type Outcome, toContext } from './responses/context'
import { fromEvent, type GatewayRequest } from './responses/request'
import { type Asking, subjectOf } from './subjects'
import { errorDetails, type Log } from './telemetry/log'
import type { Origin, Telemetry } from './telemetry/telemetry'
import type { Client } from './tiers/client-item'
import type { Plans } from './tiers/plans'
import type { Configuration } from './tiers/policy-sets'

export interface AuthorizerParts {
  readonly limiter: Pick<RateLimiter, 'decide'>
  readonly configuration: { current(): Promise<Configuration | undefined> }
  readonly plans: Plans
  readonly clients: Directory<Client>
  readonly sources: Sources
  readonly clock: Clock
  /** Lets time pass, in milliseconds. @default a timer */
  readonly wait?: (ms: number) => Promise<void>
  readonly log: Log
  /** Bits of an IPv6 address that tell callers apart, where the settings say nothing. */
  readonly ipv6Prefix: number
  /** Whether requests pass when nothing can be decided, not even by the failure mode: without tiers, or without a table that was ever there. */
  readonly allowUndecided: boolean
  /** Whether requests over the limit pass on HTTP APIs, for the backend to answer 429. @default false */
  readonly backendAnswers?: boolean
  /** Who is asked before anything is counted, and without whose yes nothing passes. @default nobody */
  readonly delegate?: Checker
  /** Who is told of every answer. @default nobody */
  readonly telemetry?: Pick<Telemetry, 'answered'>
}

type Authorizer = (event: unknown) => Promise<AuthorizerAnswer>

/**
 * Makes the authorizer: any event in, an answer out. The only error that it throws is the one by which REST and WebSocket APIs answer 401.
 *
 * Order: blocked addresses, the delegate, who is asking, blocked clients, and then one decision over the global, the route's and the tier's policies.
 */
export function makeAuthorizer(parts: AuthorizerParts): Authorizer {
  return async (event) => {
    const now = parts.clock()
    const request = fromEvent(event)
    if (!request) return answer(parts, undefined, { reason: 'malformed', now }, {})
    const seen: Seen = {}
    const check = checkOnce(event, request, parts)
    const outcome: Outcome = request.preflight ? { reason: 'uncounted', now } : await outcomeOrFallback(request, parts, now, check, seen)
    if (outcome.reason === 'blocked') return answer(parts, request, outcome, seen)
    const checked = await check() // whatever came of the rest: nothing passes unchecked
    if (checked.kind !== 'granted') return answer(parts, request, { reason: refusalOf(checked), now }, seen)
    return answer(parts, request, { ...outcome, waitedMs: await turnOf(outcome, parts) }, seen, checked.grant)
  }
}

/** What was found out about a request on the way, for whatever comes of it to be logged. */
interface Seen {
  ip?: IpAddress
  /** `ip:203.0.113.7`, as it is counted. */
  address?: string
  caller?: string
  route?: string
}

/** When the answer is given at the latest, in milliseconds after the event came: an HTTP API waits 10 s for it. */
const LATEST_ANSWER_MS = 8500

/** Waits until it is an allowed request's turn, as far as that is for the authorizer to do and there is time; returns how much of the delay is over. */
async function turnOf({ decision, now }: Outcome, { clock, wait = timer }: AuthorizerParts): Promise<number> {
  const waitMs = Math.min(decision?.waitMs ?? 0, LATEST_ANSWER_MS - (clock() - now))
  if (waitMs <= 0) return 0
  await wait(waitMs)
  return waitMs
}

const timer = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

type CheckOnce = () => Promise<Check>

const NO_DELEGATE: Check = { kind: 'granted', grant: { context: {} } }

/** Asks the delegate when first called, and gives the same answer from then on. */
function checkOnce(event: unknown, request: GatewayRequest, { delegate, log }: AuthorizerParts): CheckOnce {
  let asked: Promise<Check> | undefined
  const ask = async () => {
    const check = (await delegate?.check(event, request)) ?? NO_DELEGATE
    if (check.kind === 'unavailable') log('error', 'the delegate cannot be asked', errorDetails(check.cause))
    return check
  }
  return () => {
    asked ??= ask()
    return asked
  }
}

/** A REST API's Deny is a 429, so the delegate's denial is a 401 there; of an HTTP API every denial is a 403. */
function refusalOf({ kind }: Exclude<Check, { readonly kind: 'granted' }>): 'unauthorized' | 'unavailable' {
  return kind === 'denied' ? 'unauthorized' : 'unavailable'
}

async function outcomeOrFallback(
  request: GatewayRequest,
  parts: AuthorizerParts,
  now: EpochMs,
  check: CheckOnce,
  seen: Seen,
): Promise<Outcome> {
  try {
    return await outcomeOf(request, parts, now, check, seen)
  } catch (error) {
    parts.log('error', 'a request could not be decided', errorDetails(error))
    return undecided(parts, now)
  }
}

async function outcomeOf(request: GatewayRequest, parts: AuthorizerParts, now: EpochMs, check: CheckOnce, seen: Seen): Promise<Outcome> {
  const configuration = await parts.configuration.current()
  if (!configuration) return undecided(parts, now)
  const { policies: set, access } = configuration
  const sources = parts.sources.of(set.settings)

  const ip = addressOf(request, sources.address)
  const address = `ip:${ip ? addressKey(ip, sources.address.ipv6Prefix ?? parts.ipv6Prefix) : 'unknown'}`
  Object.assign(seen, { ip, address })
  const ofAddress = access.ofAddress(ip, now)
  if (ofAddress === 'block') return { reason: 'blocked', now }
  const checked = await check()
  if (checked.kind !== 'granted') return { reason: refusalOf(checked), now }

  const identity = await identify(request, sources.list, parts.clients, now)
  if (identity.kind === 'rejected') return { reason: 'unauthorized', now }
  if (identity.kind === 'unavailable') {
    parts.log('error', 'credentials cannot be checked', errorDetails(identity.cause))
    return { reason: 'unavailable', now }
  }
  const known = identity.kind === 'known' ? identity : undefined
  seen.caller = known?.caller
  const ofClient = known?.client && access.ofClient(known.client.id, now)
  if (ofClient === 'block') return { reason: 'blocked', now }

  const tier = tierOf(configuration, known)
  if (!tier) return undecided(parts, now)
  const route = routeOf(set, request.method, request.path)
  seen.route = route?.pattern.text
  const caller = known?.caller ?? address
  const about = { tier: tier.name, subject: subjectKey(caller), now }
  if (!known && (tier.credentials === 'required' || route?.credentials === 'required')) return { ...about, reason: 'unauthorized' }
  if (ofAddress === 'allow' || ofClient === 'allow') return { ...about, reason: 'exempt' }

  if (set.settings.mode === 'off') return { ...about, reason: 'uncounted' }
  const plan = parts.plans.planFor(configuration, tier, route, known?.client)
  if (plan.cost === 0 || plan.groups.length === 0) return { ...about, reason: 'uncounted' }
  const asking: Asking = {
    caller,
    user: known?.user ?? address,
    address,
    headers: trusted(request, set.settings),
    claims: known?.claims ?? {},
    route: route?.pattern.text,
  }
  const charges = plan.chargesFor(plan.groups.map(({ who }) => subjectKey(subjectOf(who, asking))))
  const { onStoreError = parts.allowUndecided ? undefined : 'deny' } = tier
  const decision = await parts.limiter.decide(charges, { onStoreError, localShare: set.settings.localShare })
  if (decision.degraded) parts.log('warn', 'a decision was made without the store', { tier: tier.name, policy: decision.policy })
  const turnedAway = decision.degraded && !decision.allowed && onStoreError === 'deny' // by the failure mode, whatever was counted
  return { ...about, decision, reason: turnedAway ? 'unavailable' : undefined, shapes: charges.flatMap(({ policies }) => policies) }
}

/** The headers by which policies may count. One that nobody vouches for is as if it were not there, whatever a policy says. */
function trusted({ headers }: GatewayRequest, { trustedHeaders }: Settings): ReadonlyMap<string, string> {
  return new Map(trustedHeaders.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!] as const] : [])))
}

/** The caller's tier; where that is not there, the default one; and that of strangers for strangers, or when nothing else is there. */
function tierOf({ policies: { tiers, settings } }: Configuration, known: { readonly tier?: string } | undefined) {
  const names = known ? [known.tier, settings.defaultTier, ANONYMOUS] : [ANONYMOUS]
  return names.map((name) => (name === undefined ? undefined : tiers.get(name))).find((tier) => tier !== undefined)
}

function undecided({ allowUndecided }: AuthorizerParts, now: EpochMs): Outcome {
  return { reason: allowUndecided ? 'uncounted' : 'unavailable', degraded: true, now }
}

function answer(
  { backendAnswers, telemetry }: AuthorizerParts,
  request: GatewayRequest | undefined,
  outcome: Outcome,
  seen: Seen,
  grant?: Grant,
): AuthorizerAnswer {
  const context = toContext(outcome)
  telemetry?.answered(context, outcome.decision, originOf(context, request, seen), outcome.now)
  return toAnswer(request, { allowed: context.allowed, context, principalId: outcome.subject ?? '', backendAnswers, grant })
}

/** Methods of HTTP; another is whatever a client made up. */
const METHOD = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/

function originOf(
  { subject, allowed }: AuthorizerContext,
  request: GatewayRequest | undefined,
  { ip, address, caller, route }: Seen,
): Origin {
  return {
    subject: subject || (address === undefined || allowed ? '' : subjectKey(address)),
    method: request && (METHOD.test(request.method) ? request.method : 'other'),
    route: route ?? request?.resource.slice(0, 128),
    caller: () => ({ caller, ip: ip && addressKey(ip, 0) }),
  }
}
