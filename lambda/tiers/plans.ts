import type { Charge } from '../limiter/charge'
import { type CompiledPolicy, compile, distinct } from '../limiter/compiled-policy'
import type { Dimension } from '../policies/counted-by'
import type { Policy } from '../policies/policy'
import type { Route, Tier, TierPolicy } from '../policies/tiers'
import { observing, withNumbers } from '../policies/variants'
import type { Log } from '../telemetry/log'
import type { Client } from './client-item'
import type { Configuration } from './policy-sets'

/** Policies that count the same subject. */
export interface PlanGroup {
  readonly who: readonly Dimension[]
  readonly policies: readonly CompiledPolicy[]
}

/** What one kind of request is held to, in the order of evaluation. */
export class Plan {
  private readonly merged = new Map<string, readonly (readonly CompiledPolicy[])[]>()

  constructor(
    readonly groups: readonly PlanGroup[],
    readonly cost: number,
  ) {}

  /**
   * What to charge when the groups count these subjects, in the order of the groups. Groups whose subjects turn out to be one, such as the caller
   * and the address of a stranger, are one charge. The lists of policies are the same arrays for the same kind, so that requests can share writes.
   */
  chargesFor(keys: readonly string[]): Charge[] {
    const firsts = keys.map((key) => keys.indexOf(key))
    const shape = firsts.join()
    const lists = this.merged.get(shape) ?? this.merge(firsts)
    this.merged.set(shape, lists) // as many shapes as ways for a handful of groups to coincide
    return keys.flatMap((key, i): Charge[] => (firsts[i] === i ? [{ key, policies: lists[i]!, cost: this.cost }] : []))
  }

  private merge(firsts: readonly number[]): readonly (readonly CompiledPolicy[])[] {
    return firsts.map((_, i) => distinct(this.groups.flatMap(({ policies }, j) => (firsts[j] === i ? policies : []))))
  }
}

/** Kinds of requests remembered; more than this only where clients have numbers of their own. */
const MOST_PLANS = 5000

/** Works out once for each kind of request what it is held to: the global policies first, then the route's, then the tier's. */
export class Plans {
  private readonly byConfiguration = new WeakMap<Configuration, Map<string, Plan>>()

  constructor(private readonly log: Log) {}

  /** @param client whose own numbers replace those of policies of the same name. */
  planFor(configuration: Configuration, tier: Tier | undefined, route: Route | undefined, client?: Client): Plan {
    const plans = this.byConfiguration.get(configuration) ?? new Map<string, Plan>()
    this.byConfiguration.set(configuration, plans)
    const numbers = client && Object.keys(client.overrides).length > 0 ? client : undefined
    const kind = JSON.stringify([tier?.name, route?.pattern.text, numbers?.id, numbers?.overrides])
    let plan = plans.get(kind)
    if (!plan) {
      plan = this.make(configuration, tier, route, numbers)
      if (plans.size >= MOST_PLANS) plans.clear()
      plans.set(kind, plan)
    }
    return plan
  }

  private make({ policies }: Configuration, tier: Tier | undefined, route: Route | undefined, client: Client | undefined): Plan {
    const shared = [...policies.global, ...(route?.policies ?? [])].filter(({ tiers }) => !tiers || (tier && tiers.includes(tier.name)))
    const all = [...shared, ...(tier?.policies ?? [])]
    const groups = new Map<string, { who: readonly Dimension[]; policies: CompiledPolicy[] }>()
    for (const policy of all) {
      const { who, perRoute } = policy.by
      const id = who.join()
      const group = groups.get(id) ?? { who, policies: [] }
      groups.set(id, group)
      const { mode, autoLease } = policies.settings
      const own = this.ownOf(policy, client)
      const scope = perRoute ? (route?.pattern.text ?? '*') : ''
      group.policies.push(compile(mode === 'observe' ? observing(own) : own, scope, autoLease))
    }
    return new Plan(
      [...groups.values()].map((group) => ({ ...group, policies: distinct(group.policies) })),
      route?.cost ?? 1,
    )
  }

  /** The policy with the client's own numbers, or as it is where those do not fit. Numbers of everybody's policies are nobody's own. */
  private ownOf(policy: TierPolicy, client: Client | undefined): Policy {
    const numbers = client && Object.hasOwn(client.overrides, policy.name) ? client.overrides[policy.name] : undefined
    if (!numbers || policy.by.who.length === 0 || policy.by.who[0] === 'global') return policy
    const issues: string[] = []
    const own = withNumbers(policy, numbers, ['client', `override "${policy.name}"`], issues)
    if (!own) this.log('error', "a client's own numbers do not fit, its tier's stay", { client: client!.id, issues }, 'ConfigErrors')
    return own ?? policy
  }
}
