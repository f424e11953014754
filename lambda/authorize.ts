import type { Clock, EpochMs } from '../limiter/clock'
import type { Charge, RateLimiter } from '../limiter/rate-limiter'
import type { Plans } from './charge-plans'
import type { Configuration } from './config-table/configuration'
import { type Client, clientAt } from './config-table/items/client-item'
import { setFor } from './config-table/items/scoped-set'
import type { Settings } from './config-table/items/settings'
import { ANONYMOUS, type Tier } from './config-table/items/tiers'
import { SubjectKeys } from './config-table/subject-keys'
import { addressKey, addressOf } from './identity/client-ip'
import { FailedCredentials, type RememberingDirectory } from './identity/failed-credentials'
import { identify } from './identity/identify'
import type { Sources } from './identity/sources'
import type { IpAddress } from './ip-address'
import { type AuthorizerAnswer, type Grant, toAnswer } from './responses/answers'
import { type AuthorizerContext, type Outcome, toContext } from './responses/context'
import { fromEvent, type GatewayRequest } from './responses/request'
import { type Rules, rulesFor } from './rules'
import { type Asking, subjectOf } from './subjects'
import { errorDetails, type Log } from './telemetry/log'
import type { Origin, Telemetry } from './telemetry/telemetry'
import type { Check, Checker } from './upstream/check'

export interface AuthorizerParts {
  readonly limiter: Pick<RateLimiter, 'decide'>
  readonly configuration: { current(): Promise<Configuration | undefined> }
  /** Under which hashes subjects are stored; `undefined` while nobody can say. @default hashes without a secret */
  readonly subjectKeys?: { current(): Promise<SubjectKeys | undefined> }
  readonly plans: Plans
  /** Asked for made-up credentials only as often as `settings.failedCredentials` allows. */
  readonly clients: RememberingDirectory<Client>
  readonly sources: Sources
  readonly clock: Clock
  /** Lets time pass, in milliseconds. @default a timer */
  readonly wait?: (ms: number) => Promise<void>
  readonly log: Log
  /** Bits of an IPv6 address that tell callers apart, where the settings say nothing. */
  readonly ipv6Prefix: number
  /**
   * Whether requests pass uncounted when nothing can be decided, not even by the failure mode: without tiers, or
   * without a table that was ever there.
   */
  readonly allowUndecided: boolean
  /**
   * `none`: no caller of this deployment has to be verified, whatever cannot be read. @default 'config': what cannot be
   * verified is refused
   */
  readonly authentication?: 'config' | 'none'
  /** Whether requests over the limit pass on HTTP APIs, for the backend to answer 429. @default false */
  readonly backendAnswers?: boolean
  /** Who is asked before anything is counted, and without whose yes nothing passes. @default nobody */
  readonly delegate?: Checker
  /** Who is told of every answer. @default nobody */
  readonly telemetry?: Pick<Telemetry, 'answered'>
}

type Authorizer = (event: unknown) => Promise<AuthorizerAnswer>

/** With what an instance remembers of addresses. */
interface Assembled extends AuthorizerParts {
  readonly failedCredentials: FailedCredentials<Client>
}

/**
 * Makes the authorizer: any event in, an answer out. The only errors that it throws are those by which REST and
 * WebSocket APIs answer 401, and 500 where it cannot be known whether a caller has to be verified, or what verifies
 * him.
 *
 * Order: blocked addresses, the delegate, preflights, who is asking, blocked clients, and then one decision over the
 * global, the route's and the tier's policies.
 */
