import type { EpochMs } from './clock'
import type { KnownDenial } from './known-denial'
import type { Item } from './stores/store'

/** What this instance last saw of a subject. */
export interface View {
  readonly item: Item
  readonly seenAt: EpochMs
  /** Whether another instance wrote to it between the last two times that it was seen. */
  readonly shared: boolean
  /** How often in a row our write was refused because others had taken what had become free. */
  readonly consecutiveConflicts: number
  /** The last request that was denied by this view alone. */
  denial?: KnownDenial
}

/** Remembers the views of the subjects seen last, at most `max` of them. */
export class SubjectCache {
  private readonly views = new Map<string, View>()
  /** The last of them, which need not be moved to the end. */
  private newest: string | undefined

  constructor(private readonly max: number) {}

  get size(): number {
    return this.views.size
  }

  get(key: string): View | undefined {
    const view = this.views.get(key)
    if (view && key !== this.newest) this.touch(key, view)
    return view
  }

  /** Takes in what came back from the store. */
  learn(key: string, item: Item, seenAt: EpochMs, shared = this.views.get(key)?.shared ?? false): void {
    this.touch(key, { item, seenAt, shared, consecutiveConflicts: this.views.get(key)?.consecutiveConflicts ?? 0 })
    if (this.views.size > this.max) this.views.delete(this.views.keys().next().value!)
  }

  /** Counts a write that conflicted, or resets the count after one that did not. */
  recordConflict(key: string, wasRefused: boolean): void {
    const view = this.views.get(key)
    if (view && (wasRefused || view.consecutiveConflicts > 0))
      this.views.set(key, { ...view, consecutiveConflicts: wasRefused ? view.consecutiveConflicts + 1 : 0 })
  }

  forget(key: string): void {
    this.views.delete(key)
  }

  private touch(key: string, view: View): void {
    if (key !== this.newest) this.views.delete(key)
    this.views.set(key, view)
    this.newest = key
  }
}

/** How long a denial is trusted that ends when any running request does, in milliseconds. */
const RUNNING_DENIAL_TTL_MS = 200

/** Whether a view is at most so many milliseconds old, by a clock that may be set. */
export const isRecent = ({ seenAt }: View, now: EpochMs, ttlMs = RUNNING_DENIAL_TTL_MS): boolean =>
  Math.abs(now - seenAt) <= ttlMs

/** Whether others have written: our own marks stand in both views, theirs differ. */
export function othersWrote(known: Item, found: Item): boolean {
  for (const mark in known.marks) if (found.marks[mark] === undefined) return true
  for (const mark in found.marks) if (found.marks[mark] !== known.marks[mark]) return true
  return false
}
