import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Units } from './request'
import { allStepsAllow, statesOf, stepAll } from './steps'
import type { View } from './view'

/** A clock that is further ahead than this says nothing of the others. */
const MOST_AHEAD_MS = 5000
/** How long the largest lead that was found counts; clocks drift, and instances come and go. */
const REMEMBERED_MS = 60_000
/** A view as young as this is not read again because of clocks. */
const YOUNG_MS = 20

/**
 * How far the clocks of other instances are ahead of ours, as far as the windows that they began show it.
 *
 * It admits nothing. It says when a cached denial is worth another read, since those whose clocks are ahead may be past
 * its window before we are.
 */
export class FleetClock {
  private aheadMs = 0
  private foundAt: EpochMs = 0

  /**
   * Learns from what was seen, whatever became of the request: how far ahead its newest window lay is most exact just
   * after that began.
   */
  observe({ item, seenAt }: View, policies: readonly CompiledPolicy[]): number {
    let reachedAt = seenAt
    for (const policy of policies)
      reachedAt = Math.max(reachedAt, policy.counter.reachedAt(fieldsOf(item, policy), seenAt) ?? 0)
    const aheadMs = reachedAt - seenAt
    if (aheadMs >= this.aheadAt(seenAt) && aheadMs <= MOST_AHEAD_MS) [this.aheadMs, this.foundAt] = [aheadMs, seenAt]
    return aheadMs
  }

  /** Whether one of several requests that a view denies by our clock may pass by theirs. */
  mayAdmit(view: View, policies: readonly CompiledPolicy[], requests: readonly Units[], now: EpochMs): boolean {
    const aheadMs = this.leadOver(view, policies, now)
    if (aheadMs === 0) return false
    const states = statesOf(view, policies)
    return requests.some((request) => allStepsAllow(stepAll(states, policies, request, now + aheadMs)))
  }

  /** How far ahead of ours a clock may be by which another instance would decide; 0 where the view is too young. */
  leadOver(view: View, policies: readonly CompiledPolicy[], now: EpochMs): number {
    const aheadMs = Math.max(this.aheadAt(now), this.observe(view, policies))
    return Math.abs(now - view.seenAt) < YOUNG_MS ? 0 : aheadMs
  }

  private aheadAt(now: EpochMs): number {
    return Math.abs(now - this.foundAt) < REMEMBERED_MS ? this.aheadMs : 0
  }
}
