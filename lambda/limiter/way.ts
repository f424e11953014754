import type { EpochMs } from '../clock'
import type { CompiledPolicy } from './compiled-policy'
import type { Verdicts } from './plan'

/** One way of counting a subject's units under some of its policies; what `consistency` chooses. */
export interface Way {
  /** The denial of a request whose outcome is known without a call; `undefined` where it is not. */
  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined
  /** Takes `cost` units, 1 or more, from all the policies or from none. */
  take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts>
  /** What a request would be told now, taking nothing. */
  look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts>
  /** Undoes a `take` of a moment ago. */
  giveBack(key: string, policies: readonly CompiledPolicy[], cost: number, chargedAt: EpochMs): Promise<void>
}
