import type { Clock, EpochMs } from '../../limiter/clock'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { type KeyRingItems, readKeyRingItems } from './key-ring-items'
import { type Items, readPolicySetItems } from './policy-set-items'
import { READING_DEADLINE_MS } from './read-with-retry'

/** A reading that began before any request. */
export interface BegunReading<T> {
  readonly startedAt: EpochMs
  readonly result: Promise<T>
  /** Then it is as if it had never begun. */
  hasFailed: boolean
}

/** What an instance reads of the config table at its start. */
export interface FirstReadings {
  readonly policySet: BegunReading<Items>
  readonly keyRings: BegunReading<KeyRingItems>
}

/** Begins to read, so that what decides by the config table can be loaded until it has answered. */
export function beginReadings(calls: ItemCalls, tableName: string, clock: Clock): FirstReadings {
  const reading = { tableName, deadlineMs: READING_DEADLINE_MS, awaited: true }
  const begun = <T>(result: Promise<T>): BegunReading<T> => {
    const one = { startedAt: clock(), result, hasFailed: false }
    result.catch(() => {
      one.hasFailed = true
    })
    return one
  }
  return {
    policySet: begun(readPolicySetItems(calls, reading)),
    keyRings: begun(readKeyRingItems(calls, reading)),
  }
}
