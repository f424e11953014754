import { clockText, durationText } from '../shared/time-text'
import type { Caller, Decision, Gauge, LastAnswer, Look, Shot, Standing } from './protocol'

/** What became of the last request, in words. */
export interface Verdict {
  readonly kind: 'none' | 'allowed' | 'denied' | 'degraded' | 'failed'
  readonly title: string
  readonly request?: string
  readonly why: string
  /** What would let it pass, and when; absent where it has passed. */
  readonly passes?: Passes | undefined
  /** Who else is affected. */
  readonly others?: string
}

/** `in`: a duration that counts down, and so is not read out. */
interface Passes {
  readonly in?: string
  readonly text: string
}

export interface VerdictInput {
  readonly standing: Pick<Standing, 'last' | 'firing' | 'instances'>
  /** The caller of the last request; `undefined` where it was never chosen here. */
  readonly look: Look | undefined
  readonly callers: readonly Caller[]
  /** On the gateway's clock. */
  readonly now: number
  /** When limits or the caller were last changed from here, on the gateway's clock. */
  readonly changedAt: number
}

/** `Retry-After` where a request can never pass: a year. */
const NEVER_SECONDS = 31_536_000

/** What somebody understands who has read nothing else. */
export function verdictOf(input: VerdictInput): Verdict {
  const { last, firing } = input.standing
  if (!last) return firing ? sending(firing) : NOTHING
  const { decision, status, burst } = last
  const passed = burst && burst.requests > 1 ? ` · ${burst.passed} of this burst of ${burst.requests} passed` : ''
  const caller = input.callers.find(({ apiKey }) => apiKey === last.apiKey)?.label ?? 'a key that was typed'
  const request = `${last.request}, at ${clockText(last.at)}, by ${caller}${passed}`
  if (!decision) return { kind: 'failed', title: `■ Answered with ${status}.`, request, ...undecided(last) }
  if (decision.allowed)
    return {
      kind: decision.degraded ? 'degraded' : 'allowed',
      title: decision.degraded ? '△ Allowed without DynamoDB.' : '✓ Allowed.',
      request,
      why: decision.degraded ? degradedText(input, decision) : allowedText(decision, status),
    }
  return {
    kind: decision.degraded ? 'degraded' : 'denied',
    title: decision.degraded ? `△ Denied with ${status} without DynamoDB.` : `✕ Denied with ${status}.`,
    request,
    why: decision.degraded ? degradedText(input, decision) : deniedText(decision),
    passes: passesOf(input, last, decision),
    others: othersOf(input, decision),
  }
}

const NOTHING: Verdict = {
  kind: 'none',
  title: 'Nothing sent yet.',
  why: 'Press Fire: 25 requests at once, more than the limit allows. Then read here why.',
}

const sending = ({ route, pace }: Shot): Verdict => ({
  kind: 'none',
  title: 'Sending …',
  why: pace.kind === 'burst' ? `${pace.requests} × ${route}` : `${route}, ${pace.perSecond} a second`,
})

/** Without an authorizer's decision: no credentials, or a failure. */
function undecided({ status }: LastAnswer): Pick<Verdict, 'why' | 'passes' | 'others'> {
  if (status !== 401) return { why: 'The authorizer did not decide it: see the terminal.' }
  return {
    why: 'The request needs valid credentials.',
    passes: { text: 'with the key of a client.' },
    others: 'Nobody.',
  }
}

function allowedText({ reason, policy, limit, remaining }: Decision, status: number): string {
  const answered = `The backend answered it with ${status}.`
  if (reason !== 'ok' || policy === '') return `No limit counts this request. ${answered}`
  return `${remaining} of ${limit} units are left of “${policy}”, which has least left. ${answered}`
}

/** The sentence of the answer itself, without what the next line says better. */
const deniedText = ({ detail }: Decision): string =>
  `${detail.replace(/ Try again in \d+ seconds?\.$/, '')} The backend never saw the request, and nothing was charged.`

