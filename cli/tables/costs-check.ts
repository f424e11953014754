import { costsOfNothing } from '../callers/named-costs'
import type { PolicySet } from '../facade/policies'
import type { Check } from './check'

/** Warns of costs of routes that no policy counts. No result where each is counted. */
export function checkCosts(set: PolicySet): Check[] {
  const unused = costsOfNothing(set)
  const remedy = 'give a policy this cost, such as cost: tokens, or correct its name in the costs of the route'
  return unused.length === 0 ? [] : [{ name: 'costs', status: 'warning', found: unused.join('; '), remedy }]
}
