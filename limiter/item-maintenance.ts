import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import type { StoreCalls } from './store-calls'
import { fitted } from './stores/expression-budget'
import { afterWrite } from './stores/memory-store'
import type { Item, ItemWrite, PolicyWrite } from './stores/store'
import type { KnownSubjects } from './subject-cache'

/** Keeps a subject's item small. */
export class Upkeep {
  constructor(
    private readonly calls: StoreCalls,
    private readonly known: KnownSubjects,
  ) {}

  /** Clears litter away, if there is enough of it. The request is decided already; where it fails the litter waits. */
  async tidy(
    key: string,
    policies: readonly CompiledPolicy[],
    item: Item,
    now: EpochMs,
    deadline: Deadline,
  ): Promise<void> {
    const parts = policies.flatMap((policy): PolicyWrite[] => {
      const write = policy.algorithm.tidy?.(fieldsOf(item, policy)!, policy.quota, now)
      return write ? [{ code: policy.code, write }] : []
    })
    if (parts.length === 0) return
    const write: ItemWrite = fitted({ parts, id: this.calls.nextId(), at: now })
    try {
      const outcome = await this.calls.write(key, write, deadline, 1)
      if (outcome.kind === 'applied') this.known.learn(key, afterWrite(outcome.item, write), now)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
    }
  }
}