/** What decided without the table, and by which number. */
function degradedText({ standing, look }: VerdictInput, { allowed, reason, limit }: Decision): string {
  const failureMode = reason === 'unavailable' ? 'deny' : allowed ? look?.withoutTable.failureMode : 'local'
  if (failureMode === undefined) return 'DynamoDB could not be reached, so the tier’s failure mode decided.'
  const begin = `DynamoDB could not be reached, so the tier’s failure mode decided, which is ${failureMode}:`
  if (failureMode === 'deny') return `${begin} nothing passes until DynamoDB answers again.`
  if (failureMode === 'allow') return `${begin} everything passes, uncounted.`
  const each = `${begin} each of the ${standing.instances} authorizers counts in its own memory`
  if (look === undefined || limit === 0) return `${each}, and admits a share of each limit.`
  const { localShare } = look.withoutTable
  const most = Math.max(1, Math.floor(limit * localShare))
  const percent = `${Number((localShare * 100).toFixed(2))} %`
  const share = `${each}, and admits ${percent} (localShare) of what was left, here at most ${most} of ${limit} units.`
  return allowed ? `${share} This request was within that.` : `${share} That share is used up.`
}

function passesOf({ look, now, changedAt }: VerdictInput, { at }: LastAnswer, decision: Decision): Passes {
  const { reason, policy, limit, retryAfter, detail } = decision
  const passesAt = at + retryAfter * 1000
  const inTime = now < passesAt ? { in: durationText(passesAt - now) } : {}
  const moment = now < passesAt ? `at ${clockText(passesAt)}` : 'now'
  if (reason === 'unavailable') return { text: 'once DynamoDB answers again.' }
  if (reason === 'degraded' && now >= passesAt) return { text: 'now, as far as the authorizers’ own shares allow.' }
  if (reason === 'degraded')
    return { ...inTime, text: `${moment}; sooner once DynamoDB answers again, if units are left there.` }
  if (changedAt > at) return { text: 'perhaps now: limits or the caller were changed since. Fire one to see.' }
  if (reason === 'unauthorized') return { text: 'with the key of a client.' }
  if (reason === 'blocked') return { text: 'once the caller is unblocked: Unblock is below.' }
  if (reason !== 'over-limit') return { text: 'once its cause is gone.' }
  if (retryAfter >= NEVER_SECONDS) return { text: 'never: it costs more than the limit. A higher limit admits it.' }
  const gauge = look && gaugeOf(look, policy)
  if (gauge?.counts === RUNNING)
    return { text: `as soon as one of the ${limit} running requests ends, or after its timeout of ${gauge.window}.` }
  if (/ locked /.test(detail)) return { ...inTime, text: `${moment}, when the lock-out ends; a reset ends it at once.` }
  const sooner = gauge?.who ? 'with a higher limit' : 'after a reset or with a higher limit'
  return { ...inTime, text: `${moment}, when enough of “${policy}” is free again; sooner ${sooner}.` }
}

function othersOf({ look }: VerdictInput, { reason, policy }: Decision): string {
  if (reason === 'degraded' || reason === 'unavailable')
    return 'Everybody: while DynamoDB does not answer, nobody’s requests can be counted there.'
  if (reason !== 'over-limit') return `Nobody: this is about ${look?.subject ?? 'this caller'} alone.`
  const gauge = look && gaugeOf(look, policy)
  if (!look || !gauge) return `Those whom “${policy}” counts together with this caller, if any.`
  if (gauge.who) return `Everybody: all callers share the limit “${policy}”, so all are denied until then.`
  const where = gauge.route === null ? '' : `, and only at ${gauge.route}`
  const [kind, name] = look.subject.split(/:(.*)/s)
  if (kind === 'ip')
    return `Nobody but callers at the same address, ${name}: each address has its own “${policy}”${where}.`
  return `Nobody: each client has its own “${policy}”${where}.`
}

/** What a policy of running requests counts. */
export const RUNNING = 'running requests'

/** Of the caller's own policies and those that all share, the one that denied. */
const gaugeOf = ({ gauges }: Look, policy: string): Gauge | undefined => gauges.find((one) => one.policy === policy)
