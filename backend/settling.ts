import type { UsedUnits } from '../limiter/options'
import { settlingTable } from './environment'
import { fromEvent, type GatewayContext } from './gateway-context'
import { Settlements, within } from './settlements'
import type { Settler } from './settler'

/** How a request is settled. */
export interface SettleOptions {
  /**
   * The longest that settling delays an answer, in milliseconds. A settlement that takes longer goes on in the
   * background, with the function's next request where Lambda freezes it. @default 20
   */
  readonly settleWithinMs?: number | undefined
}

const SETTLE_WITHIN_MS = 20
const MAX_MS = 10_000

let settler: Settler | undefined

/**
 * One for all handlers of a function: they share its connections. Most functions settle nothing, and load nothing for
 * it.
 */
const ofFunction = /* @__PURE__ */ new Settlements({
  load: async () => {
    const table = settlingTable()
    if (!table) return undefined
    settler ??= (await import('./settler.ts')).settlerFor(table)
    return settler
  },
})

/** The end of a request that is being served. */
interface Served {
  used?: UsedUnits
  isHandedOn?: boolean
  /** Wrappers that have not ended yet: the last one settles the request. */
  wrappers: number
}

/**
 * By reservation, bounded, since a middleware that answers early ends the request without notice. An evicted one is
 * still settled, and a report by its handler at once.
 */
const served = new Map<string, Served>()
const MAX_SERVED = 1000

/** What a request has really used, as far as it is known. */
export type CostNow = UsedUnits | undefined | Promise<UsedUnits | undefined>

/** Settles what one request holds, once its handler has ended. */
export interface RequestSettling {
  /**
   * Settles it to what the handler has reported, else to what `cost` returns. If neither is known, the request stays
   * charged as it was reserved. An error of `cost` is logged.
   */
  end(cost?: () => CostNow): Promise<void>
  /**
   * Leaves it open: it has opened a connection, and is settled when that ends. A report would be too early, and is
   * logged.
   */
  leave(): void
}

/** Loads what settling needs while the function starts, when Lambda gives it a full CPU. */
export function prepareToSettle({ settleWithinMs = SETTLE_WITHIN_MS }: SettleOptions): void {
  if (!(settleWithinMs >= 0 && settleWithinMs <= MAX_MS))
    throw new TypeError(`settleWithinMs must be milliseconds from 0 to ${MAX_MS}, got ${String(settleWithinMs)}`)
  if (settlingTable()) ofFunction.prepare()
}

/**
 * Begins to serve a request; `undefined` where it holds nothing.
 *
 * @param settlements by whom it is settled. @default by the function, in the table that its environment names
 */
export function beginSettling(
  { reservation }: GatewayContext,
  { settleWithinMs = SETTLE_WITHIN_MS }: SettleOptions,
  settlements = ofFunction,
): RequestSettling | undefined {
  void settlements.retry()
  if (reservation === '') return undefined
  const request: Served = served.get(reservation) ?? { wrappers: 0 }
  request.wrappers++
  served.set(reservation, request)
  if (served.size > MAX_SERVED) served.delete(served.keys().next().value!)
  let hasEnded = false
  const settled = async (cost: () => CostNow) => {
    const units = request.isHandedOn || request.used !== undefined ? undefined : await known(cost, settlements)
    request.used ??= units
    if (--request.wrappers > 0) return
    served.delete(reservation)
    await settlements.settle(reservation, request)
  }
  return {
    end: async (cost = () => undefined) => {
      if (hasEnded) return
      hasEnded = true
      const done = settled(cost)
      if (settleWithinMs > 0) await within(settleWithinMs, done, undefined)
    },
    leave: () => {
      if (hasEnded) return
      hasEnded = true
      if (--request.wrappers > 0) return
      served.delete(reservation)
      if (request.used !== undefined) settlements.warn('connection_open', TOO_EARLY)
    },
  }
}

const TOO_EARLY = 'a connection that is open cannot be settled: report what it has used when it ends, in $disconnect'

/** What `cost` returns within ten seconds. */
async function known(cost: () => CostNow, settlements: Settlements): Promise<UsedUnits | undefined> {
  try {
    return await within(MAX_MS, Promise.resolve(cost()), undefined)
  } catch (error) {
    settlements.warn('cost_failed', error)
    return undefined
  }
}

/**
 * Reports what a request has really used: `withRateLimit` and `rateLimit` settle it to that once the handler ends, and
 * of several reports the last one counts. In a handler without them, and in another process such as the worker of a
 * queue, this settles it at once. It never rejects: what could not be settled stays charged as it was reserved.
 *
 * @param request the event of the request, or its reservation as `handOn` gives it.
 * @param used units of everything that is reserved, or by the name of each cost: `{ costs: { tokens: 812 } }`.
 */
export async function reportCost(request: unknown, used: UsedUnits): Promise<void> {
  const reservation = typeof request === 'string' ? request : fromEvent(request).reservation
  if (reservation === '') return
  const running = served.get(reservation)
  if (running) running.used = used
  else await within(MAX_MS, ofFunction.settle(reservation, { used }), undefined)
}

/**
 * The reservation of a request whose true cost another process will report, to hand only to it. What it reserves stays
 * open when the handler ends.
 *
 * @returns `undefined` where nothing is reserved.
 */
export function handOn(event: unknown): string | undefined {
  const { reservation } = fromEvent(event)
  const request = served.get(reservation)
  if (request) request.isHandedOn = true
  return reservation || undefined
}
