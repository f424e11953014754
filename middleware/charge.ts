import { type ProblemResponse, tooManyRequests } from '../backend/responses'
import { headersFromContext } from '../lambda/responses/backend-headers'
import { type AuthorizerContext, toContext } from '../lambda/responses/context'
import type { Decision } from '../limiter/decision'
import type { ReservedDecision, ReserveOptions, Slot } from '../limiter/options'
import { remember } from './decisions'
import type { RequestLimits } from './limits'
import type { Held } from './reservation'

/** A request that a limiter has decided. */
export interface Charged {
  /** The answer to a denial; `undefined` where the request is allowed. */
  readonly denial: ProblemResponse<number> | undefined
  /** Of the response to a request that is allowed. */
  readonly headers: Readonly<Record<string, string>>
  /** How long the request waits for its turn, in milliseconds. */
  readonly delayMs: number
  readonly held: Held | undefined
  /** Gives back what is charged and not held. What cannot be given back stays charged; it never rejects. */
  giveBack(): Promise<void>
}

/** Charges a subject of a limiter from `createLimiter`. */
export async function charge(
  request: object,
  limiter: RequestLimits,
  subject: string,
  units: ReserveOptions,
): Promise<Charged> {
  const slot = limiter.countsRunning ? await limiter.acquire(subject, units) : undefined
  const decision = slot ?? (await limiter.take(subject, units))
  const context = contextOf(remember(request, decision))
  const { cost, costs } = units
  const { allowed, delayMs, chargedAt } = decision
  return {
    denial: allowed ? undefined : tooManyRequests({ values: context }),
    headers: headersFromContext(context),
    delayMs,
    held: heldBy(limiter, decision, slot, units),
    giveBack: () => limiter.refund(subject, cost, { chargedAt, delayMs, costs }).catch(() => {}),
  }
}

/** What an admitted request holds of a limiter. */
function heldBy(
  limiter: RequestLimits,
  { allowed, reservation: token }: ReservedDecision,
  slot: Slot | undefined,
  { reserve }: ReserveOptions,
): Held | undefined {
  if (!allowed || (!slot && token === undefined)) return undefined
  return {
    token,
    meter: reserve === undefined || token === undefined ? undefined : () => limiter.meter(token),
    settle: (used) => (slot ? slot.release(used) : limiter.settle(token!, used ?? {})),
  }
}

/** The same context as the authorizer's for a decision. */
function contextOf(decision: Decision): AuthorizerContext {
  const shapes = Object.entries(decision.policies).map(([name, { limit, windowMs, counts }]) => ({
    name,
    limit,
    windowMs,
    counter: { isEndedByOthers: counts === 'running' },
  }))
  return toContext({ decision, shapes, now: Date.now() })
}
