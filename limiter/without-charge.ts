import type { Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import { heldBackVerdicts, isHeldBack } from './consistency/contention'
import { type KnownItems, type Plan, READ } from './plan'
import type { Charge } from './request'
import { allAllow, allStepsAllow, deniedByRunning, standAll, statesOf, stepAll, verdictsOf } from './steps'
import { isRecent, rememberDenial, type SubjectVerdicts, type View, verdictsNow } from './view'

/** The denial of a request like one that was denied before, by what has been known since. */
export function knownDenial(items: KnownItems, charge: Charge): SubjectVerdicts | undefined {
  const view = items.view(charge.key)
  if (!view?.denial && view?.heldBackUntil === undefined) return undefined
  const now = items.now()
  if (!isRecent(view, now, items.options.denialTtlMs)) return undefined
  const known = view.denial?.isOf(charge) ? view.denial.saysNow(now) : undefined
  if (isHeldBack(view, charge, now)) {
    const verdicts = known ? verdictsNow(known) : ofDenied(view, charge, now)
    if (verdicts) return { policies: charge.policies, verdicts: heldBackVerdicts(view, charge, verdicts, now) }
  }
  return known && view.denial!.deniesAt(now + items.fleet.leadOver(view, charge.policies, now)) ? known : undefined
}

/** What policies say of a denied request, by a view; `undefined` where that has to be written down. */
function ofDenied(view: View, { policies, ...units }: Charge, now: EpochMs): Verdicts | undefined {
  const states = statesOf(view, policies)
  const steps = stepAll(states, policies, units, now)
  if (steps.some(({ verdict, write }) => !verdict.allowed && write)) return undefined
  return allStepsAllow(steps) ? standAll(states, policies, now) : verdictsOf(steps, states, policies, now)
}

/** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
export function cachedDenial(items: KnownItems, charge: Charge): Verdicts | undefined {
  const known = knownDenial(items, charge)
  if (known) return verdictsNow(known)
  const { key, policies } = charge
  const view = items.recentView(key)
  if (!view) return undefined
  const now = items.now()
  if (items.fleet.mayAdmit(view, policies, [charge], now)) return undefined
  const verdicts = ofDenied(view, charge, now)
  if (!verdicts || allAllow(verdicts)) return undefined
  if (deniedByRunning(verdicts, policies) && !isRecent(view, now)) return undefined
  rememberDenial(view, policies, charge, verdicts, now)
  return verdicts
}

/** The verdicts of a request by the item as it is stored, without a charge. */
export function* peek(items: KnownItems, { policies, ...units }: Charge): Plan<Verdicts> {
  const now = items.now()
  const { item } = yield READ
  const states = statesOf({ item }, policies)
  return verdictsOf(stepAll(states, policies, units, now), states, policies, now)
}
