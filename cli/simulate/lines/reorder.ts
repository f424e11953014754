import { iso } from '../../arguments'
import { UserError } from '../../exit'
import type { EpochMs } from '../../facade/values'

interface Timed {
  readonly at: EpochMs
}

/**
 * Puts what comes a little out of order into the order of its times; what has the same time stays as it came. An access
 * log is written when the answers are, and times are those of the requests.
 */
export class Reorder<T extends Timed> {
  /** By second. */
  private readonly waiting = new Map<number, T[]>()
  private newest: { readonly at: EpochMs; readonly line: number } | undefined
  /** The first second that was not released. */
  private next = -Infinity
  private oldest = Infinity

  /** @param withinMs how much older than the newest one may be that comes after it. */
  constructor(
    private readonly withinMs: number,
    private readonly file: string,
  ) {}

  /** @throws UserError for one that is too late. */
  push(one: T, line: number): void {
    const { newest } = this
    if (newest && one.at < newest.at - this.withinMs) {
      throw new UserError(
        `${this.file}, line ${line}: its time ${iso(one.at)} is ${lateness(newest.at - one.at)} before that of line ${newest.line}, ${iso(newest.at)}. Lines may be out of order by ${this.withinMs / 1000} s: sort the log, or allow more with --reorder`,
      )
    }
    if (!newest || one.at > newest.at) this.newest = { at: one.at, line }
    const second = Math.floor(one.at / 1000)
    const list = this.waiting.get(second)
    if (list) list.push(one)
    else this.waiting.set(second, [one])
    if (second < this.oldest) this.oldest = second
  }

  /** What nothing can come before any more, in order. */
  *released(): Generator<T[], void> {
    if (!this.newest) return
    yield* this.until(Math.floor((this.newest.at - this.withinMs) / 1000))
  }

  /** All that is left. */
  *rest(): Generator<T[], void> {
    yield* this.until(Infinity)
  }

  /** Seconds before this one. */
  private *until(second: number): Generator<T[], void> {
    if (this.oldest >= second || second < this.next) return
    const due = [...this.waiting.keys()].filter((one) => one < second).sort((a, b) => a - b)
    this.next = second
    for (const one of due) {
      const list = this.waiting.get(one)!
      this.waiting.delete(one)
      yield sorted(list)
    }
    this.oldest = [...this.waiting.keys()].reduce((a, b) => Math.min(a, b), Infinity)
  }
}

function sorted<T extends Timed>(list: T[]): T[] {
  for (let i = 1; i < list.length; i++) if (list[i]!.at < list[i - 1]!.at) return list.sort((a, b) => a.at - b.at)
  return list
}

const lateness = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`
