import type { EpochMs } from '../clock'
import type { ConditionalWrite, Fields } from './conditional-write'

/**
 * Fifteen digits, the most that a header carries (RFC 9651 §3.3.1), and few enough that counts and their sums stay
 * exact.
 */
export const MAX_UNITS = 999_999_999_999_999

/**
 * One way of counting: pure, so that the same code decides in Lambda, in a simulation and in a property test.
 *
 * Costs add up: one step of cost a + b allows exactly what a step of a followed by a step of b allows, and leaves the
 * same state. That is what lets several requests of one subject share a write.
 */
export interface Algorithm<Quota> {
  /** As written in a policy. */
  readonly name: string

  /**
   * Decides one request, and says what to write if it is allowed.
   *
   * @param known what this instance last saw; `{}` when the subject is known to have no state, `undefined` when nothing
   * is known. It may be out of date: the guard of the write is what makes the decision safe, see the laws in
   * docs/algorithms.md.
   * @param cost whole units, 0 to peek.
   * @param asOf the real time, where `now` is a turn to come. @default now
   * @param holds what the request will hold while it runs, as many as its cost. @default none: only a verdict
   */
  step(
    known: Fields | undefined,
    quota: Quota,
    cost: number,
    now: EpochMs,
    asOf?: EpochMs,
    holds?: readonly Hold[],
  ): Step

  /**
   * Gives units back that were charged at `chargedAt`; nothing to write when none of them can be found any more.
   * Never leaves the subject better off than if the units had not been charged then.
   *
   * @param holds what the request held.
   * @param stays whether the request stays admitted, at a lower cost: a window that it opened stays open. @default it
   * is as if it had never been
   */
  refund(
    known: Fields,
    quota: Quota,
    units: number,
    chargedAt: EpochMs,
    now: EpochMs,
    holds?: readonly Hold[],
    stays?: boolean,
  ): ConditionalWrite | undefined

  /**
   * Charges units that a request took which was admitted at `chargedAt`, past the limit too: a debt. Never leaves the
   * subject better off than if they had been charged then, and just as well off while they still count where they
   * belong. `undefined` where that window is over.
   *
   * The guard of the write makes it right whatever the view missed, as that of a step does.
   */
  chargeLate(
    known: Fields | undefined,
    quota: Quota,
    units: number,
    chargedAt: EpochMs,
    now: EpochMs,
  ): ConditionalWrite | undefined

  /** How long state can matter after its last write, in milliseconds. */
  retentionMs(quota: Quota): number

  /**
   * The most that one subject's state takes in its item, expired fields and the names of fields included, in bytes as
   * DynamoDB counts them.
   */
  storedBytes(quota: Quota): number

  /** Whether a denied request has to be written down too. */
  recordsDenials?(quota: Quota): boolean

  /**
   * Until when units charged at `chargedAt` may be leased, which is spent as if they were charged at their use: they
   * never outlive what they count in. Absent, or `undefined`, where no unit can be charged before its request is there.
   *
   * @param after the subject's state after the charge.
   */
  leaseExpiresAt?(after: Fields, quota: Quota, chargedAt: EpochMs): EpochMs | undefined

  /**
   * A guess at today's state from an old view of a subject that others write too. Only ever used to choose the guard of
   * a write.
   */
  extrapolate?(seen: Fields, seenAt: EpochMs, quota: Quota, now: EpochMs): Fields

  /**
   * How far the state has come: the start of the newest window written, or the newest time recorded. It lies ahead of
   * the clock where a request was charged at a later turn. Absent where the state itself says when there is room, as a
   * time of arrival does.
   */
  reachedAt?(known: Fields | undefined, quota: Quota, now: EpochMs): EpochMs

  /** Whether room comes free when a request ends, and not by time alone. */
  readonly isEndedByOthers?: boolean

  /** Removes expired fields once so many have gathered that they cost money. */
  purge?(known: Fields, quota: Quota, now: EpochMs): ConditionalWrite | undefined
}

/** What a running request has, until somebody ends it or its time is over: a slot, or a reservation. */
export interface Hold {
  /** Letters and digits that nobody can guess, 128 bits: the name of its field. */
  readonly id: string
  /** How long it lasts, in milliseconds, where the quota does not say. */
  readonly forMs?: number
}

export interface Step {
  readonly verdict: Verdict
  /** Absent when the request only peeks, and when it is denied by an algorithm that does not record denials. */
  readonly write?: ConditionalWrite
}

/** What each policy says about one request, in the order of the policies. */
export type Verdicts = readonly Verdict[]

/** What one policy says about one request. */
export interface Verdict {
  readonly allowed: boolean
  /** Whole units still permitted at this instant, after this request. */
  readonly remaining: number
  /** Time until the quota is full again if no request comes; 0 when it is full. */
  readonly resetAfterMs: number
  /** Time until this very request would pass if no other comes first: 0 when allowed, `Infinity` when it never can. */
  readonly retryAfterMs: number
  /** How long an allowed request has to wait for its turn. Only what queues says so. */
  readonly delayMs?: number
  /**
   * Units past the quota in the current window, after this request. Only a policy that admits past its quota says so.
   */
  readonly overage?: number
  /** Allowed past the limit, and why. Only what lets requests pass there says so. */
  readonly exceeded?: Exceeded
  /** Denied because the caller is locked out, by this very request or an earlier one. */
  readonly lockedOut?: true
  /** When an allowed request was charged, if it was: what a refund needs. Set by the limiter, not by an algorithm. */
  readonly chargedAt?: EpochMs
}

/**
 * Why a request passes that the limit alone would deny:
 * - `overrun`: inside the share by which a limit may be overrun; it is charged.
 * - `observe`: the policy only watches; nothing is charged to it.
 * - `deprioritize`: it passes with low priority; nothing is charged to the policy.
 */
export type Exceeded = 'overrun' | 'observe' | 'deprioritize'

/** Whether an allowed request was charged: a policy that only observes lets it pass uncharged. */
export const isCharged = ({ exceeded = 'overrun' }: Pick<Verdict, 'exceeded'>): boolean => exceeded === 'overrun'
