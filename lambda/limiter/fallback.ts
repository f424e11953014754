import type { Clock } from '../clock'
import type { Decision } from '../decision'
import { MemoryStore } from '../state/memory-store'
import type { Charge } from './charge'
import { compose } from './compose'
import { stepAll, type Verdicts } from './plan'
import { TakeLoop, type TakeLoopOptions } from './take-loop'

/**
 * What to answer when the store cannot be asked; every such decision says `degraded`.
 * - `local`: the same policies, counted in this instance's memory.
 * - `allow`: let everything pass.
 * - `deny`: let nothing pass.
 * - `throw`: no answer, the caller gets the `StoreUnavailableError`.
 */
export type FailureMode = 'local' | 'allow' | 'deny' | 'throw'
export const FAILURE_MODES: readonly FailureMode[] = ['local', 'allow', 'deny', 'throw']

/** When a caller turned away for want of a store may ask again. */
const RETRY_AFTER_MS = 1000

/** Decides without the store. */
export class Fallback {
  private readonly local: TakeLoop

  constructor(
    private readonly mode: Exclude<FailureMode, 'throw'>,
    private readonly clock: Clock,
    options: TakeLoopOptions,
  ) {
    const store = new MemoryStore({ maxSubjects: options.maxSubjects })
    this.local = new TakeLoop({ ...options, store, onEvent: () => {} })
  }

  async decide(charges: readonly Charge[]): Promise<Decision> {
    if (this.mode === 'local') return this.locally(charges)
    const allowed = this.mode === 'allow'
    const answers = charges.map(({ policies, cost }) => {
      const whole = stepAll([], policies, allowed ? cost : 0, this.clock())
      const verdicts: Verdicts = whole.map(({ verdict }) => ({ ...verdict, allowed, retryAfterMs: allowed ? 0 : RETRY_AFTER_MS }))
      return { policies, verdicts }
    })
    return compose(answers, true)
  }

  private async locally(charges: readonly Charge[]): Promise<Decision> {
    const answers = []
    for (const { key, policies, cost } of charges) {
      const [verdicts] = cost === 0 ? [await this.local.look(key, policies, 0)] : await this.local.settle(key, policies, [cost])
      answers.push({ policies, verdicts: verdicts! })
      if (verdicts!.some(({ allowed }) => !allowed)) break
    }
    return compose(answers, true)
  }
}
