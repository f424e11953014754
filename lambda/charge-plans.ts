import { type CompiledPolicy, compile, distinct, isFair } from '../limiter/compiled-policy'
import { Mistake } from '../limiter/errors'
import { MAX_POLICIES, weightOf } from '../limiter/policies/parse-policies'
import type { Policy } from '../limiter/policies/policy'
import { observing, withNumbers } from '../limiter/policies/variants'
import type { Charge } from '../limiter/rate-limiter'
import { type Caller, takenFrom, type Units } from '../limiter/request'
import type { IsSettled } from '../limiter/reservations/reservation'
import type { Configuration } from './config-table/configuration'
import { type Client, numbersOf } from './config-table/items/client-item'
import { isOfEverybody } from './config-table/items/counted-by'
import type { Dimension } from './config-table/items/dimension'
import type { PolicySet } from './config-table/items/policy-set'
import { settles } from './config-table/items/settling'
import { scopeIn, tooLargeWith } from './config-table/items/storage'
import { ANONYMOUS, type Tier, type TierPolicy } from './config-table/items/tiers'
import { type Rules, rulesOfRoute } from './rules'
import type { Log } from './telemetry/log'

/** Policies that count the same subject. */
export interface PlanGroup {
  readonly who: readonly Dimension[]
  /** The route that is counted as a subject of its own, where `who` is empty. */
  readonly route: string | undefined
  readonly policies: readonly CompiledPolicy[]
}

/** Units that a request holds until it ends, and what it takes of policies that count running requests. */
export interface Holding {
  /** How long units stay reserved, in milliseconds. */
  readonly forMs: number
  readonly isSettled: IsSettled
}

/** The policies for one kind of request, in the order of evaluation. */
export class Plan {
  /** Whether callers have shares of any of its policies. */
  private readonly isFair: boolean
  private readonly merged = new Map<string, readonly (readonly CompiledPolicy[])[]>()

  constructor(
    readonly groups: readonly PlanGroup[],
    /**
     * Whether the request has too many policies, because it can match several routes: such a request is not decided.
     */
    readonly isTooMuch = false,
    /** What the request holds until it ends. @default nothing */
    readonly holding?: Holding,
    private readonly onCollision?: (sentence: string) => void,
  ) {
    this.isFair = groups.some(isFair)
  }

  /**
   * What to charge when the groups count these subjects, in the order of the groups, so many units each. Groups with
   * the same subject, such as the caller and the address of an anonymous caller, become one charge. The same kind of
   * request gets the same arrays of policies, so that requests can share writes. A subject of which the request takes
   * nothing is not asked.
   *
   * @param caller whose share of fair policies the request takes. @default nobody's
   */
  chargesFor(keys: readonly string[], units: Units, caller?: Caller): Charge[] {
    const firsts = keys.map((key) => keys.indexOf(key))
    const shape = firsts.join()
    const lists = this.merged.get(shape) ?? this.merge(firsts)
    this.merged.set(shape, lists) // as many shapes as ways for a handful of groups to coincide
    const all = keys.flatMap((key, i): Charge[] => {
      if (firsts[i] !== i) return []
      const charge = { key, policies: lists[i]!, ...units }
      return [this.isFair && caller && isFair(charge) ? { ...charge, caller } : charge]
    })
    const asked = units.cost > 0 && !units.costs ? all : all.filter(({ policies }) => takesFrom(units, policies))
    return asked.length > 0 ? asked : all
  }

  /** Whether such a request takes anything of any policy. */
  takes(units: Units): boolean {
    return this.groups.some(({ policies }) => takesFrom(units, policies))
  }

  private merge(firsts: readonly number[]): readonly (readonly CompiledPolicy[])[] {
    return firsts.map((_, i) =>
      distinct(
        this.groups.flatMap(({ policies }, j) => (firsts[j] === i ? policies : [])),
        this.onCollision,
      ),
    )
  }
}

/** A route that takes no units of a policy has nothing to settle. */
const isSettledIn =
  (settled: ReadonlySet<object>): IsSettled =>
  ({ written }, units) =>
    units > 0 && settled.has(written)

const takesFrom = (units: Units, policies: readonly CompiledPolicy[]): boolean =>
  policies.some((policy) => takenFrom(units, policy) > 0)

/** Kinds of requests remembered; only clients with overrides make more than this. */
const MAX_PLANS = 5000

/**
 * Computes the policies for each kind of request once: the global policies first, then the route's, then the tier's.
 */
export class Plans {
  private bySet = new WeakMap<PolicySet, Map<string, Plan>>()
  /** Plans of all sets. */
  private count = 0

  constructor(private readonly log: Log) {}

  /** @param client whose overrides replace the numbers of policies of the same name. */
  planFor(configuration: Configuration, tier: Tier | undefined, rules: Rules, client?: Client): Plan {
    const numbers = client && Object.keys(client.overrides).length > 0 ? client : undefined
    const kind = JSON.stringify([tier?.name, rules.scopes, numbers?.id, numbers?.overrides])
    return this.remembered(configuration, kind, () => this.make(configuration, tier, rules, numbers))
  }

  /** The policies for preflights, which are counted by address and apart from everything else. */
  preflightPlan(configuration: Configuration): Plan {
    const { preflight, mode } = configuration.policies.settings
    return this.remembered(configuration, 'preflight', () => {
      const policies = [compile(mode === 'observe' ? observing(preflight) : preflight)]
      return new Plan([{ who: ['ip'], route: undefined, policies }])
    })
  }

