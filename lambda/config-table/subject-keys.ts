import type { EpochMs } from '../../limiter/clock'
import { subjectKey } from '../../limiter/subject-key'

/** A secret of the deployment, and since when subjects are stored under it. */
export interface HmacKey {
  readonly secret: Uint8Array
  readonly activeFrom: EpochMs
  /** What was charged before this moment was copied to where this secret has it. Absent where nothing was. */
  readonly carriedFrom?: EpochMs
}

/**
 * Where each subject has its state, by time: under the last secret that is active, and without one before the first.
 *
 * All instances that know the same secrets change over in the same moment of their clocks.
 */
export class SubjectKeys {
  /** @param keys by `activeFrom`, the earliest first. */
  constructor(readonly keys: readonly HmacKey[] = []) {}

  /** Where requests of that moment are counted. */
  keyOf(subject: string, at: EpochMs): string {
    return subjectKey(subject, this.activeAt(at)?.secret)
  }

  /**
   * Where it is known what a request has been charged: where it is counted now if that was taken along, else where it
   * was counted then, which is no place from which units could come back twice.
   */
  keyOfCharge(subject: string, chargedAt: EpochMs, now: EpochMs): string {
    const active = this.activeAt(now)
    const isThere =
      active === undefined || chargedAt >= active.activeFrom || chargedAt < (active.carriedFrom ?? -Infinity)
    return this.keyOf(subject, isThere ? now : chargedAt)
  }

  /**
   * Everywhere it may have state: under every secret that is known, those that are not active yet too, and without one.
   */
  allOf(subject: string): string[] {
    return [subjectKey(subject), ...this.keys.map(({ secret }) => subjectKey(subject, secret))]
  }

  activeAt(at: EpochMs): HmacKey | undefined {
    return this.keys.findLast(({ activeFrom }) => at >= activeFrom)
  }

  /** The secret that is to be active later. */
  nextAfter(at: EpochMs): HmacKey | undefined {
    return this.keys.find(({ activeFrom }) => activeFrom > at)
  }
}
