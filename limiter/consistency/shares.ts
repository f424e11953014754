import type { EpochMs } from '../clock'
import { type Board, nextShare, type Report } from './share-board'

/** What is shared out in a window, in milliseconds: so many units. */
interface Shared {
  readonly windowMs: number
  readonly limit: number
}

/** A caller, and its part of what is shared out. */
interface Sharer {
  readonly key: string
  readonly weight: number
}

/** When an instance tells what it saw in the last window, at the latest, and looks at what all said: parts of one. */
const TOLD_BY = 0.08
const LOOKED_AT = 0.12
const LOOKED_BY = 0.14
/** Reports and looks a second that all instances together send to one board, of the 1,000 writes that it takes. */
const CALLS_PER_SECOND = 300
/** A share holds for so many windows after the one that it was made from. */
const HOLDS_FOR = 3
/** Callers whose denials an instance counts in one window. */
const MAX_CALLERS = 10_000

/** What an instance knows of one fair policy of one subject. */
export class Shares {
  /** The window, numbered from the epoch. */
  private window = -1
  private now: Counted = newCounted()
  /** Of the last window, to be told. */
  private last: Counted | undefined
  private askedAt = -Infinity
  private tellAt = 0
  private lookAt = 0
  private board: Board | undefined

  /** @param random gives numbers from 0 to 1: by chance an instance comes to the board when others do not. */
  constructor(
    private fair: Shared,
    private readonly random: () => number = () => Math.random(),
  ) {}

  get limit(): number {
    return this.fair.limit
  }

  /** The limit may have changed. */
  update(fair: Shared): this {
    this.fair = fair
    return this
  }

  /** Units that a caller of weight 1 may take; `Infinity` where callers are held to no share. */
  shareAt(now: EpochMs): number {
    this.moveTo(now)
    const { board, window } = this
    return board && Math.abs(window - board.window) <= HOLDS_FOR * this.among
      ? nextShare(board, this.fair.limit).share
      : Infinity
  }

  /** A caller took units, of which so many stand in its own item then. */
  took({ key, weight }: Sharer, units: number, after: number, most: number): void {
    this.now.starved.delete(key)
    if (after === units && units > 0) this.now.active += weight
    if (after + units > most) this.now.capped += weight
    this.now.used += units
  }

  /** A caller was denied by its share. */
  denied({ key, weight }: Sharer): void {
    const { deniedTo } = this.now
    if (deniedTo.size < MAX_CALLERS) deniedTo.set(key, weight)
  }

  /** A caller was denied by the shared limit while it had so much of its share left, however often it asked. */
  fellShort({ key, weight }: Sharer, units: number, left: number, most: number): void {
    const { shortOf, starved } = this.now
    if (shortOf.size < MAX_CALLERS) shortOf.set(key, Math.min(left, (shortOf.get(key) ?? 0) + units))
    if (left === most && starved.size < MAX_CALLERS) starved.set(key, weight)
  }

  /** What is to be asked of the board now. */
  due(now: EpochMs): 'tell' | 'look' | undefined {
    this.moveTo(now)
    if (this.last && now >= this.tellAt && (this.last.shortOf.size > 0 || this.shareAt(now) < Infinity)) return 'tell'
    return now >= this.lookAt ? 'look' : undefined
  }

  /** What an instance saw in the last window, said for as many instances as are not asked. */
  report(): { readonly window: number; readonly report: Report } {
    const { active, capped, deniedTo, used, shortOf, starved } = this.last!
    this.last = undefined
    const of = (one: number) => Math.round(one * this.among)
    return {
      window: this.window - 1,
      report: {
        active: of(active),
        capped: of(capped),
        denied: of(sumOf(deniedTo)),
        used: of(used),
        short: of(sumOf(shortOf)),
        starved: of(sumOf(starved)),
        reports: of(1),
      },
    }
  }

  looked(): void {
    this.lookAt = Infinity
  }

  /** What a report found is as good as a look, where that is due. */
  told(board: Board, now: EpochMs): void {
    if (now < this.lookAt) return
    this.looked()
    this.learn(board)
  }

  learn(board: Board): void {
    this.board = board
  }

  /** One of so many instances comes to the board in a window. */
  private get among(): number {
    const { board, fair } = this
    return Math.max(1, (1000 * Math.max(board?.before ?? 0, board?.reports ?? 0)) / CALLS_PER_SECOND / fair.windowMs)
  }

  private moveTo(now: EpochMs): void {
    const { windowMs } = this.fair
    const window = Math.floor(now / windowMs)
    if (window !== this.window) this.begin(window, now)
    this.askedAt = now
  }

  private begin(window: number, now: EpochMs): void {
    const { windowMs } = this.fair
    this.last = window === this.window + 1 ? this.now : undefined
    const isAsked = this.random() * this.among < 1
    const from = window * windowMs
    const wasAway = window !== this.window + 1
    // requests that come seldom, or all at once, leave no later moment
    const isSeldom = this.askedAt < from - windowMs + LOOKED_BY * windowMs
    const moment = (least: number, most: number) =>
      isSeldom ? now : from + (least + this.random() * (most - least)) * windowMs
    this.tellAt = isAsked ? moment(0, TOLD_BY) : Infinity
    this.lookAt = wasAway ? now : isAsked ? moment(LOOKED_AT, LOOKED_BY) : Infinity
    this.window = window
    this.now = newCounted()
  }
}

interface Counted {
  active: number
  capped: number
  /** By the callers' keys. */
  readonly deniedTo: Map<string, number>
  used: number
  /** Units that callers missed, by their keys. */
  readonly shortOf: Map<string, number>
  /** The weights of those of them that had taken nothing. */
  readonly starved: Map<string, number>
}

const newCounted = (): Counted => ({
  active: 0,
  capped: 0,
  deniedTo: new Map(),
  used: 0,
  shortOf: new Map(),
  starved: new Map(),
})

const sumOf = (numbers: ReadonlyMap<string, number>): number => [...numbers.values()].reduce((sum, one) => sum + one, 0)

/**
 * Whole units of a caller, one at least; `Infinity` where it has no share. They are rounded down by a thirtieth at
 * most, so that callers' lists of policies are a hundred and not thousands.
 */
export function unitsFor(share: number, weight: number): number {
  if (share === Infinity) return share
  const units = Math.max(1, Math.floor(weight * share))
  const step = 2 ** Math.max(0, Math.floor(Math.log2(units)) - 5)
  return units - (units % step)
}