  /**
   * Plans by policy set, which differs between APIs where some items hold for some of them. The plans of a set that is
   * no longer in force go with it.
   */
  private remembered({ policies }: Configuration, kind: string, make: () => Plan): Plan {
    const known = this.bySet.get(policies)?.get(kind)
    if (known) return known
    const plan = make()
    if (this.count++ >= MAX_PLANS) {
      this.bySet = new WeakMap()
      this.count = 1
    }
    const plans = this.bySet.get(policies) ?? new Map<string, Plan>()
    this.bySet.set(policies, plans.set(kind, plan))
    return plan
  }

  private make({ policies }: Configuration, tier: Tier | undefined, rules: Rules, client: Client | undefined): Plan {
    const { global, settings } = policies
    const applies = ({ tiers }: TierPolicy) => !tiers || (tier !== undefined && tiers.includes(tier.name))
    const ofRoutes = rules.routes.flatMap((route) => {
      const { scopes } = rulesOfRoute(route)
      return route.policies.filter(applies).map((policy) => ({ policy, scopes }))
    })
    const { scopes } = rules
    const all = [
      ...global.filter(applies).map((policy) => ({ policy, scopes })),
      ...ofRoutes,
      ...(tier?.policies ?? []).map((policy) => ({ policy, scopes })),
    ]
    const ownOf = client ? this.numbersOf(client, policies, tier) : (policy: TierPolicy) => policy
    const onCollision = (sentence: string) =>
      this.log('error', 'state_collision', { issues: [new Mistake('state_collision', sentence)] }, 'ConfigErrors')
    /** Policies whose units are settled, as they are written, and how long all of them stay reserved. */
    const settled = new Set<object>()
    let forMs = 0
    const groups = new Map<
      string,
      { who: readonly Dimension[]; route: string | undefined; policies: CompiledPolicy[] }
    >()
    for (const { policy, scopes } of all) {
      const { who, perRoute } = policy.by
      const own = ownOf(policy)
      for (const scope of perRoute ? scopes : ['']) {
        const route = who.length === 0 ? scope : undefined
        const id = route ?? who.join()
        const group = groups.get(id) ?? { who, route, policies: [] }
        groups.set(id, group)
        const compiled = compile(
          settings.mode === 'observe' ? observing(own) : own,
          scopeIn(policies, policy, scope),
          settings.autoLease,
        )
        group.policies.push(compiled)
        for (const { settleMs } of [policy, ...rules.routes.filter((one) => settles(one, policy))]) {
          if (settleMs === undefined) continue
          settled.add(compiled.written)
          forMs = Math.max(forMs, settleMs)
        }
      }
    }
    const made = [...groups.values()].map((group) => ({ ...group, policies: distinct(group.policies, onCollision) }))
    const count = weightOf(made.flatMap((group) => group.policies.map(({ written }) => written)))
    const holds = forMs > 0 || made.some((group) => group.policies.some(({ counter }) => counter.isEndedByOthers))
    const holding = holds ? { forMs, isSettled: isSettledIn(settled) } : undefined
    return new Plan(made, rules.scopes.length > 1 && count > MAX_POLICIES, holding, onCollision)
  }

  /**
   * Policies with a client's overrides; without them where, on any route, the client's state would outgrow a DynamoDB
   * item.
   */
  private numbersOf(client: Client, set: PolicySet, tier: Tier | undefined): (policy: TierPolicy) => Policy {
    const own = new Map<TierPolicy, Policy>()
    const ownOf = (policy: TierPolicy) => {
      const known = own.get(policy) ?? this.ownOf(policy, client)
      own.set(policy, known)
      return known
    }
    const { routes, global, scoped } = set
    const fallback = set.tiers.get(set.settings.defaultTier ?? ANONYMOUS)
    const tiers = tier
      ? [tier, ...(scoped?.tiers.get(tier.name) ?? []), ...(tier.scope && fallback ? [fallback] : [])]
      : []
    const all = { global, routes: scoped?.routes ?? routes, tiers: tiers.map((one) => ({ ...one, name: tier!.name })) }
    const issue = tooLargeWith(all, ownOf)
    if (issue === undefined || tooLargeWith(all, (policy) => policy) === issue) return ownOf
    this.logMisfit(client, [new Mistake('state_too_large', `overrides: a subject of the client ${issue}`)])
    return (policy) => policy
  }

  private logMisfit({ id }: Client, issues: readonly Mistake[]): void {
    this.log('error', 'client_overrides_invalid', { client: id, issues }, 'ConfigErrors')
  }

  /**
   * The policy with the client's overrides, or unchanged where those are invalid for it. Overrides do not apply to
   * shared policies.
   */
  private ownOf(policy: TierPolicy, client: Client | undefined): Policy {
    const numbers = client && Object.hasOwn(client.overrides, policy.name) ? client.overrides[policy.name] : undefined
    if (!numbers || isOfEverybody(policy.by)) return policy
    const issues: Mistake[] = []
    const own = withNumbers(policy, numbersOf(numbers, policy.written), ['client', `override "${policy.name}"`], issues)
    if (!own) this.logMisfit(client!, issues)
    return own ?? policy
  }
}
