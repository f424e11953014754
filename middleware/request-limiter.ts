import { setTimeout as wait } from 'node:timers/promises'
import { type TooManyRequests, tooManyRequests } from '../backend/responses'
import { clientIpKey } from '../lambda/identity/client-ip'
import { headersFromContext } from '../lambda/responses/backend-headers'
import { type AuthorizerContext, toContext } from '../lambda/responses/context'
import type { Decision } from '../limiter/decision'
import type { ReservedDecision, ReserveOptions, Slot } from '../limiter/options'
import type { Connection } from './connection'
import { remember } from './decisions'
import {
  type ByRequest,
  checkChosen,
  checkRateLimitOptions,
  type RateLimitOptions,
  type RequestLimits,
} from './options'
import type { Held } from './reservation'
import { reservationsOf } from './reservation-of'

/** What a middleware does with a request. */
export type Outcome =
  /** The handler is called, and its response gets these headers. */
  | { readonly kind: 'passes'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'denied'; readonly response: TooManyRequests }
  /** The client left while its request was delayed: there is nothing to answer. */
  | { readonly kind: 'left' }

const UNCOUNTED: Outcome = { kind: 'passes', headers: {} }

/** Decides requests of any framework, and delays those that have a delay. */
export class RequestLimiter<Request extends object> {
  private readonly outcomes = new WeakMap<Request, Promise<Outcome>>()

  /** @param addressOf the address as the framework knows it. */
  constructor(
    private readonly options: RateLimitOptions<Request>,
    private readonly addressOf: (request: Request) => string | undefined,
  ) {
    checkRateLimitOptions(options)
  }

  /**
   * Decides a request once, however often it passes the same middleware. What it holds is settled when it has ended.
   */
  decide(request: Request, connection: Connection): Promise<Outcome> {
    const outcome = this.outcomes.get(request) ?? this.count(request, connection)
    this.outcomes.set(request, outcome)
    return outcome
  }

  private async count(request: Request, connection: Connection): Promise<Outcome> {
    const { skip, keyBy, cost, costs, reserve } = this.options
    if (reserve !== undefined) (await reservationsOf(request)).expectUnits()
    if (await skip?.(request)) return UNCOUNTED
    const limiter = await valueFor(this.options.limiter, request)
    checkChosen(limiter)
    const units = { cost: await valueFor(cost, request), costs: await valueFor(costs, request), reserve }
    if (!limiter || takesNothing(units)) return UNCOUNTED
    const named = (await keyBy?.(request)) ?? ''
    const subject = named === '' ? this.addressSubject(request) : named
    const slot = limiter.countsRunning ? await limiter.acquire(subject, units) : undefined
    const decision = slot ?? (await limiter.take(subject, units))
    const held = heldBy(limiter, decision, slot, units)
    if (held) (await reservationsOf(request)).add(held, connection)
    const context = contextOf(remember(request, decision))
    if (!decision.allowed) return { kind: 'denied', response: tooManyRequests({ values: context }) }
    if (decision.delayMs > 0 && !(await hasPassed(decision.delayMs, connection.leaving()))) {
      if (held) (await reservationsOf(request)).giveBack(held)
      await giveBack(limiter, subject, units, decision)
      return { kind: 'left' }
    }
    return { kind: 'passes', headers: headersFromContext(context) }
  }

  private addressSubject(request: Request): string {
    const { address = this.addressOf, ipv6Prefix } = this.options
    return `ip:${clientIpKey(address(request) ?? '', ipv6Prefix) ?? 'unknown'}`
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

/** What cannot be given back stays charged: the subject gets less than its due, never more. */
async function giveBack(
  limiter: RequestLimits,
  subject: string,
  { cost, costs }: ReserveOptions,
  { chargedAt, delayMs }: Decision,
): Promise<void> {
  await limiter.refund(subject, cost, { chargedAt, delayMs, costs }).catch(() => {})
}

async function valueFor<Request, Value>(value: ByRequest<Request, Value>, request: Request): Promise<Value> {
  return typeof value === 'function' ? (value as (request: Request) => Value | Promise<Value>)(request) : value
}

const takesNothing = ({ cost, costs = {} }: ReserveOptions): boolean =>
  cost === 0 && Object.values(costs).every((units) => units === 0)

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

/** @returns whether that time has passed; not if the signal was aborted before. */
const hasPassed = (ms: number, signal: AbortSignal): Promise<boolean> =>
  wait(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
