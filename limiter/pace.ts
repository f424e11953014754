import type { Decision } from './decision'
import type { RateLimiter } from './rate-limiter'
import type { Charge } from './request'
import { unitsOf } from './request'
import { Rivals } from './rivals'
import { fullMs, roundMs, turnMs } from './turns'

/** Requests of the same cost that ask together, and share writes. */
const MAX_AT_ONCE = 100

/** A store that answers sooner is in this process, and no other's. */
const MIN_REMOTE_MS = 1

/**
 * How long a process that has had its turn lets others go first, in milliseconds, if they are further from the store:
 * it takes two calls to learn that there is room and to take it. It does so no more often than costs that share of the
 * limit: of a bucket, which is paused for less, a larger one.
 */
const GIVE_WAY_MS = 60
const GIVEN_WAY = { ofWindow: 0.02, ofBucket: 0.04 }
/** Between two asks while there is room, as a share of the window; and past the process's share of that room. */
const PAUSE = { ms: 60, ofWindow: 0.015 }
const LONG_PAUSE = { ms: 250, ofWindow: 0.1 }

/**
 * When, and for how many at once, a process asks for requests that wait for units which come free for all at the same
 * time. Processes know of each other what the item's marks show.
 *
 * Who has had turns stands back for a round: until as many units are free as the others have had by then, and one more.
 * Who was denied asks as soon as there is room, and whoever just had a turn lets those go first. Of room for many each
 * takes its share.
 */
export class Pace {
  private readonly rivals = new Rivals()
  /** Since the last denial. */
  private turns = 0
  private isStarting = true
  /** The shortest ask that was admitted, and so took a call. */
  private shortestMs = Infinity

  constructor(private readonly limiter: Pick<RateLimiter, 'now' | 'lastSeen'>) {}

  /** Requests were admitted. @returns how many ask next, and after which pause in milliseconds. */
  afterTurns(charge: Charge, decisions: readonly Decision[], tookMs: number): { atOnce: number; pauseMs: number } {
    this.shortestMs = Math.min(this.shortestMs, tookMs)
    this.observe(charge)
    this.turns += decisions.length
    const left = Math.min(...decisions.map((decision) => requestsLeft(charge, decision)))
    const processes = this.rivals.count
    const isAlone = processes === 1 && !(this.isRemote && this.isStarting)
    this.isStarting = false
    if (isAlone) return { atOnce: MAX_AT_ONCE, pauseMs: 0 }
    const atOnce = processes === 1 ? MAX_AT_ONCE : Math.floor(left / processes)
    const isPastShare = this.turns * processes * turnMs(charge) >= fullMs(charge)
    const { ms, ofWindow } = isPastShare ? LONG_PAUSE : PAUSE
    const pauseMs = left < 1 || !this.isRemote ? 0 : Math.min(ms, ofWindow * fullMs(charge))
    return { atOnce: Math.max(1, Math.min(MAX_AT_ONCE, atOnce)), pauseMs }
  }

  /** A request was denied. @returns when to ask again, in milliseconds. */
  afterDenial(charge: Charge, { retryAfterMs }: Decision): number {
    this.observe(charge)
    const { turns } = this
    const processes = this.rivals.count
    const untilRoomFor = (requests: number) =>
      Math.max(retryAfterMs, roundMs(charge, requests, this.limiter.lastSeen(charge.key), this.limiter.now()))
    if (turns === 0) return retryAfterMs
    this.turns = 0
    this.rivals.nextRound()
    if (processes === 1 && !this.isRemote) return retryAfterMs
    const round = Math.max((processes - 1) * turns + 1, Math.floor((processes - 0.5) * turns))
    const perWindow = Math.max(1, Math.floor(fullMs(charge) / turnMs(charge)))
    const isNextWindow = round > perWindow && round < 1.5 * perWindow
    return untilRoomFor(isNextWindow ? perWindow : round) + this.giveWayMs(charge)
  }

  private get isRemote(): boolean {
    return this.shortestMs >= MIN_REMOTE_MS
  }

  private observe({ key }: Charge): void {
    this.rivals.observe(this.limiter.lastSeen(key))
  }

  /** Also while no other is seen: one that never gets a turn is never seen. */
  private giveWayMs(charge: Charge): number {
    const ms = Math.min(GIVE_WAY_MS, 0.3 * fullMs(charge))
    const share = charge.policies.some(({ drains }) => drains) ? GIVEN_WAY.ofBucket : GIVEN_WAY.ofWindow
    return this.isRemote && Math.random() < (share * fullMs(charge)) / ms ? ms : 0
  }
}

/** How many more such requests have room now. */
const requestsLeft = (charge: Charge, { policies }: Decision): number =>
  Math.min(...charge.policies.map((policy) => policies[policy.name]!.remaining / Math.max(1, unitsOf(charge, policy))))
