/** The inside of the limiter, of which only `simulate` knows: it decides millions of requests in virtual time. */

import type { Fields } from '../../limiter/algorithms/conditional-write'
import { fieldsBytes, writeUnitsOf } from '../../limiter/algorithms/stored-size'

export type { Exceeded, Hold, Verdicts } from '../../limiter/algorithms/algorithm'
export {
  type Assignment,
  apply,
  applyTo,
  type ConditionalWrite,
  type Fields,
} from '../../limiter/algorithms/conditional-write'
export { fieldsOf } from '../../limiter/compiled-policy'
export { decideThrottled as decide } from '../../limiter/decider'
export { refund, refundsOf } from '../../limiter/give-back'
export { type Answer, type Call, expiryFor, type KnownItems, type Plan } from '../../limiter/plan'
export { RateLimiter } from '../../limiter/rate-limiter'
export { takesNone, toUnits, unitsOf } from '../../limiter/request'
export { Reservation } from '../../limiter/reservations/reservation'
export { chargedIn, FleetClock } from '../../limiter/steps'
export { MemoryStore } from '../../limiter/stores/memory-store'
export {
  type CallOptions,
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  NO_ITEM,
  type PolicyWrite,
  type SeenMarks,
  type StateStore,
  type WriteOutcome,
} from '../../limiter/stores/store'
export { isRecent, type View, verdictsNow } from '../../limiter/view'
export { cachedDenial, knownDenial, peek } from '../../limiter/without-charge'

/** Write units of an item with this state, by the rules of DynamoDB. */
export function writeUnitsOfState(state: Readonly<Record<string, Fields>>): number {
  let bytes = 0
  for (const prefix in state) bytes += fieldsBytes(prefix.length, state[prefix]!)
  return writeUnitsOf(bytes)
}