export function makeAuthorizer(made: AuthorizerParts): Authorizer {
  const parts: Assembled = { ...made, failedCredentials: new FailedCredentials(made.clients, made.clock) }
  return async (event) => {
    const now = parts.clock()
    const request = fromEvent(event)
    if (!request) return answer(parts, undefined, { reason: 'malformed', now }, {})
    const seen: Seen = {}
    const check = checkOnce(event, request, parts)
    const outcome = await outcomeOrFallback(request, parts, now, check, seen)
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
  /** The label of the API, or its id. */
  api?: string
  route?: string
  /** Where a subject of this request has its state. */
  keyOf?: (subject: string) => string
  /** Whether the caller may pass, as far as credentials go. */
  verified?: boolean
  /** What the caller's tier wants where the store cannot be asked. */
  onStoreError?: Tier['onStoreError']
}

/** When the answer is given at the latest, in milliseconds after the event came: an HTTP API waits 10 s for it. */
const LATEST_ANSWER_MS = 8500

/**
 * Waits until it is an allowed request's turn, as far as that is for the authorizer to do and there is time; returns
 * how much of the delay is over.
 */
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
function refusalOf({ kind }: Exclude<Check, { readonly kind: 'granted' }>): 'unauthorized' | 'unverified' {
  return kind === 'denied' ? 'unauthorized' : 'unverified'
}

async function outcomeOrFallback(
  request: GatewayRequest,
  parts: Assembled,
  now: EpochMs,
  check: CheckOnce,
  seen: Seen,
): Promise<Outcome> {
  try {
    return await outcomeOf(request, parts, now, check, seen)
  } catch (error) {
    parts.log('error', 'a request could not be decided', errorDetails(error))
    return seen.verified ? undecided(parts, now, seen.onStoreError) : unverified(parts, now)
  }
}

const WITHOUT_SECRET = new SubjectKeys()

async function outcomeOf(
  request: GatewayRequest,
  parts: Assembled,
  now: EpochMs,
  check: CheckOnce,
  seen: Seen,
): Promise<Outcome> {
  const [current, subjectKeys] = await Promise.all([
    parts.configuration.current(),
    parts.subjectKeys?.current() ?? WITHOUT_SECRET,
  ])
  if (!current || !subjectKeys) return unverified(parts, now)
  const { access, identityUnknown = false } = current
  const set = setFor(current.policies, request)
  const configuration = { ...current, policies: set }
  seen.api = request.apiId && (set.apis?.labelOf(request.apiId) ?? request.apiId)
  const sources = parts.sources.of(current.policies.settings) // one for all APIs

  const ip = addressOf(request, sources.address)
  const address = `ip:${ip ? addressKey(ip, sources.address.ipv6Prefix ?? parts.ipv6Prefix) : 'unknown'}`
  const subjectKey = (subject: string) => subjectKeys.keyOf(subject, now)
  Object.assign(seen, { ip, address, keyOf: subjectKey })
  const ofAddress = access.ofAddress(ip, now)
  if (ofAddress === 'block') return { reason: 'blocked', now }
  const checked = await check()
  if (checked.kind !== 'granted') return { reason: refusalOf(checked), now }

  const rules = rulesFor(set, request)
  if (!rules) return { reason: 'malformed', now }
  seen.route = rules.routes[0]?.pattern.text
  if (request.preflight && !hasOptions(rules)) {
    const about = { subject: subjectKey(address), now }
    seen.verified = true
    if (ofAddress === 'allow') return { ...about, reason: 'exempt' }
    if (set.settings.mode === 'off') return { ...about, reason: 'uncounted' }
    const charges = parts.plans.preflightPlan(configuration).chargesFor([subjectKey(`preflight:${address}`)])
    return { ...about, ...(await decided(charges, parts, set.settings, '')) }
  }

  if (identityUnknown && parts.authentication !== 'none') return unverified(parts, now)
  const clients = parts.failedCredentials.directoryFor(address, set.settings.failedCredentials)
  const identity = await identify(request, sources.list, clients, now)
  if (identity.kind === 'rejected') return { reason: 'unauthorized', now }
  if (identity.kind === 'unavailable') {
    parts.log('error', 'credentials cannot be checked', errorDetails(identity.cause))
    return { reason: 'unverified', now }
  }
  const known = identity.kind === 'known' ? identity : undefined
  seen.caller = known?.caller
  const ofClient = known?.client && access.ofClient(known.client.id, now)
  if (ofClient === 'block') return { reason: 'blocked', now }

  const tier = tierOf(configuration, known)
  if (!tier) return undecided(parts, now)
  const caller = known?.caller ?? address
  const about = { tier: tier.name, subject: subjectKey(caller), now }
  const credentials = known && !known.unchecked ? [] : [tier.credentials, rules.credentials]
  if (credentials.includes('required')) {
    if (identity.unchecked === 'unavailable') return unverified(parts, now)
    // who shows bad credentials causes no errors
    return { ...about, reason: identity.unchecked === 'limited' ? 'unavailable' : 'unauthorized' }
  }
  if (tier.credentials === 'unknown' || (credentials.includes('unknown') && parts.authentication !== 'none'))
    return unverified(parts, now)
  Object.assign(seen, { verified: true, onStoreError: tier.onStoreError })
  if (ofAddress === 'allow' || ofClient === 'allow') return { ...about, reason: 'exempt' }

  if (set.settings.mode === 'off') return { ...about, reason: 'uncounted' }
  const plan = parts.plans.planFor(configuration, tier, rules, known?.client && clientAt(known.client, now))
  if (plan.isTooMuch) return { ...about, reason: 'malformed' }
  if (plan.cost === 0 || plan.groups.length === 0) return { ...about, reason: 'uncounted' }
  const asking: Asking = {
    caller,
    user: known?.user ?? address,
    address,
    headers: trusted(request, set.settings),
    claims: known?.claims ?? {},
    namespace: known?.namespace ?? '',
    apiId: request.apiId,
    stageName: request.stageName,
  }
  const charges = plan.chargesFor(plan.groups.map(({ who, route }) => subjectKey(subjectOf(who, asking, route))))
  return { ...about, ...(await decided(charges, parts, set.settings, tier.name, tier.onStoreError)) }
}

async function decided(
  charges: readonly Charge[],
  { limiter, allowUndecided, log }: AuthorizerParts,
  { localShare }: Settings,
  tier: string,
  onStoreError: Tier['onStoreError'] = allowUndecided ? undefined : 'deny',
): Promise<Pick<Outcome, 'decision' | 'reason' | 'shapes'>> {
  const decision = await limiter.decide(charges, { onStoreError, localShare })
  const { degraded, policy, failure } = decision
  if (degraded) log('warn', 'a decision was made without the store', { tier, policy, failure })
  // whatever was counted
  const turnedAway = degraded && !decision.allowed && (onStoreError === 'deny' || failure === 'item')
  return {
    decision,
    reason: turnedAway ? 'unavailable' : undefined,
    shapes: charges.flatMap(({ policies }) => policies),
  }
}

/**
 * Whether a route is configured for `OPTIONS` itself: then its rules hold, for preflights too. Those of `ANY` are not
 * meant for them.
 */
const hasOptions = ({ routes }: Rules): boolean => routes.some(({ pattern }) => pattern.method === 'OPTIONS')

/**
 * The headers by which policies may count. One that nobody vouches for is as if it were not there, whatever a policy
 * says; so is one with several values, for whoever can add one could mint a quota for each.
 */
function trusted({ headers }: GatewayRequest, { trustedHeaders }: Settings): ReadonlyMap<string, string> {
  return new Map(
    trustedHeaders.flatMap((name) => {
      const value = headers.get(name)?.trim()
      return value === undefined || value.includes(',') ? [] : [[name, value] as const]
    }),
  )
}

/**
 * The caller's tier; where that is not there, the default one; and that of strangers for strangers, or when nothing
 * else is there.
 */
function tierOf({ policies: { tiers, settings } }: Configuration, known: { readonly tier?: string } | undefined) {
  const names = known ? [known.tier, settings.defaultTier, ANONYMOUS] : [ANONYMOUS]
  return names.map((name) => (name === undefined ? undefined : tiers.get(name))).find((tier) => tier !== undefined)
}

/** What cannot be counted follows the failure mode. */
function undecided({ allowUndecided }: AuthorizerParts, now: EpochMs, onStoreError?: Tier['onStoreError']): Outcome {
  const allowed = onStoreError === undefined ? allowUndecided : onStoreError !== 'deny'
  return { reason: allowed ? 'uncounted' : 'unavailable', degraded: true, now }
}

/** What cannot be verified is refused, unless nobody has to be. */
function unverified(parts: AuthorizerParts, now: EpochMs): Outcome {
  if (parts.authentication === 'none') return undecided(parts, now)
  parts.log('error', 'a request was refused, since callers cannot be verified', {})
  return { reason: 'unverified', degraded: true, now }
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
  return toAnswer(request, {
    allowed: context.allowed,
    context,
    principalId: outcome.subject ?? '',
    backendAnswers,
    grant,
  })
}

/** Methods of HTTP; another is whatever a client made up. */
const METHOD = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/

function originOf(
  { subject, allowed }: AuthorizerContext,
  request: GatewayRequest | undefined,
  { ip, address, caller, route, keyOf, api = request?.apiId }: Seen,
): Origin {
  return {
    api,
    subject: subject || (address === undefined || !keyOf || allowed ? '' : keyOf(address)),
    method: request && (METHOD.test(request.method) ? request.method : 'other'),
    route: route ?? request?.resource.slice(0, 128),
    caller: () => ({ caller, ip: ip && addressKey(ip, 0) }),
  }
}
