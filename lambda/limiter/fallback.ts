import type { EpochMs } from '../clock'
import type { Decision } from '../decision'
import { MemoryStore } from '../state/memory-store'
import type { PolicyWrite } from '../state/store'
import type { Charge } from './charge'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { type Answer, compose } from './compose'
import type { View } from './known-subjects'
import { allAllow, isCharged, stepAll, type Verdicts } from './plan'
import { TakeLoop, type TakeLoopOptions } from './take-loop'

/**
 * What to answer when the store cannot be asked; every such decision says `degraded`.
 * - `local`: the same policies, counted in this instance's memory, which admits its share of each limit.
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
  private readonly memory: MemoryStore
  private readonly local: TakeLoop
  /** When what the store knew of a subject was last taken over, or found to be nothing, and for which policies. */
  private readonly begun = new Map<string, { readonly at: EpochMs; readonly codes: Set<string> }>()
  private readonly shares = new WeakMap<
    readonly CompiledPolicy[],
    { readonly share: number; readonly policies: readonly CompiledPolicy[] }
  >()

  /** @param loop the one that asks the store, for what it knows. */
  constructor(
    private readonly loop: TakeLoop,
    private readonly options: TakeLoopOptions,
  ) {
    this.memory = new MemoryStore({ maxSubjects: options.maxSubjects })
    this.local = new TakeLoop({ ...options, store: this.memory, clock: () => loop.now(), onEvent: () => {} })
  }

  /** @param share the part of each limit that this instance admits by itself, above 0 and up to 1. */
  async decide(charges: readonly Charge[], mode: Exclude<FailureMode, 'throw'>, share: number): Promise<Decision> {
    if (mode === 'local') return this.locally(charges, share)
    const allowed = mode === 'allow'
    const answers = charges.map(({ policies, cost }) => {
      const whole = stepAll([], policies, allowed ? cost : 0, this.loop.now())
      const verdicts: Verdicts = whole.map(({ verdict }, i) =>
        allowed || policies[i]!.lenient
          ? { ...verdict, allowed: true, retryAfterMs: 0 }
          : { ...verdict, allowed, retryAfterMs: RETRY_AFTER_MS },
      )
      return { policies, verdicts }
    })
    return compose(answers, true)
  }

  private async locally(charges: readonly Charge[], share: number): Promise<Decision> {
    const answers: Answer[] = []
    for (const { key, policies, cost } of charges) {
      const own = this.shareOf(policies, share)
      await this.begin(key, policies, own, share)
      const [verdicts] = cost === 0 ? [await this.local.look(key, own, 0)] : await this.local.settle(key, own, [cost])
      answers.push({ policies, verdicts: verdicts!.map((verdict, i) => (cost > policies[i]!.limit ? verdict : passable(verdict))) })
      if (allAllow(verdicts!)) continue
      await this.giveBack(charges.slice(0, answers.length - 1), answers, share)
      break
    }
    return compose(answers, true)
  }

  /** What a denied request was charged already. */
  private async giveBack(charges: readonly Charge[], answers: readonly Answer[], share: number): Promise<void> {
    for (const [i, { key, policies, cost }] of charges.entries()) {
      const charged = this.shareOf(policies, share).filter((_, j) => isCharged(answers[i]!.verdicts[j]!))
      if (cost > 0 && charged.length > 0) await this.local.refund(key, charged, cost)
    }
  }

  private shareOf(policies: readonly CompiledPolicy[], share: number): readonly CompiledPolicy[] {
    if (share >= 1) return policies
    let own = this.shares.get(policies)
    if (own?.share !== share) own = { share, policies: policies.map((policy) => policy.shareOf(share)) }
    this.shares.set(policies, own)
    return own.policies
  }

  /** Where the store was asked since a subject was last counted here, its count here begins with this instance's share of what was left then. */
  private async begin(key: string, policies: readonly CompiledPolicy[], own: readonly CompiledPolicy[], share: number): Promise<void> {
    const view = this.loop.view(key)
    let begun = this.begun.get(key)
    if (!begun || (view && view.seenAt > begun.at)) {
      begun = { at: this.loop.now(), codes: new Set() }
      this.begun.delete(key)
      this.begun.set(key, begun)
      if (this.begun.size > this.options.maxSubjects) this.begun.delete(this.begun.keys().next().value!)
      if (view) await this.local.reset(key)
    }
    if (view) await this.takeOver(view, begun.codes, key, policies, own, share)
  }

  /** @param codes of the policies that are taken over already: not all of a subject's requests have the same ones. */
  private async takeOver(
    view: View,
    codes: Set<string>,
    key: string,
    policies: readonly CompiledPolicy[],
    own: readonly CompiledPolicy[],
    share: number,
  ) {
    const at = this.loop.now()
    const parts = policies.flatMap((policy, i): PolicyWrite[] => {
      const mine = own[i]!
      if (codes.has(mine.code)) return []
      codes.add(mine.code)
      const { remaining } = policy.algorithm.step(fieldsOf(view.item, policy), policy.quota, 0, at).verdict
      const whole = mine.algorithm.step({}, mine.quota, 0, at).verdict.remaining
      const left = Math.min(whole, remaining === 0 ? 0 : Math.max(1, Math.floor(remaining * share)))
      const { write } = mine.algorithm.step({}, mine.quota, whole - left, at)
      return write ? [{ code: mine.code, write }] : []
    })
    if (parts.length > 0) await this.memory.write(key, { parts, id: { mark: '', value: codes.size }, at })
  }
}

/** What would pass were it not for the share passes once the store can be asked again. */
const passable = (verdict: Verdicts[number]): Verdicts[number] =>
  verdict.retryAfterMs === Infinity ? { ...verdict, retryAfterMs: RETRY_AFTER_MS } : verdict
