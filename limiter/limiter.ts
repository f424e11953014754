import type { Decision } from './decision'
import type {
  RateLimiterOptions,
  RefundOptions,
  ReservedDecision,
  ReserveOptions,
  Slot,
  TakeOptions,
  UsedUnits,
} from './options'
import type { AnyPolicyInput } from './policies/policy'
import type { CostNamesOf, CountRunning, PolicyNamesOf, Wrong } from './policies/written'
import type { Meter, MeterOptions } from './reservations/meter'

/** What `createLimiter` wants: a store and policies. */
export interface LimiterOptions extends RateLimiterOptions {
  /** At most 30; each subject is held to all of them. */
  readonly policies: readonly AnyPolicyInput[]
  /**
   * Whether a subject whose item DynamoDB throttles (above 1,000 writes a second) is leased for about a minute, as with
   * consistency `leased`. If not, the failure mode decides throttled requests.
   * @default true
   */
  readonly autoLease?: boolean | undefined
  /**
   * A secret of your own, at least 16 bytes of chance, with which subjects are stored under HMAC-SHA256. All processes
   * that share a table need the same; another one, or none, begins all counters anew.
   * @default none: SHA-256, which tells whoever has the table which addresses are in it, for there are few enough to
   * try them all
   */
  readonly hmacKey?: string | Uint8Array | undefined
  /**
   * Counts apart from limiters that share the store and have another namespace or none: 1 to 64 letters, digits, `:`,
   * `.`, `_` or `-`. Limiters with the same one share the counts of policies with the same name.
   * @default none
   */
  readonly namespace?: string | undefined
}

/** How long a request waits. */
export interface WaitLimits {
  /**
   * The longest wait, in milliseconds, for units and for a queue's slot; a decision that is under way then is waited
   * for, and so is `lagMs`. 0 asks once. @default as long as it takes
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Resolves so many milliseconds after the charge, 1 to 60,000, so that calls leave as they were spaced when they were
   * counted, however long the store took to answer. An answer that comes later than that, by more than a quarter and
   * 5 ms, is not used: the request gives it back and waits for its next turn. Only for policies that space calls:
   * `sliding-log`, a leaky bucket as a queue, and buckets and `gcra` with `burst: 1`.
   * @default as soon as the store has answered
   */
  readonly lagMs?: number | undefined
  /** Ends the wait: the promise is rejected with its `reason`. @default nothing does */
  readonly signal?: AbortSignal | undefined
}

/** What a request takes, and how long it waits for that. */
export interface WaitOptions<CostName extends string = string> extends TakeOptions<CostName>, WaitLimits {}

/** One of several subjects of a request. */
export interface SubjectCharge<PolicyName extends string = string, CostName extends string = string>
  extends TakeOptions<CostName> {
  readonly subject: string
  /** Names of the policies it is held to. @default all */
  readonly policies?: readonly PolicyName[] | undefined
  /** The caller, another of the subjects or not, whose share the request takes of policies that are `fair`. */
  readonly caller?: string | undefined
  /** The caller's part of what is shared out: twice as much has a weight of 2. An integer from 1 to 1000. @default 1 */
  readonly weight?: number | undefined
}

/**
 * A rate limiter for any Node program. Subjects are strings such as `client:abc`; they are stored hashed.
 *
 * `createLimiter` knows the names of policies and costs that are written as literals. `Limiter` is any limiter.
 *
 * @typeParam Running whether a policy counts running requests.
 */
export interface Limiter<
  PolicyName extends string = string,
  CostName extends string = string,
  Running extends boolean = boolean,
