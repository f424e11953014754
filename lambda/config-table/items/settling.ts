import * as v from 'valibot'
import type { Mistake } from '../../../limiter/errors'
import { parseHold } from '../../../limiter/policies/duration'
import type { Policy } from '../../../limiter/policies/policy'
import { type Place, report } from '../../../limiter/policies/report'

/** Units that are settled once the backend knows what a request has really used. */
export interface Settling {
  /** How long they stay reserved, in milliseconds. */
  readonly settleMs?: number
}

/** The longest that a Lambda function runs, in milliseconds. */
const MAX_FUNCTION_MS = 900_000

export const SETTLE_FIELD = {
  schema: v.pipe(
    v.union([v.boolean(), v.string()]),
    v.check((settle) => settle === false || toSettleMs(settle) !== undefined),
  ),
  wanted: 'true, or how long at most until the request ends: a duration from "1s" to "24h"',
  optional: true,
} as const

/** How long units stay reserved; `undefined` where they are not. */
export function toSettleMs(settle: unknown): number | undefined {
  return settle === true ? MAX_FUNCTION_MS : parseHold(settle)
}

type Counting = Pick<Policy, 'name' | 'consistency' | 'counter' | 'written'>

/** Why a policy's units cannot be settled; `undefined` where they can. */
const notSettled = ({ consistency, counter, written: { action } }: Counting): string | undefined =>
  counter.isEndedByOthers
    ? 'algorithm "concurrency", which counts requests that run, whatever they cost'
    : consistency !== 'strict'
      ? `consistency "${consistency}": no item records which instance has the units`
      : action === 'delay'
        ? 'action "delay", which charges a request when it is its turn'
        : undefined

/** Reports a policy that says `settle`, and cannot be settled. */
export function checkSettled(policy: Counting & Settling, place: Place, issues: Mistake[]): void {
  const why = policy.settleMs === undefined ? undefined : notSettled(policy)
  if (why !== undefined) report(issues, 'fields_conflict', `settle does not go with ${why}`, place)
}

/** A route as it is written. */
interface SettlingRoute extends Settling {
  readonly costs?: Readonly<Record<string, unknown>>
}

/**
 * Whether a route settles the units of a policy: of those costs that it names, and where it names none, of what counts
 * requests.
 */
export const settles = ({ settleMs, costs }: SettlingRoute, { counter, written: { cost } }: Counting): boolean =>
  settleMs !== undefined &&
  !counter.isEndedByOthers &&
  (cost === undefined ? costs === undefined : costs !== undefined && Object.hasOwn(costs, cost))

/** Reports the policies that a route that settles would settle, and that cannot be settled. */
export function checkSettlingRoute(
  route: SettlingRoute,
  policies: readonly Counting[],
  place: Place,
  issues: Mistake[],
): void {
  const counted = policies.filter((policy) => settles(route, policy))
  if (counted.length === 0) {
    const what = Object.keys(route.costs ?? {}).join(', ') || 'requests'
    report(issues, 'invalid_value', `settle has nothing to settle: no policy of any tier counts ${what}`, place)
  }
  const [wrong] = counted.filter((policy) => notSettled(policy) !== undefined)
  if (wrong)
    report(
      issues,
      'fields_conflict',
      `settle does not go with policy "${wrong.name}": it has ${notSettled(wrong)}`,
      place,
    )
}
