/** The limiter: charges and their decisions, and the state of a subject's policies. */

export { type Exceeded, type Hold, isCharged, type Step } from '../../limiter/algorithms/algorithm'
export { emissionUs } from '../../limiter/algorithms/arrival'
export {
  type Assignment,
  apply,
  applyTo,
  type ConditionalWrite,
  type Fields,
} from '../../limiter/algorithms/conditional-write'
export { LONGEST_KEPT_MS, openIn, runningIn } from '../../limiter/algorithms/holds'
export { lockedOutMs } from '../../limiter/algorithms/lockout'
export { usageOf } from '../../limiter/algorithms/metered-window'
export { fieldsBytes, writeUnitsOf } from '../../limiter/algorithms/stored-size'
export { unitsReturned } from '../../limiter/algorithms/units-returned'
export { type CompiledPolicy, distinct, fieldsOf } from '../../limiter/compiled-policy'
export type { Decision } from '../../limiter/decision'
export { refundsOf } from '../../limiter/give-back'
export { gridOf } from '../../limiter/policies/quota'
export { type Charge, RateLimiter } from '../../limiter/rate-limiter'
export { type Counting, costNames, takenFrom, takesNone, toUnits, type Units, unitsOf } from '../../limiter/request'
export { Reservation } from '../../limiter/reservations/reservation'
export { RESERVATIONS } from '../../limiter/reservations/reserved'
export { allStepsAllow, chargedOf, deniedByRunning, FleetClock, statesOf, stepAll } from '../../limiter/steps'
export { MemoryStore } from '../../limiter/stores/memory-store'
export { isRecent } from '../../limiter/view'