> {
  /** Whether a policy counts running requests: then `acquire`, and not `take`. */
  readonly countsRunning: Running
  /** The costs that policies name, and a request may name. */
  readonly costNames: readonly CostName[]
  /**
   * Takes the request's units from all policies of the subject, or from none. A denial is a value, not an error. With
   * `reserve`, the units stay reserved until `settle` says what was really used.
   */
  take(
    subject: WithoutRunning<string, Running, 'take'>,
    options?: ReserveOptions<CostName>,
  ): Promise<ReservedDecision<PolicyName>>
  /**
   * Takes units as `take` does, and a slot of each policy on running requests: the request has it until `release`, or
   * until the policy's timeout. `take`, `takeAll` and `waitFor` refuse such policies.
   */
  acquire(
    subject: WithRunning<string, Running>,
    options?: ReserveOptions<CostName>,
  ): Promise<Slot<PolicyName, CostName>>
  /**
   * The same for a request that several subjects answer for, such as a client and its address: all are charged, or
   * none. With `reserve`, the first subject is the caller: the reservation is stored with it, and uses up its places
   * alone.
   */
  takeAll(
    subjects: WithoutRunning<readonly SubjectCharge<PolicyName, CostName>[], Running, 'takeAll'>,
    options?: ReserveOptions<CostName>,
  ): Promise<ReservedDecision<PolicyName>>
  /**
   * Takes the request's units as soon as they are there, first come, first served among those who wait for the subject
   * in this process, whatever they cost. Resolves with the decision that charged them, once its `delayMs` has passed;
   * with a denial, nothing charged, after `maxWaitMs`, or at once where the slot in a queue is later than that or the
   * cost can never pass.
   *
   * Waiting keeps the process alive. Processes that wait for one subject take turns; `take` does not wait in line.
   *
   * @throws the signal's `reason` once it is aborted; what was charged meanwhile is given back.
   * @throws ConfigError where a policy has `blockFor`, which would lock out who waits, and for `lagMs` where one does
   * not space calls.
   */
  waitFor(
    subject: WithoutRunning<string, Running, 'waitFor'>,
    options?: WaitOptions<CostName>,
  ): Promise<Decision<PolicyName>>
  /**
   * Settles a reservation to what was really used: gives back what was not, and charges what was used beyond it, past
   * the limit too, so that no request passes until that is paid. It frees the slots of the request. It counts
   * once, however often and in whichever process it is called. After the reservation's time it charges what is beyond
   * it, and gives nothing back; an hour later it does nothing.
   *
   * @param used units of all policies that are reserved, or by the cost's name: `{ costs: { tokens: 812 } }`. What is
   * not said stays as reserved: `{}` frees a slot alone.
   * @returns true where this call settled it, and every unit that was used is in the store. false where nothing was
   * changed, since it is not open any more: it was settled before, its caller was reset, an hour has passed since its
   * time, or 1,000 newer reservations of the caller needed its place after that.
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  settle(reservation: string, used: UsedUnits<CostName>): Promise<boolean>
  /**
   * Debits a reservation while an answer is streamed, and says when to stop. An invalid reservation or `step` is an
   * error of its first call: ReservationError, ConfigError.
   */
  meter(reservation: string, options?: MeterOptions): Meter<CostName>
  /**
   * What is left now, and what a request of that cost would meet, taking nothing: of a new subject with a limit of 10,
   * `remaining` is 10. `allowed` and `retryAfterMs` are those of a request of cost 1, or of another by the options.
   */
  peek(subject: string, options?: TakeOptions<CostName>): Promise<Decision<PolicyName>>
  /**
   * Gives units back, as far as they were charged in windows that still count: `refund(subject, 1, decision)`. Without
   * the decision they are taken for charged now. Of policies that say `cost`, it gives
   * back what `costs` says, or 1 unit.
   *
   * @throws StoreUnavailableError when it is not known whether that worked, with reason `in-doubt` when it can no
   * longer be known: the units may still be charged. They are never given back twice, so after `in-doubt` do not call
   * it again.
   */
  refund(subject: string, units?: number, options?: RefundOptions & Pick<TakeOptions<CostName>, 'costs'>): Promise<void>
  /**
   * For a program that stops: gives back units that consistency `leased` took ahead, and tells the store what
   * `eventual` has counted. The limiter can be used on.
   */
  close(): Promise<void>
  /**
   * Makes all quotas of the subject whole. Other instances notice within their `denialTtlMs`.
   *
   * @throws StoreUnavailableError when it is not known whether that worked, with reason `in-doubt` when it can no
   * longer be known. It may be called again.
   */
  reset(subject: string): Promise<void>
}

/** The limiter that `createLimiter` makes of these policies: any where they are known only at run time. */
export type LimiterOf<Policies extends readonly AnyPolicyInput[]> = number extends Policies['length']
  ? Limiter
  : Limiter<PolicyNamesOf<Policies>, CostNamesOf<Policies>, CountRunning<Policies>>

type WithoutRunning<Argument, Running, Method extends string> = [Running] extends [true]
  ? Argument & Wrong<`${Method} does not go with a policy that counts running requests: call acquire`>
  : Argument

type WithRunning<Argument, Running> = [Running] extends [false]
  ? Argument & Wrong<'acquire needs a policy with algorithm "concurrency", got none: call take'>
  : Argument
