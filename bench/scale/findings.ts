import { lambdaUsd } from '../cost/bill'
import { type Prices, US_EAST_1 } from '../cost/prices'
import type { Second, Sweep } from './second'

/** Requests a second that are simulated. */
export const RATES = [1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000] as const

/** More than this share of requests without an exact decision is a break. */
const BROKEN = 0.001

/** Decided by the store, by a cached denial, or by a lease. */
export const exact = ({ allowed, denied }: Second): number => allowed + denied

/** The share of all requests, those that AWS turned away included, that got an exact decision. */
export function exactShare(second: Second): number {
  const { degraded, refusedByGateway, refusedByLambda } = second
  return exact(second) / (exact(second) + degraded + refusedByGateway + refusedByLambda)
}

/** Memory of the authorizer's function, as it is by default, in MiB. */
const MEMORY_MB = 1769

/** What DynamoDB and Lambda bill for a million requests, in US dollars. */
export function usdPerMillion({ offered, writes, reads, busyMs }: Second, prices: Prices = US_EAST_1): number {
  const { dynamodbMillionWriteUnits, dynamodbMillionReadUnits } = prices
  const calls = (writes * dynamodbMillionWriteUnits + reads * dynamodbMillionReadUnits) / offered
  return calls + lambdaUsd(busyMs / offered, MEMORY_MB, prices)
}

const CAUSES = {
  refusedByGateway: 'API Gateway: requests/s of the account',
  refusedByLambda: 'Lambda: instances of the account',
  throttledTable: 'DynamoDB: writes/s of the table',
  throttledItem: 'DynamoDB: 1,000 writes/s of one item',
} as const

/** Where a sweep stops being exact, and why; `held` only where it never does. */
export interface Break {
  readonly held: number | undefined
  readonly broke?: number
  /** Why most of the requests without an exact decision had none there. */
  readonly cause?: string
}

export function firstBreak({ points }: Sweep): Break {
  const at = points.findIndex(({ second }) => 1 - exactShare(second) > BROKEN)
  if (at < 0) return { held: points.at(-1)?.rps }
  const { rps, second } = points[at]!
  const refused = second.refusedByGateway > second.refusedByLambda ? 'refusedByGateway' : 'refusedByLambda'
  const throttled = second.throttledTable > second.throttledItem ? 'throttledTable' : 'throttledItem'
  // a call that is throttled leaves many requests without the store: while none is made
  const worst = second[refused] > second.degraded ? refused : throttled
  const cause = second[worst] > 0 ? CAUSES[worst] : 'calls that DynamoDB had refused just before'
  return { held: points[at - 1]?.rps, broke: rps, cause }
}
