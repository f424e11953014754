import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import type { Decision } from '../decision'
import type { RateLimiter } from '../rate-limiter'
import { type Charge, type Units, unitsOf } from '../request'
import { type Item, MARKS } from '../stores/store'

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

/** The ids of one writer ascend, and lie within this range of each other. */
const ID_RANGE = 2 ** 20

/** A process that has not been seen to write for so many rounds waits no more. */
const MAX_ROUNDS_UNSEEN = 3

interface Writer {
  id: number
  /** When it was last seen to write; `undefined` where that was before the first time. */
  round: number | undefined
}

/**
 * Counts the processes that write to a subject, this one included, by the idempotency marks of its item: each has a
 * range of ids, and one that has moved was written since. Processes share eight marks; who finds another's writes under
 * its own takes another one.
 */
class Rivals {
  private writers: Writer[] = []
  private round = 0
  private isFirst = true

  get count(): number {
    return Math.max(1, this.writers.filter(({ round }) => round !== undefined).length)
  }

  observe(item: Item | undefined): void {
    for (const mark of MARKS) {
      const id = item?.marks[mark]
      if (id === undefined) continue
      const known = this.writers.find((writer) => Math.abs(id - writer.id) < ID_RANGE)
      if (!known) this.writers.push({ id, round: this.isFirst ? undefined : this.round })
      else if (id > known.id) Object.assign(known, { id, round: this.round })
    }
    this.isFirst &&= item === undefined
  }

  /** A round is over: this process has had its turn, and waits for the next. */
  nextRound(): void {
    this.round++
    this.writers = this.writers.filter(({ round }) => round === undefined || round >= this.round - MAX_ROUNDS_UNSEEN)
  }
}

/** How many turns ahead a request may get its own; more processes than that compete for the last one. */
const MAX_TURNS = 32
const MIN_AHEAD_MS = 1000
const MAX_AHEAD_MS = 3_600_000

type Policies = readonly CompiledPolicy[]

/** What a request takes, and from which policies. */
interface Taking extends Units {
  readonly policies: Policies
}

const lists = new WeakMap<Policies, Map<number, Policies | undefined>>()

/**
 * The same charge by policies that give it a turn ahead, at most `withinMs` from now; `undefined` where they cannot.
 * The lists are the same arrays for the same time, of which there are two dozen.
 */
export function inTurns<C extends Taking>(charge: C, withinMs: number): C | undefined {
  const { policies } = charge
  const wantedMs = Math.max(MIN_AHEAD_MS, MAX_TURNS * turnMs(charge))
  const aheadMs = 2 ** Math.floor(Math.log2(Math.min(withinMs, wantedMs, MAX_AHEAD_MS)))
  if (!(aheadMs >= 1) || !policies.some(({ drains }) => drains)) return undefined
  const known = lists.get(policies) ?? new Map<number, Policies | undefined>()
  lists.set(policies, known)
  if (!known.has(aheadMs)) {
    const turning = policies.flatMap((policy) => policy.givingTurns(aheadMs) ?? [])
    known.set(aheadMs, turning.length === policies.length ? turning : undefined)
  }
  const list = known.get(aheadMs)
  return list && { ...charge, policies: list }
}

/** How long the slowest of its limits takes for what a request takes, in milliseconds. */
const turnMs = (charge: Taking): number =>
  Math.max(...charge.policies.map((policy) => (unitsOf(charge, policy) * policy.windowMs) / policy.limit))

/** How long the strictest of its limits takes from empty to full, in milliseconds. */
const fullMs = ({ policies }: Taking): number =>
  Math.min(...policies.map((policy) => (burstOf(policy) * policy.windowMs) / policy.limit))

/** How long it takes until so many requests would fit, one after another, if nobody else came; in milliseconds. */
function roundMs(charge: Taking, requests: number, item: Item | undefined, now: EpochMs): number {
  const waits = charge.policies.map((policy) => {
    const units = Math.max(1, unitsOf(charge, policy) * requests)
    const before = Math.floor((units - 1) / burstOf(policy)) * burstOf(policy)
    const { retryAfterMs } = policy.counter.step(fieldsOf(item, policy), units - before, now).verdict
    return retryAfterMs + (before * policy.windowMs) / policy.limit
  })
  return Math.max(...waits)
}

/** Units that a policy admits at once after a pause. */
const burstOf = ({ limit, drains, written }: CompiledPolicy): number =>
  drains && 'burst' in written ? (written.burst ?? limit) : limit
