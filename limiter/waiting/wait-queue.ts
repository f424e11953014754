import { Alarm, onAbort } from '../deadline'
import { type Decision, tooLate } from '../decision'
import type { RateLimiter } from '../rate-limiter'
import { type Charge, toUnits } from '../request'
import { inTurns, Pace } from './pace'
import type { Admission, Patience, Waiter } from './waiter'

/** Requests of the same cost that ask together, and share writes. */
const MAX_AT_ONCE = 100

/** How often a request that waits looks whether the store is back, in milliseconds. */
const DEGRADED_RETRY_MS = 500

/**
 * The requests of one subject that wait, first come, first served.
 *
 * Only the first one asks, with those behind it of the same cost: what is allowed is given to whoever came first, so no
 * smaller request passes one that waits for more. After a denial one of them asks again once the denial says so, or
 * somebody gives units back here, and every `lookAgainMs` for what was given back elsewhere.
 */
export class WaitQueue {
  /** In order of arrival. */
  private waiters = new Set<Waiter>()
  private isServing = false
  private isWoken = false
  private readonly alarm = new Alarm()

  /**
   * @param giveBack is called with what was charged for requests that do not use it.
   * @param onEmpty is called when nobody waits any more; the queue is not used again.
   */
  constructor(
    private readonly charger: Pick<RateLimiter, 'now' | 'decide' | 'lastSeen' | 'probeSoon'>,
    private readonly lookAgainMs: number,
    private readonly giveBack: (charge: Charge, decision: Decision) => Promise<void>,
    private readonly onEmpty: () => void,
  ) {}

