import { isCharged } from '../limiter/algorithms/algorithm'
import type { CompiledPolicy } from '../limiter/compiled-policy'
import type { Decision } from '../limiter/decision'
import { standingOf } from '../limiter/decision'
import { RUNNING } from '../limiter/policies/policy'
import type { Charge } from '../limiter/rate-limiter'
import { takenFrom } from '../limiter/request'
import type { IsSettled } from '../limiter/reservations/reservation'
import { costKey } from './config-table/items/cost-names'
import type { RequestTrace } from './request-trace'
import type { Outcome } from './responses/context'
import type { Taken } from './telemetry/nearing'

/**
 * The policies that were asked, and of each cost the units that the request was charged if it was allowed: none of a
 * cost whose policies let it pass uncharged, past a limit that is only observed.
 */
export function chargedBy(
  decision: Decision,
  charges: readonly Charge[],
  isSettled: IsSettled = () => false,
): Required<Pick<Outcome, 'shapes' | 'cost' | 'costs'> & Pick<RequestTrace, 'taken'>> {
  const { policies } = decision
  const wasCharged = ({ name }: CompiledPolicy) => !Object.hasOwn(policies, name) || isCharged(policies[name]!)
  const shapes: CompiledPolicy[] = []
  const all: Taken[] = []
  const costs: Record<string, number> = {}
  let cost = 0
  for (const charge of charges) {
    for (const policy of charge.policies) {
      const taken = takenFrom(charge, policy)
      if (taken === 0) continue
      shapes.push(policy)
      const units = wasCharged(policy) ? taken : 0
      if (policy.costName === RUNNING) continue
      const standing = standingOf(decision, policy)
      all.push({ subject: charge.key, units: taken, policy, standing, isSettled: isSettled(policy, taken) })
      if (policy.costName === undefined) cost = Math.max(cost, units)
      else costs[costKey(policy.costName)] = Math.max(costs[costKey(policy.costName)] ?? 0, units)
    }
  }
  return { shapes, cost, costs, taken: all }
}
