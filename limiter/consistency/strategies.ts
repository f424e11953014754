import type { CompiledPolicy } from '../compiled-policy'
import type { OnEvent } from '../events'
import type { LateWriter } from '../pending-charges'
import type { Consistency } from '../policies/policy'
import type { States } from '../steps'
import { evenly } from '../units'
import { Eventual } from './eventual'
import { Leased } from './leased'
import type { Charge, Part, StoredSubjects, Strategy, Subject } from './strategy'
import { Strict } from './strict'
import { WriteCoalescer } from './write-coalescer'

type PartOfAll = Pick<Part, 'strategy' | 'policies'>

/** Chooses how the policies of a charge are counted, by their `consistency`. */
export class Strategies {
  private readonly strategies: Readonly<Record<Consistency, Strategy>>
  private readonly leased: Leased
  private readonly eventual: Eventual
  private readonly lists = new WeakMap<readonly CompiledPolicy[], readonly PartOfAll[]>()

  constructor(subjects: StoredSubjects & LateWriter, maxSubjects: number, onEvent: OnEvent) {
    const writes = new WriteCoalescer(subjects)
    this.leased = new Leased(subjects, writes, onEvent, maxSubjects)
    this.eventual = new Eventual(subjects, maxSubjects)
    const strict = new Strict(subjects, writes, this.leased, onEvent)
    this.strategies = { strict, leased: this.leased, eventual: this.eventual }
  }

  /** The lists of policies are the same arrays for the same charge's, so that requests can share writes. */
  partsOf({ key, policies, cost, costs, holds }: Charge): Part[] {
    const lists = this.lists.get(policies) ?? this.split(policies)
    this.lists.set(policies, lists)
    const partOf = ({ strategy, policies }: PartOfAll): Part => ({ strategy, policies, key, cost, costs, holds })
    if (!costs) return lists.map(partOf)
    // units that are leased, or given back to memory, are as many of each policy
    return lists.flatMap((list): Part[] => {
      const part = partOf(list)
      return list.strategy === this.strategies.strict ? [part] : evenly(part)
    })
  }

  /** What was last seen of a subject in the store, and counted here since. */
  lastSeen(subject: Subject): States {
    return this.eventual.lastSeen(subject)
  }

  /** Gives back leased units, and writes down what is only in memory. */
  async close(): Promise<void> {
    await Promise.all([this.leased.close(), this.eventual.close()])
  }

  /** Forgets what is only in memory of a subject that is reset. */
  async forget(key: string): Promise<void> {
    await Promise.all(Object.values(this.strategies).map((strategy) => strategy.forget(key)))
  }

  private split(policies: readonly CompiledPolicy[]): readonly PartOfAll[] {
    return (Object.keys(this.strategies) as Consistency[]).flatMap((consistency) => {
      const those = policies.filter((policy) => policy.consistency === consistency)
      if (those.length === 0) return []
      return { strategy: this.strategies[consistency], policies: those.length === policies.length ? policies : those }
    })
  }
}
