import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { Item } from './stores/store'

/**
 * Times to live stand on the hour, so that a busy subject moves its own about once an hour, and instances agree on it.
 */
const STEP_SECONDS = 3600

/**
 * Where a write has to move the item's time to live; `undefined` when it lies far enough ahead already, which
 * is never taken back. Always an hour or more later than the last moment at which any of these policies' state matters,
 * whatever skew clocks have.
 */
export function expiryFor(
  policies: readonly CompiledPolicy[],
  known: Item | undefined,
  now: EpochMs,
): number | undefined {
  const retentionMs = policies.reduce((longest, policy) => Math.max(longest, policy.counter.retentionMs), 0)
  const neededSeconds = Math.ceil((now + retentionMs) / 1000) + STEP_SECONDS
  if (known && known.expiresAtSeconds >= neededSeconds) return undefined
  return Math.ceil(neededSeconds / STEP_SECONDS) * STEP_SECONDS + STEP_SECONDS
}
