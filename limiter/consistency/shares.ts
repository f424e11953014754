import type { EpochMs } from '../clock'
import type { Fair } from '../compiled-policy'
import { type Board, nextShare, type Report } from './share-board'

/** When an instance tells what it saw in the last window, at the latest, and looks at what all said: parts of one. */
const TOLD_BY = 0.08
const LOOKED_AT = 0.12
const LOOKED_BY = 0.14
/** Reports and looks a second that all instances together send to one board, of the 1,000 writes that it takes. */
const CALLS_PER_SECOND = 300
/** A share holds for so many windows after the one that it was made from. */
const HOLDS_FOR = 3
/** Callers that an instance counts as denied in one window. */
const MAX_CALLERS = 10_000

/** What an instance knows of one fair policy of one subject. */
export class Shares {
  /** The window, numbered from the epoch. */
  private window = -1
  private now: Counted = newCounted()
  /** Of the last window, to be told. */
  private last: Counted | undefined
  private tellAt = 0
  private lookAt = 0
  private board: Board | undefined

  constructor(private fair: Fair) {}

  get limit(): number {
    return this.fair.limit
  }

  /** The limit may have changed. */
  update(fair: Fair): this {
    this.fair = fair
    return this
  }

  /** Units that a caller of weight 1 may take; `Infinity` where callers are held to no share. */
  shareAt(now: EpochMs): number {
    this.moveTo(now)
    const { board, window } = this
    return board && window - board.window <= HOLDS_FOR * this.among ? nextShare(board, this.fair.limit) : Infinity
  }

  /** A caller took units, of which so many stand in its own item then, or was denied by the shared limit. */
  took(units: number, after: number, most: number, weight: number): void {
    if (after === units) this.now.active += weight
    if (after + units > most) this.now.capped += weight
    this.now.used += units
  }

  /** A caller was denied by its share. */
  denied(caller: string, weight: number): void {
    if (this.now.deniedTo.size < MAX_CALLERS) this.now.deniedTo.set(caller, weight)
  }

  /** A caller was denied by the shared limit while it had some of its share left. */
  fellShort(units: number): void {
    this.now.short += units
  }

  /** What is to be asked of the board now. */
  due(now: EpochMs): 'tell' | 'look' | undefined {
    this.moveTo(now)
    if (this.last && now >= this.tellAt && (this.last.short > 0 || this.shareAt(now) < Infinity)) return 'tell'
    return now >= this.lookAt ? 'look' : undefined
  }

  /** What an instance saw in the last window, said for as many instances as are not asked. */
  report(): { readonly window: number; readonly report: Report } {
    const { active, capped, deniedTo, used, short } = this.last!
    const denied = [...deniedTo.values()].reduce((sum, one) => sum + one, 0)
    this.last = undefined
    const of = (one: number) => Math.round(one * this.among)
    return {
      window: this.window - 1,
      report: {
        active: of(active),
        capped: of(capped),
        denied: of(denied),
        used: of(used),
        short: of(short),
        reports: of(1),
      },
    }
  }

  looked(): void {
    this.lookAt = Infinity
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
    if (window === this.window) return
    this.last = window === this.window + 1 ? this.now : undefined
    const isAsked = Math.random() * this.among < 1
    const from = window * windowMs
    this.tellAt = isAsked ? from + Math.random() * TOLD_BY * windowMs : Infinity
    this.lookAt =
      this.window < 0
        ? now
        : isAsked
          ? from + (LOOKED_AT + Math.random() * (LOOKED_BY - LOOKED_AT)) * windowMs
          : Infinity
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
  short: number
}

const newCounted = (): Counted => ({ active: 0, capped: 0, deniedTo: new Map(), used: 0, short: 0 })
