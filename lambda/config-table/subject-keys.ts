import type { EpochMs } from '../../limiter/clock'
import { subjectKey } from '../../limiter/subject-key'
import { KeyRing, type RingKind } from './items/key-ring'

/**
 * The key under which each subject has its state, by time: hashed with the last active secret, and without one before
 * the first.
 *
 * All instances that know the same secrets change over at the same moment of their clocks.
 */
export class SubjectKeys extends KeyRing {
  /** The key under which requests of that moment are counted. */
  keyOf(subject: string, at: EpochMs): string {
    return subjectKey(subject, this.activeAt(at)?.secret)
  }

  /**
   * The key under which a charge is looked for to be refunded: the present key where the charge was made under it or
   * copied to it, else the key of the time of the charge. So no unit is given back twice.
   */
  keyOfCharge(subject: string, chargedAt: EpochMs, now: EpochMs): string {
    const active = this.activeAt(now)
    const isThere =
      active === undefined || chargedAt >= active.activeFrom || chargedAt < (active.carriedFrom ?? -Infinity)
    return this.keyOf(subject, isThere ? now : chargedAt)
  }

  /** All keys that may hold its state: for every known secret, including those not active yet, and without one. */
  allOf(subject: string): string[] {
    return [subjectKey(subject), ...this.keys.map(({ secret }) => subjectKey(subject, secret))]
  }
}

/** The secrets with which subjects' keys are hashed. `sluice forget` also searches under the former ones. */
export const HMAC_RING: RingKind<SubjectKeys> = {
  name: 'hmac-key',
  invalid: 'invalid_hmac_key',
  missing: 'hmac_key_missing',
  toRing: (keys) => new SubjectKeys(keys),
}
