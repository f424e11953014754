import type { Charge } from '../charge'
import type { CompiledPolicy } from '../compiled-policy'
import type { OnEvent } from '../events'
import type { States } from '../plan'
import type { Consistency } from '../policies/policy'
import type { TakeLoop } from '../take-loop'
import { SharedWrites } from '../write-coalescer'
import { Eventual } from './eventual'
import { Leases } from './leased'
import type { Way } from './strategy'
import { Strict } from './strict'

/** The part of a charge that is counted in one way. */
export interface Part extends Charge {
  readonly way: Way
}

/** How the policies of a charge are counted, by their `consistency`. */
export class Ways {
  private readonly ways: Readonly<Record<Consistency, Way>>
  private readonly leases: Leases
  private readonly eventual: Eventual
  private readonly lists = new WeakMap<readonly CompiledPolicy[], readonly Pick<Part, 'way' | 'policies'>[]>()

  constructor(loop: TakeLoop, maxSubjects: number, onEvent: OnEvent) {
    const writes = new SharedWrites(loop)
    this.leases = new Leases(loop, writes, onEvent, maxSubjects)
    this.eventual = new Eventual(loop, maxSubjects)
    this.ways = { strict: new Strict(loop, writes, this.leases, onEvent), leased: this.leases, eventual: this.eventual }
  }

  /** The lists of policies are the same arrays for the same charge's, so that requests can share writes. */
  partsOf({ key, policies, cost }: Charge): Part[] {
    const lists = this.lists.get(policies) ?? this.split(policies)
    this.lists.set(policies, lists)
    return lists.map((list) => ({ ...list, key, cost }))
  }

  /** What was last seen of a subject in the store, and counted here since. */
  lastSeen(key: string, policies: readonly CompiledPolicy[]): States {
    return this.eventual.lastSeen(key, policies)
  }

  /** Gives back and adds up what is only in memory. */
  async close(): Promise<void> {
    await Promise.all([this.leases.close(), this.eventual.close()])
  }

  /** Forgets what is only in memory of a subject that is reset. */
  async forget(key: string): Promise<void> {
    await Promise.all(Object.values(this.ways).map((way) => way.forget(key)))
  }

  private split(policies: readonly CompiledPolicy[]): readonly Pick<Part, 'way' | 'policies'>[] {
    return (Object.keys(this.ways) as Consistency[]).flatMap((consistency) => {
      const those = policies.filter((policy) => policy.consistency === consistency)
      if (those.length === 0) return []
      return { way: this.ways[consistency], policies: those.length === policies.length ? policies : those }
    })
  }
}
