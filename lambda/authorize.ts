import type { AuthorizerParts } from './authorizer-parts'
import { withEachCost } from './config-table/items/cost-names'
import { hashApiKey } from './identity/api-key'
import { addressKey } from './identity/client-ip'
import { FailedCredentials } from './identity/failed-credentials'
import { knownIn, type RequestTrace, type TraceWith } from './request-trace'
import { type AuthorizerAnswer, toAnswer } from './responses/answers'
import { type AuthorizerContext, toContext } from './responses/context'
import { fromEvent } from './responses/request'
import { type Assembled, askUpstream, type OwnSteps, stepsWith } from './steps'
import { errorDetails } from './telemetry/log'
import type { Origin } from './telemetry/telemetry'
import { undecided, unverified } from './undecided'

/** The parts, and what another front than API Gateway does differently. */
export interface DeciderParts extends AuthorizerParts {
  /** Reads an event; `undefined` where it is no request. @default as API Gateway sends them */
  readonly toRequest?: typeof fromEvent
  /** Steps of its own. @default none */
  readonly steps?: OwnSteps
}

/**
 * Makes the authorizer: it answers any event. It throws only two errors, because that is how a REST or WebSocket API is
 * made to answer 401, and 500 where a caller cannot be verified.
 */
export function makeAuthorizer(parts: AuthorizerParts): (event: unknown) => Promise<AuthorizerAnswer> {
  const decide = makeRecordingDecider(parts)
  return async (event) => {
    const { trace, context } = await decide(event)
    const { request, outcome, upstream } = trace
    return toAnswer(request, {
      allowed: context.allowed,
      context,
      principalId: outcome.subject ?? '',
      denials: parts.denials,
      grant: upstream?.kind === 'granted' && outcome.reason !== 'blocked' ? upstream.grant : undefined,
      usageIdentifierKey: usageKeyOf(trace),
    })
  }
}

/**
 * The API Gateway key that the client's record names; for `true` the header whose hash is the credential, so that
 * neither the table nor a trace has the key itself.
 */
function usageKeyOf(trace: RequestTrace): string | undefined {
  const known = knownIn(trace)
  const named = known?.client?.usageIdentifierKey
  if (named !== true) return named
  const shown = [...trace.request!.headers.values()].map((value) => value.trim())
  return shown.find((value) => hashApiKey(value) === known!.credential)
}

/** Makes the function that decides about any event, counts and logs it, and says what backends are told. */
export function makeRecordingDecider(
  parts: DeciderParts,
): (event: unknown) => Promise<{ readonly trace: TraceWith<'outcome'>; readonly context: AuthorizerContext }> {
  const decide = makeDecider(parts)
  return async (event) => {
    const trace = await decide(event)
    const context = contextOf(trace)
    const { outcome, configuration, taken, now } = trace
    const charged = taken && { taken, nearing: configuration!.policies.settings.nearing }
    parts.telemetry?.answered(context, outcome.decision, originOf(trace, context), now, charged)
    return { trace, context }
  }
}

/** What backends, gateway responses and access logs are told of a request. */
export const contextOf = ({ outcome, now, configuration }: TraceWith<'outcome'>): AuthorizerContext =>
  toContext({ ...outcome, now, costs: withEachCost(configuration?.policies.routes, outcome.costs) })

/**
 * Makes the function that decides about any event, step by step, and returns what each step found. It makes no answer
 * yet.
 */
export function makeDecider(made: DeciderParts): (event: unknown) => Promise<TraceWith<'outcome'>> {
  const { toRequest = fromEvent } = made
  const steps = stepsWith(made.steps)
  const parts: Assembled = { ...made, failedCredentials: new FailedCredentials(made.clients, made.clock) }
  return async (event) => {
    const trace = await traceSteps({ event, request: toRequest(event), now: parts.clock() }, parts, steps)
    if (!trace.request || trace.outcome.reason === 'blocked') return trace
    // whatever the steps came to: nothing passes without the upstream authorizer's yes
    const { upstream, outcome } = trace.upstream ? trace : { ...trace, ...(await askUpstream(trace, parts)) }
    if (upstream?.kind !== 'granted') return { ...trace, upstream, outcome }
    return { ...trace, upstream, outcome: { ...outcome, waitedMs: await waitForSlot(trace, parts) } }
  }
}

async function traceSteps(
  start: RequestTrace,
  parts: Assembled,
  steps: ReturnType<typeof stepsWith>,
): Promise<TraceWith<'outcome'>> {
  if (!start.request) return { ...start, outcome: { reason: 'malformed' } }
  let trace = start
  try {
    for (const step of steps) {
      trace = { ...trace, ...(await step(trace, parts)) }
      if (trace.outcome) break
    }
  } catch (error) {
    parts.log('error', 'decision_failed', errorDetails(error))
    const outcome = trace.verified ? undecided(parts, trace.tier?.failureMode) : unverified(parts)
    return { ...trace, outcome }
  }
  return trace as TraceWith<'outcome'>
}

/** The latest time for an answer, in milliseconds after the event came: an HTTP API waits 10 s. */
const LATEST_ANSWER_MS = 8500

/**
 * Waits for an allowed request's slot in the queue, as far as the authorizer is configured to wait and there is time.
 * Returns how long it has waited, in milliseconds.
 */
async function waitForSlot(
  { outcome: { decision }, taken = [], now }: TraceWith<'outcome'>,
  { clock, wait = timer }: AuthorizerParts,
): Promise<number> {
  const delays = taken.map(({ policy, standing }) => (policy.waits && standing?.delayMs) || 0)
  const waitMs = Math.min(decision?.delayMs ?? 0, Math.max(0, ...delays), LATEST_ANSWER_MS - (clock() - now))
  if (waitMs <= 0) return 0
  await wait(waitMs)
  return waitMs
}

const timer = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Methods of HTTP; clients can make up any other. */
const METHOD = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/

/** What the log and the metrics say about the origin of a request. */
function originOf(trace: RequestTrace, { subject, allowed }: AuthorizerContext): Origin {
  const { request, ip, address, keyOf, rules } = trace
  return {
    api: apiOf(trace),
    subject: subject || (address === undefined || !keyOf || allowed ? '' : keyOf(address)),
    method: request && (METHOD.test(request.method) ? request.method : 'other'),
    route: rules?.routes[0]?.pattern.text ?? request?.resource.slice(0, 128),
    caller: () => ({ caller: knownIn(trace)?.caller, ip: ip && addressKey(ip, 0) }),
  }
}

/** The API by its label, or its id. */
export function apiOf({ request, configuration }: RequestTrace): string | undefined {
  const id = request?.apiId
  return id && (configuration?.policies.apis?.labelOf(id) ?? id)
}
