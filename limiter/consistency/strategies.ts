import type { CompiledPolicy } from '../compiled-policy'
import type { Decider } from '../decider'
import { Lazy } from '../lazy'
import type { OnEvent } from '../options'
import type { Consistency } from '../policies/policy'
import { type Charge, evenly, type Subject } from '../request'
import { type States, statesOf } from '../steps'
import type { SubjectVerdicts } from '../view'
import type { Eventual } from './eventual'
import type { Leased } from './leased'
import type { Part, Strategy } from './strategy'
import { Strict } from './strict'
import { WriteCoalescer } from './write-coalescer'

type PartOfAll = Pick<Part, 'strategy' | 'policies'>
type OfPolicies = { readonly policies: readonly CompiledPolicy[] }

/** Chooses how a charge is counted, by the `consistency` of its policies: what is not strict is loaded when needed. */
export class Strategies {
  private readonly strict: Strict
  private readonly leased: Lazy<Leased>
  private readonly eventual: Lazy<Eventual>
  private readonly writes: WriteCoalescer
  private readonly lists = new WeakMap<readonly CompiledPolicy[], readonly PartOfAll[]>()

  constructor(
    private readonly items: Decider,
    onEvent: OnEvent,
  ) {
    this.writes = new WriteCoalescer(items)
    this.leased = new Lazy(async () => new (await import('./leased.ts')).Leased(items, this.writes, onEvent))
    this.eventual = new Lazy(async () => new (await import('./eventual.ts')).Eventual(items))
    this.strict = new Strict(items, this.writes, this.leased, onEvent)
  }

  /** Whether these policies can be counted at once. */
  areLoaded(charges: readonly OfPolicies[]): boolean {
    for (const { policies } of charges)
      if (!this.lists.has(policies) && !policies.every(({ consistency }) => this.loaded(consistency))) return false
    return true
  }

  /** To be awaited before anything is asked of policies. */
  async load(charges: readonly OfPolicies[]): Promise<void> {
    const wanted = new Set(charges.flatMap(({ policies }) => policies.map(({ consistency }) => consistency)))
    if (wanted.has('leased')) await this.leased.get()
    if (wanted.has('eventual')) await this.eventual.get()
  }

  /** The denial of a request like one that was denied before, where one strategy answers for all of it. */
  knownDenial(charge: Charge): SubjectVerdicts | undefined {
    const lists = this.listsOf(charge.policies)
    return lists.length > 1 ? undefined : lists[0]!.strategy.knownDenial?.(charge)
  }

  /** The lists of policies are the same arrays for the same charge's, so that requests can share writes. */
  partsOf({ key, policies, cost, costs, holds, isPaced }: Charge): Part[] {
    return this.listsOf(policies).flatMap(({ strategy, policies }): Part[] => {
      const part = { strategy, policies, key, cost, costs, holds, isPaced }
      // units that are leased, or given back to memory, are as many of each policy
      return strategy === this.strict ? [part] : evenly(part)
    })
  }

  /** What was last seen of a subject in the store, and counted here since. */
  lastSeen(subject: Subject): States {
    return this.eventual.loaded?.lastSeen(subject) ?? statesOf(this.items.view(subject.key), subject.policies)
  }

  /** Gives back leased units, and writes down what is only in memory. */
  async close(): Promise<void> {
    await Promise.all([this.leased.loaded?.close(), this.eventual.loaded?.close()])
  }

  private loaded(consistency: Consistency): Strategy | undefined {
    return consistency === 'strict' ? this.strict : this[consistency].loaded
  }

  private listsOf(policies: readonly CompiledPolicy[]): readonly PartOfAll[] {
    const known = this.lists.get(policies)
    if (known) return known
    const lists = (['strict', 'leased', 'eventual'] satisfies Consistency[]).flatMap((consistency) => {
      const those = policies.filter((policy) => policy.consistency === consistency)
      if (those.length === 0) return []
      const strategy = this.loaded(consistency)! // it is: see `load`
      return { strategy, policies: those.length === policies.length ? policies : those }
    })
    this.lists.set(policies, lists)
    return lists
  }
}

/**
 * Loads the code that decides without the store, and for an item that it throttles, while nothing needs it. What cannot
 * be loaded is loaded again when it is needed.
 */
export function loadForOutage(): void {
  Promise.all([import('./fallback.ts'), import('./leased.ts')]).catch(() => {})
}
