import type { CompiledPolicy } from '../../limiter/compiled-policy'
import type { RateLimiter } from '../../limiter/rate-limiter'
import type { ActualUnits } from '../../limiter/reservations/corrections'
import type { reserve } from '../../limiter/reservations/reservation'
import type { StateStore } from '../../limiter/stores/store'
import type { Library } from '../model/simulation'

/**
 * The limiter of commit b620fa4: `limiter-b620fa4.js`, made in a checkout of that commit by
 *
 *     esbuild entry.ts --bundle --platform=node --format=cjs --target=node20 --minify-whitespace --minify-syntax '--external:@aws-sdk/*'
 *
 * of an `entry.ts` that exports `StoreUnavailableError`, `compile`, `distinct`, `createLimiter`, `RateLimiter`,
 * `parsePolicies`, `DynamoDbStore`, `MemoryStore`, `reserve`, `settle` and `parseReservation`. It is never made again:
 * it is what runs beside every later release while that is deployed.
 */
const old = require('./limiter-b620fa4.js')

export const OLD: Library = {
  makeLimiter: (options) => new old.RateLimiter(options),
  compileAll(policies) {
    const mistakes: unknown[] = []
    const parsed = old.parsePolicies(policies, [], mistakes)
    if (mistakes.length > 0) throw new Error(mistakes.join('\n'))
    return old.distinct(parsed.map((policy: unknown) => old.compile(policy)))
  },
  unavailable: (reason, message) => new old.StoreUnavailableError(reason, message),
}

/** A table as old instances read and write it. */
export const oldStoreOn = (client: unknown, tableName: string): StateStore =>
  new old.DynamoDbStore({ client, tableName })

/** How old instances hold, and end what is held. */
export const { reserve: reserveByOld, settle: settleByOld, parseReservation: parseByOld } = old as HoldsOf<RateLimiter>

interface HoldsOf<Limiter> {
  reserve: typeof reserve
  settle(limiter: Limiter, reserved: unknown, actual: ActualUnits): Promise<boolean>
  parseReservation(token: string, own?: readonly CompiledPolicy[]): unknown
}