  /**
   * Resolves at the request's turn, with the decision that charged it, or with the denial that held it up when its time
   * was over.
   *
   * @param isFirst it was the first before, and has missed its turn.
   */
  join(charge: Charge, { dueAt, signal }: Patience, isFirst = false): Promise<Admission> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiters.delete(waiter)
        clearTimeout(timer)
        ignore()
      }
      const waiter: Waiter = {
        charge,
        costs: JSON.stringify([charge.cost, Object.entries(charge.costs ?? {}).sort()]),
        dueAt,
        isDue: dueAt <= performance.now(),
        resolve: (decision, by = charge) => {
          leave()
          resolve({ decision, charge: by })
        },
        reject: (reason) => {
          leave()
          reject(reason)
        },
      }
      const ignore = onAbort(signal, () => {
        const wasFirst = waiter === this.first
        waiter.reject(signal!.reason)
        if (waiter.turn) void this.giveBack(waiter.turn.charge, waiter.turn.decision)
        if (wasFirst) this.wake()
      })
      let timer: NodeJS.Timeout | undefined
      if (!waiter.isDue && dueAt < Infinity) {
        timer = setTimeout(() => {
          waiter.isDue = true
          this.wake()
        }, dueAt - performance.now())
      }
      if (isFirst) this.waiters = new Set([waiter, ...this.waiters])
      else this.waiters.add(waiter)
      if (!this.isServing) void this.serve()
      else if (waiter.isDue) this.wake()
    })
  }

  /** Something has changed: whoever is first asks now. */
  wake(): void {
    this.isWoken = true
    this.alarm.wake()
  }

  private get first(): Waiter | undefined {
    return this.waiters.values().next().value
  }

  private async serve(): Promise<void> {
    this.isServing = true
    const pace = new Pace(this.charger)
    let atOnce = 1
    for (let first = this.first; first; first = this.first) {
      const { turn, charge } = first
      const units = toUnits(charge) // of the policies that are asked
      const leftMs = turn && turn.at - performance.now()
      if (leftMs !== undefined && (leftMs <= 0 || (await this.sleep(leftMs, turn!.decision.degraded)))) {
        if (leftMs <= 0) first.resolve(turn!.decision, turn!.charge)
        continue
      }
      if (first !== this.first) continue
      this.isWoken = false
      const asking = this.firstAlike(turn ? 1 : atOnce)
      const sentAt = performance.now()
      const { admitted, denial } = await this.ask(asking, turn === undefined)
      const tookMs = performance.now() - sentAt
      if (!denial) {
        if (admitted.length === 0) continue
        if (this.lastTurnAt > performance.now()) {
          atOnce = 1 // one turn at a time
        } else if (inTurns(charge, Infinity)) {
          atOnce = Math.min(MAX_AT_ONCE, 2 * atOnce) // as many as pass while it asks
        } else {
          const next = pace.afterTurns(units, admitted, tookMs)
          atOnce = next.atOnce
          if (next.pauseMs > 0 && this.first?.isDue === false) await this.sleep(next.pauseMs)
        }
        continue
      }
      atOnce = 1
      const nextIsAnother = this.dismiss(denial, asking[0]!.costs)
      if (nextIsAnother || this.isWoken || this.waiters.size === 0 || turn) continue
      await this.sleep(denial.degraded ? denial.retryAfterMs : pace.afterDenial(units, denial), denial.degraded)
    }
    this.onEmpty()
  }

  /** When the last turn comes that was given here, by `performance.now`. */
  private get lastTurnAt(): number {
    let lastAt = -Infinity
    for (const { turn } of this.waiters) {
      if (!turn) break
      lastAt = turn.at
    }
    return lastAt
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

  /**
   * @param inTurn whether they may get turns ahead.
   * @returns what was admitted, and the denial of those that go on waiting, if there are any.
   */
  private async ask(asking: readonly Waiter[], inTurn: boolean): Promise<{ admitted: Decision[]; denial?: Decision }> {
    const [{ charge: plain, dueAt }] = asking as [Waiter]
    const charge = (inTurn && inTurns(plain, dueAt - performance.now())) || plain
    const waiting = [...asking]
    const next = () => waiting.splice(0, 1 + waiting.findIndex((waiter) => this.waiters.has(waiter))).at(-1)
    const admitted: Decision[] = []
    let denial: Decision | undefined
    const decide = async (): Promise<void> => {
      const decision = await this.charger.decide([charge])
      if (decision.degraded) this.charger.probeSoon()
      const windowEndsMs = Math.min(...Object.values(decision.policies).map(({ resetAfterMs }) => resetAfterMs))
      if (!decision.allowed) {
        denial = decision
      } else if (decision.delayMs > windowEndsMs) {
        // it was counted in a window that will be over by then
        denial ??= { ...decision, allowed: false, retryAfterMs: windowEndsMs + 1, chargedAt: null }
        await this.giveBack(charge, decision)
      } else {
        admitted.push(decision)
        const waiter = next()
        if (waiter) await this.give(waiter, charge, decision)
        else void this.giveBack(charge, decision)
      }
    }
    const results = await Promise.allSettled(asking.map(decide))
    for (const result of results) {
      if (result.status === 'fulfilled') continue
      this.charger.probeSoon()
      next()?.reject(result.reason)
    }
    if (!denial || denial.retryAfterMs < Infinity) return { admitted, denial }
    for (const waiter of waiting) if (this.waiters.has(waiter)) waiter.resolve(denial)
    return { admitted }
  }

  private async give(waiter: Waiter, charge: Charge, decision: Decision): Promise<void> {
    const { turn: former, dueAt } = waiter
    const { chargedAt, delayMs } = decision
    const now = performance.now()
    const inMs = delayMs === 0 ? 0 : (chargedAt ?? this.charger.now()) + delayMs - this.charger.now()
    if (inMs <= 0) {
      waiter.resolve(decision, charge)
    } else if (now + inMs <= dueAt) {
      waiter.turn = { at: now + inMs, charge, decision }
    } else {
      await this.giveBack(charge, decision)
      waiter.resolve(tooLate(decision, Math.max(0, dueAt - now)))
    }
    if (former) void this.giveBack(former.charge, former.decision)
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
      if (!waiter.isDue || waiter.turn) someoneStays = true
      else waiter.resolve(isDenied ? denial : { ...denial, retryAfterIsLowerBound: true })
    }
    return false
  }

  /**
   * @param isDegraded the store could not be asked: it is looked for soon.
   * @returns whether all of that time has passed; not if something has changed, or it is time to look again.
   */
  private async sleep(ms: number, isDegraded = false): Promise<boolean> {
    const mostMs = isDegraded ? DEGRADED_RETRY_MS : this.lookAgainMs
    const hasPassed = await this.alarm.sleep(Math.min(ms, mostMs))
    return hasPassed && ms <= mostMs
  }
}
