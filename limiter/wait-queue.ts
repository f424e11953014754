import type { Charge } from './consistency/strategy'
import type { Decision } from './decision'
import { onAbort } from './on-abort'

/** The limiter, as those who wait use it. */
export interface Charger {
  decide(charges: readonly Charge[]): Promise<Decision>
  refund(charge: Charge, options: { readonly chargedAt: number | null; readonly delayMs: number }): Promise<void>
}

/** Requests of the same cost that ask together, and share writes. */
const MOST_AT_ONCE = 100

/** The longest that a request waits on top, in milliseconds, while other processes take what becomes free. */
const MOST_SPREAD_MS = 1000

interface Waiter {
  readonly charge: Charge
  /** What it takes, to compare. */
  readonly costs: string
  /** Its time is up: the next denial that holds it up is its answer. */
  isDue: boolean
  readonly resolve: (decision: Decision) => void
  readonly reject: (reason: unknown) => void
}

/**
 * The requests of one subject that wait, first come, first served.
 *
 * Only the first one asks, with those behind it of the same cost: what is allowed is given to whoever came first, so no
 * smaller request passes one that waits for more. After a denial one of them asks again once the denial says so, or
 * somebody gives units back here, and every `lookAgainMs` for what was given back elsewhere.
 */
export class WaitQueue {
  /** In order of arrival. */
  private readonly waiters = new Set<Waiter>()
  private isServing = false
  private isWoken = false
  private endSleep = () => {}

  /**
   * @param giveBack is called with what was charged for requests that were aborted meanwhile.
   * @param onEmpty is called when nobody waits any more; the queue is not used again.
   */
  constructor(
    private readonly charger: Pick<Charger, 'decide'>,
    private readonly lookAgainMs: number,
    private readonly giveBack: (charge: Charge, decision: Decision) => void,
    private readonly onEmpty: () => void,
  ) {}

  /**
   * Resolves with the decision that charged the request, whose `delayMs` is still to come, or with the denial that held
   * it up when its time was over.
   */
  join(charge: Charge, maxWaitMs: number, signal: AbortSignal | undefined): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiters.delete(waiter)
        clearTimeout(timer)
        ignore()
      }
      const waiter: Waiter = {
        charge,
        costs: JSON.stringify([charge.cost, Object.entries(charge.costs ?? {}).sort()]),
        isDue: maxWaitMs <= 0,
        resolve: (decision) => {
          leave()
          resolve(decision)
        },
        reject: (reason) => {
          leave()
          reject(reason)
        },
      }
      const ignore = onAbort(signal, () => {
        const wasFirst = waiter === this.first
        waiter.reject(signal!.reason)
        if (wasFirst) this.wake()
      })
      let timer: NodeJS.Timeout | undefined
      if (maxWaitMs > 0 && maxWaitMs < Infinity) {
        timer = setTimeout(() => {
          waiter.isDue = true
          this.wake()
        }, maxWaitMs)
      }
      this.waiters.add(waiter)
      if (!this.isServing) void this.serve()
      else if (waiter.isDue) this.wake()
    })
  }

  /** Something has changed: whoever is first asks now. */
  wake(): void {
    this.isWoken = true
    this.endSleep()
  }

  private get first(): Waiter | undefined {
    return this.waiters.values().next().value
  }

  private async serve(): Promise<void> {
    this.isServing = true
    let atOnce = MOST_AT_ONCE
    let misses = 0 // how often in a row others were quicker
    while (this.waiters.size > 0) {
      this.isWoken = false
      const asking = this.firstAlike(atOnce)
      const denial = await this.ask(asking)
      if (!denial) {
        atOnce = Math.min(MOST_AT_ONCE, atOnce * 2)
        misses = 0
        continue
      }
      atOnce = 1
      const nextIsAnother = this.dismiss(denial, asking[0]!.costs)
      if (nextIsAnother || this.isWoken || this.waiters.size === 0) continue
      misses = (await this.sleep(denial.retryAfterMs + spreadMs(denial, misses))) ? misses + 1 : 0
    }
    this.onEmpty()
  }

  /** The first requests, as far as they cost the same. */
  private firstAlike(most: number): Waiter[] {
    const alike: Waiter[] = []
    for (const waiter of this.waiters) {
      if (alike.length === most || (alike[0] && waiter.costs !== alike[0].costs)) break
      alike.push(waiter)
    }
    return alike
  }

  /** @returns the denial of those that go on waiting, if there are any. */
  private async ask(asking: readonly Waiter[]): Promise<Decision | undefined> {
    const results = await Promise.allSettled(asking.map(({ charge }) => this.charger.decide([charge])))
    const decisions = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const waiting = asking.filter((waiter) => this.waiters.has(waiter))
    for (const decision of decisions.filter(({ allowed }) => allowed).sort((a, b) => a.delayMs - b.delayMs)) {
      const next = waiting.shift()
      if (next) next.resolve(decision)
      else this.giveBack(asking[0]!.charge, decision)
    }
    for (const result of results) if (result.status === 'rejected') waiting.shift()?.reject(result.reason)
    const denial = decisions.findLast(({ allowed }) => !allowed)
    if (denial?.retryAfterMs !== Infinity) return denial
    for (const waiter of waiting) waiter.resolve(denial)
    return undefined
  }

  /**
   * Answers those whose time is up with the denial that holds them up.
   *
   * @returns whether the first one is now a request of another cost, which that denial says nothing of.
   */
  private dismiss(denial: Decision, denied: string): boolean {
    let someoneStays = false
    for (const waiter of this.waiters) {
      const isDenied = waiter.costs === denied
      if (!someoneStays && !isDenied) return true
      if (!waiter.isDue) someoneStays = true
      else waiter.resolve(isDenied ? denial : { ...denial, retryAfterIsLowerBound: true })
    }
    return false
  }

  /** @returns whether all of that time has passed; not if something has changed, or it is time to look again. */
  private async sleep(ms: number): Promise<boolean> {
    const isSlept = await new Promise<boolean>((resolve) => {
      // A referenced timer: a program that waits does not exit.
      const timer = setTimeout(() => resolve(true), Math.max(1, Math.ceil(Math.min(ms, this.lookAgainMs))))
      this.endSleep = () => {
        clearTimeout(timer)
        resolve(false)
      }
    })
    this.endSleep = () => {}
    return isSlept && ms <= this.lookAgainMs
  }
}

/** Who comes too late time after time comes at other times than the others, and asks less often. */
const spreadMs = ({ retryAfterMs }: Decision, misses: number): number =>
  misses < 2 ? 0 : Math.random() * Math.min(MOST_SPREAD_MS, retryAfterMs * misses)
