import { setTimeout as wait } from 'node:timers/promises'
import type { ProblemResponse } from '../backend/responses'
import { clientIpKey } from '../lambda/identity/client-ip'
import type { TakeOptions } from '../limiter/options'
import { type Charged, charge } from './charge'
import type { RequestFacts } from './charge-by-tier'
import type { Connection } from './connection'
import { checkLimiter, isTiered } from './limits'
import { type ByRequest, checkRateLimitOptions, type RateLimitOptions } from './options'
import { reservationsOf } from './reservation-of'

/** What a middleware does with a request. */
export type Outcome =
  /** The handler is called, and its response gets these headers. */
  | { readonly kind: 'passes'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'denied'; readonly response: ProblemResponse<number> }
  /** The client left while its request was delayed: there is nothing to answer. */
  | { readonly kind: 'left' }

/** What a framework knows of its requests. */
export interface Framework<Request> {
  addressOf(request: Request): string | undefined
  factsOf(request: Request): RequestFacts
}

const UNCOUNTED: Outcome = { kind: 'passes', headers: {} }

/** Decides requests of any framework, and delays those that have a delay. */
export class RequestLimiter<Request extends object> {
  private readonly outcomes = new WeakMap<Request, Promise<Outcome>>()

  constructor(
    private readonly options: RateLimitOptions<Request>,
    private readonly framework: Framework<Request>,
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
    const { skip, reserve } = this.options
    if (reserve !== undefined) (await reservationsOf(request)).expectUnits()
    if (await skip?.(request)) return UNCOUNTED
    const charged = await this.charge(request)
    if (!charged) return UNCOUNTED
    const { held, denial, headers, delayMs } = charged
    if (held) (await reservationsOf(request)).add(held, connection)
    if (denial) return { kind: 'denied', response: denial }
    if (delayMs > 0 && !(await hasPassed(delayMs, connection.leaving()))) {
      if (held) (await reservationsOf(request)).giveBack(held)
      await charged.giveBack()
      return { kind: 'left' }
    }
    return { kind: 'passes', headers }
  }

  private async charge(request: Request): Promise<Charged | undefined> {
    const { keyBy, cost, costs, reserve } = this.options
    const limiter = await valueFor(this.options.limiter, request)
    if (limiter === undefined) return undefined
    checkLimiter(limiter, reserve)
    const units = { cost: await valueFor(cost, request), costs: await valueFor(costs, request) }
    if (isTiered(limiter)) {
      const { chargeByTier } = await import('./charge-by-tier.ts')
      ;(await reservationsOf(request)).expectUnits() // the tiers of other callers may reserve some
      const caller = await keyBy?.(request)
      const facts = this.framework.factsOf(request)
      return chargeByTier(request, limiter, facts, caller, { ...units, address: this.addressOf(request) })
    }
    if (takesNothing(units)) return undefined
    const named = (await keyBy?.(request)) ?? ''
    const subject = named === '' ? this.addressSubject(request) : named
    return charge(request, limiter, subject as string, { ...units, reserve })
  }

  private addressOf(request: Request): string | undefined {
    return this.options.address ? this.options.address(request) : this.framework.addressOf(request)
  }

  private addressSubject(request: Request): string {
    return `ip:${clientIpKey(this.addressOf(request) ?? '', this.options.ipv6Prefix) ?? 'unknown'}`
  }
}

async function valueFor<Request, Value>(value: ByRequest<Request, Value>, request: Request): Promise<Value> {
  return typeof value === 'function' ? (value as (request: Request) => Value | Promise<Value>)(request) : value
}

const takesNothing = ({ cost, costs = {} }: TakeOptions): boolean =>
  cost === 0 && Object.values(costs).every((units) => units === 0)

/** @returns whether that time has passed; not if the signal was aborted before. */
const hasPassed = (ms: number, signal: AbortSignal): Promise<boolean> =>
  wait(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
