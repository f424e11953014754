import type { SubjectKeys } from '../facade/tables'
import type { EpochMs } from '../facade/values'

/** Where subjects have their state, at the moment of a command. */
export interface StateKeys {
  keyOf(name: string): string
  keyOfCharge(name: string, chargedAt: EpochMs): string
  /** Counters may have been copied to a secret that is to come. */
  keysToReset(name: string): string[]
}

export function stateKeysAt(keys: SubjectKeys, now: EpochMs): StateKeys {
  const next = keys.nextAfter(now)
  return {
    keyOf: (name) => keys.keyOf(name, now),
    keyOfCharge: (name, chargedAt) => keys.keyOfCharge(name, chargedAt, now),
    keysToReset: (name) => [...(next ? [keys.keyOf(name, next.activeFrom)] : []), keys.keyOf(name, now)],
  }
}
