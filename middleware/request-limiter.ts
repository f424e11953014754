import { setTimeout as wait } from 'node:timers/promises'
import { type TooManyRequests, tooManyRequests } from '../backend/responses'
import { clientIpKey } from '../lambda/identity/client-ip'
import { headersFromContext } from '../lambda/responses/backend-headers'
import { type AuthorizerContext, toContext } from '../lambda/responses/context'
import type { Decision } from '../limiter/decision'
import type { TakeOptions } from '../limiter/options'
import type { Connection } from './connection'
import { remember } from './decisions'
import { type ByRequest, checkRateLimitOptions, type RateLimitOptions } from './options'
import { slotsOf } from './slots'

/** What a middleware does with a request. */
export type Outcome =
  /** The handler is called, and its response gets these headers. */
  | { readonly kind: 'passes'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'denied'; readonly response: TooManyRequests }
  /** The client left while its request was delayed: there is nothing to answer. */
  | { readonly kind: 'left' }

type Units = Required<Pick<TakeOptions, 'cost'>> & Pick<TakeOptions, 'costs'>

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
   * Decides a request once, however often it passes the same middleware. Slots that it takes of concurrency policies
   * are released when it has ended.
   */
  decide(request: Request, connection: Connection): Promise<Outcome> {
    const outcome = this.outcomes.get(request) ?? this.count(request, connection)
    this.outcomes.set(request, outcome)
    return outcome
  }

  private async count(request: Request, connection: Connection): Promise<Outcome> {
    const { limiter, skip, keyBy, cost = 1, costs } = this.options
    if (await skip?.(request)) return UNCOUNTED
    const units = { cost: await valueFor(cost, request), costs: await valueFor(costs, request) }
    if (takesNothing(units)) return UNCOUNTED
    const named = (await keyBy?.(request)) ?? ''
    const subject = named === '' ? this.addressSubject(request) : named
    const slot = limiter.countsRunning ? await limiter.acquire(subject, units) : undefined
    const decision = slot ?? (await limiter.take(subject, units))
    if (slot?.allowed) {
      slotsOf(request).add(slot)
      connection.onEnd(() => slotsOf(request).end(slot))
    }
    const context = contextOf(remember(request, decision))
    if (!decision.allowed) return { kind: 'denied', response: tooManyRequests({ values: context }) }
    if (decision.delayMs > 0 && !(await hasPassed(decision.delayMs, connection.leaving()))) {
      if (slot) slotsOf(request).end(slot)
      await this.giveBack(subject, units, decision)
      return { kind: 'left' }
    }
    return { kind: 'passes', headers: headersFromContext(context) }
  }

  private addressSubject(request: Request): string {
    const { address = this.addressOf, ipv6Prefix } = this.options
    return `ip:${clientIpKey(address(request) ?? '', ipv6Prefix) ?? 'unknown'}`
  }

  /** What cannot be given back stays charged: the subject gets less than its due, never more. */
  private async giveBack(subject: string, { cost, costs }: Units, { chargedAt, delayMs }: Decision): Promise<void> {
    await this.options.limiter.refund(subject, cost, { chargedAt, delayMs, costs }).catch(() => {})
  }
}

async function valueFor<Request, Value>(value: ByRequest<Request, Value>, request: Request): Promise<Value> {
  return typeof value === 'function' ? (value as (request: Request) => Value | Promise<Value>)(request) : value
}

const takesNothing = ({ cost, costs = {} }: Units): boolean =>
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
