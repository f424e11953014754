import type { AuthorizerContext } from '../lambda/responses/context'
import type { Decision } from '../limiter/decision'
import type { UsedUnits } from '../limiter/options'
import type { Meter, MeterOptions } from '../limiter/reservations/meter'
import type { Caller, TieredRequest } from './tiered-request'

/** The authorizer's decision, in a form that a program can pass on. */
export interface TieredDecision {
  readonly allowed: boolean
  /** 200 where it is allowed, 401 for bad or missing credentials, 500 where they cannot be checked, else 429. */
  readonly status: 200 | 401 | 429 | 500
  /** For the response, also of a denial. */
  readonly headers: Readonly<Record<string, string>>
  /** A problem document (RFC 9457) for the answer to a denial; absent where the request is allowed. */
  readonly body?: string
  /** The same keys as in the authorizer's context: `reason`, `tier`, `subject`, `policy`, `delayMs` and all others. */
  readonly context: AuthorizerContext
  /** The decision over all policies; `undefined` where nothing was counted. */
  readonly decision: Decision | undefined
}

/** What a program knows about a message beyond its event. */
export interface MessageOptions extends Caller, Pick<TieredRequest, 'cost' | 'costs'> {}

/** The authorizer for programs that have no API Gateway in front, and for messages, for which it is not invoked. */
export interface TieredLimiter {
  /**
   * Decides a request as the authorizer does: charges what it takes, or denies it.
   *
   * It rejects only for a mistake of the program, a `ConfigError`. If a table cannot be reached, it decides by the
   * failure mode.
   */
  decide(request: TieredRequest): Promise<TieredDecision>
  /**
   * Decides a message of a WebSocket in the same way, as the request `POST /@messages/<route key>` of the connection's
   * caller: it counts where the connection was counted, by the present policies of that caller's tier. Without such a
   * connection it is anonymous, and counted by its address.
   *
   * @param event as API Gateway sends it to the function of a route.
   * @param known the caller, if the program knows it: then blocks and overrides of a client apply.
   * @throws TypeError for an event that is not a message.
   */
  decideMessage(event: unknown, known?: MessageOptions): Promise<TieredDecision>
  /**
   * Settles a decision's reservation, its `context.reservation`, and frees its slots.
   *
   * @param used what was really used. @default what is reserved
   * @returns false when nothing is held any more.
   * @throws ReservationError, CostError, ConfigError, StoreUnavailableError
   */
  settle(reservation: string, used?: UsedUnits): Promise<boolean>
  /** Debits a decision's reservation while an answer is streamed, as `meter` of a limiter does. */
  meter(reservation: string, options?: MeterOptions): Meter
  /** Frees the slots of a decision whose request has ended, and leaves its units to the process that settles them. */
  releaseSlots(reservation: string): Promise<boolean>
  /** For a program that stops: gives leased units back, and sends counts in memory to the store. */
  close(): Promise<void>
}
