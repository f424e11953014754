import { type CompiledPolicy, compile, distinct } from '../limiter/compiled-policy'
import type { PolicySet, Route, Tier, TierPolicy } from '../policies/tiers'

/** What one kind of request is held to. The lists are the same arrays for the same kind, so that requests can share writes. */
export interface Plan {
  /** Policies that count the caller. */
  readonly caller: readonly CompiledPolicy[]
  /** Policies that count the caller's address, where that is not the caller anyway. */
  readonly address: readonly CompiledPolicy[]
  readonly cost: number
}

/** Where the policy set in force comes from. */
export interface PolicySource {
  current(): Promise<PolicySet | undefined>
}

/** Works out once for each kind of request what it is held to: the route's policies first, then the tier's. */
export class Plans {
  private readonly bySet = new WeakMap<PolicySet, Map<string, Plan>>()

  constructor(private readonly source: PolicySource) {}

  current(): Promise<PolicySet | undefined> {
    return this.source.current()
  }

  /** @param known whether the caller is a client; one who is not is counted by address throughout. */
  planFor(set: PolicySet, tier: Tier | undefined, route: Route | undefined, known: boolean): Plan {
    const plans = this.bySet.get(set) ?? new Map<string, Plan>()
    this.bySet.set(set, plans)
    const kind = `${tier?.name} ${known} ${route?.pattern.text}` // bounded by what is configured
    const plan = plans.get(kind) ?? makePlan(tier, route, known)
    plans.set(kind, plan)
    return plan
  }
}

function makePlan(tier: Tier | undefined, route: Route | undefined, known: boolean): Plan {
  const policies = [...(route?.policies ?? []), ...(tier?.policies ?? [])]
  const ofCaller = ({ by }: TierPolicy) => !known || by.subject === 'client'
  const compiled = (wanted: boolean) =>
    distinct(
      policies
        .filter((policy) => ofCaller(policy) === wanted)
        .map((policy) => compile(policy, policy.by.perRoute ? route?.pattern.text : '')),
    )
  return { caller: compiled(true), address: compiled(false), cost: route?.cost ?? 1 }
}
