import { seeded } from '../../../bench/random'
import type { Step } from '../../../limiter/algorithms/algorithm'
import { applyTo, type ConditionalWrite, type Fields } from '../../../limiter/algorithms/conditional-write'
import { fieldBytes, writeUnitsOf } from '../../../limiter/algorithms/stored-size'
import { isLeasable } from '../../../limiter/policies/parse-policies'
import type { AlgorithmName } from '../../../limiter/policies/policy'
import { ExactLog } from './exact-log'
import { Retries } from './retries'
import type { Row } from './rows'
import { SharedOut } from './shared-out'
import type { Traffic } from './traffic'

/** What came of one algorithm, in numbers. */
export interface Figures {
  /** Requests sent, retries included. */
  readonly requests: number
  readonly admitted: number
  readonly denied: number
  /** Requests that were denied and not tried again. */
  readonly gaveUp: number
  /** Of all clients but the first. */
  readonly othersRequests: number
  readonly othersDenied: number
  /** The most that passed of one client in any interval as long as the window. */
  readonly mostInWindow: number
  /**
   * The longest that a request waits, in milliseconds: one that passed, from its first try until then; one that was
   * denied for good, until its last `Retry-After` is over.
   */
  readonly longestWaitMs: number
  /** The most bytes of state that one client took. */
  readonly storedBytes: number
  readonly writes: number
  readonly writeUnits: number
  /** Admitted although `limit` of the same client had passed in the window before. */
  readonly wronglyAllowed: number
  /** Denied although fewer had. */
  readonly wronglyDenied: number
}

export interface RowRun {
  readonly algorithm: AlgorithmName
  readonly figures: Figures
  /** When each request came, in milliseconds from the start, in order. */
  readonly times: Float64Array
  /** Whether each was allowed: 1 or 0. */
  readonly allowed: Uint8Array
  /** When the requests of the first client passed, in order; where clients share the limit, those of all. */
  readonly passes: Float64Array
}

/** A request at the moment of its decision. */
export interface Decided {
  readonly at: number
  /** The client's fields before it. */
  readonly fields: Fields
  readonly verdict: Step['verdict']
  /** The client's share, where that denied the request. */
  readonly share?: number
}

export interface Limits {
  readonly limit: number
  readonly windowMs: number
}

/** The first instant of a run on the clock: it begins a window of any length, in 2026. */
export const startOf = (windowMs: number): number => Math.ceil(Date.UTC(2026, 0, 1) / windowMs) * windowMs

/** A policy's name takes four letters in front of each field. */
const PREFIX_LENGTH = 4

interface Client {
  readonly fields: Record<string, number | number[]>
  readonly log: ExactLog
  bytes: number
}

/** Requests from one report of progress to the next. */
const REPORTED_EVERY = 5000

/**
 * Sends traffic through one algorithm, one request after another, each write applied at once.
 *
 * @param onRequests is told how many requests have been decided since it was last told.
 * @param onDecided sees each decision before its write, and may stop there.
 */
export function runRow(
  { algorithm, counter, parsed }: Pick<Row, 'algorithm' | 'counter' | 'parsed'>,
  { times, clients: senders, shared, retry, durationMs }: Traffic,
  { limit, windowMs }: Limits,
  onRequests: (requests: number) => void = () => {},
  onDecided?: (decided: Decided) => 'stop' | undefined,
): RowRun {
  const start = startOf(windowMs)
  const clients: Client[] = []
  const retries = new Retries()
  // what cannot be leased has no shares
  const shares =
    typeof shared === 'object' && isLeasable(parsed) ? new SharedOut(parsed, seeded(shared.seed)) : undefined
  const [came, outcomes]: [number[], number[]] = [[], []]
  let [admitted, gaveUp, othersRequests, othersDenied, mostInWindow, longestWaitMs] = [0, 0, 0, 0, 0, 0]
  let [storedBytes, writes, writeUnits, wronglyAllowed, wronglyDenied] = [0, 0, 0, 0, 0]
  let next = 0

  for (;;) {
    const fresh = times[next]
    const again = retry && retries.before(fresh ?? durationMs)
    if (!again && fresh === undefined) break
    const {
      at,
      client: sender,
      since,
      denials,
    } = again ?? {
      at: fresh!,
      client: senders?.[next] ?? 0,
      since: fresh!,
      denials: 0,
    }
    if (!again) next++

    const counted = shared ? 0 : sender
    clients[counted] ??= { fields: {}, log: new ExactLog(limit, windowMs), bytes: 0 }
    const client = clients[counted]
    const ofShare = shares?.ask(sender, start + at)
    const step = counter.step(client.fields, 1, start + at)
    const isHeld = ofShare?.allowed === false
    const verdict = isHeld ? { ...step.verdict, allowed: false, retryAfterMs: ofShare.retryAfterMs } : step.verdict
    const write = isHeld ? undefined : step.write
    if (!isHeld) ofShare?.settle(verdict.allowed)
    if (onDecided?.({ at, fields: client.fields, verdict, share: isHeld ? ofShare.share : undefined }) === 'stop') break
    if (sender > 0) othersRequests++
    came.push(at)
    outcomes.push(verdict.allowed ? 1 : 0)
    if (came.length % REPORTED_EVERY === 0) onRequests(REPORTED_EVERY)

    if (write) {
      client.bytes -= touchedBytes(write, client.fields)
      applyTo(client.fields, write)
      client.bytes += touchedBytes(write, client.fields)
      storedBytes = Math.max(storedBytes, client.bytes)
      writes++
      writeUnits += writeUnitsOf(client.bytes)
    }

    if (verdict.allowed) {
      admitted++
      const turn = at + (verdict.delayMs ?? 0)
      const inWindow = client.log.pass(turn)
      mostInWindow = Math.max(mostInWindow, inWindow)
      longestWaitMs = Math.max(longestWaitMs, turn - since)
      if (inWindow > limit) wronglyAllowed++
      continue
    }
    if (sender > 0) othersDenied++
    if (client.log.hasRoom(at) && !isHeld) wronglyDenied++
    const retryAt = at + (retry && retry.afterMs !== 'as-told' ? retry.afterMs : verdict.retryAfterMs)
    if (retry && denials < retry.most && retryAt < durationMs)
      retries.add({ at: Math.ceil(retryAt), client: sender, since, denials: denials + 1 })
    else {
      gaveUp++
      longestWaitMs = Math.max(longestWaitMs, at + verdict.retryAfterMs - since)
    }
  }
  onRequests(came.length % REPORTED_EVERY)

  const denied = came.length - admitted
  return {
    algorithm,
    figures: {
      requests: came.length,
      admitted,
      denied,
      gaveUp,
      othersRequests,
      othersDenied,
      mostInWindow,
      longestWaitMs,
      storedBytes,
      writes,
      writeUnits,
      wronglyAllowed,
      wronglyDenied,
    },
    times: Float64Array.from(came),
    allowed: Uint8Array.from(outcomes),
    passes: Float64Array.from(clients[0]?.log.passes ?? []),
  }
}

/** Bytes of the fields that a write names. */
function touchedBytes({ assignments }: ConditionalWrite, fields: Fields): number {
  let bytes = 0
  for (const one of assignments) {
    const name = 'list' in one ? one.list : one.field
    bytes += fieldBytes(PREFIX_LENGTH, name, fields[name])
  }
  return bytes
}
