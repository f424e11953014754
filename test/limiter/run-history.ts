import { createLimiter, type Limiter, type PolicyInput } from '../../limiter'
import type { StateStore } from '../../limiter/stores/store'
import { type Event, INSTANCES } from './histories'
import { MIDNIGHT } from './limiters'

/**
 * Runs a history on a store: instances take turns, so that each decides from an outdated view.
 *
 * @returns the number of decisions.
 */
export async function runHistory(
  store: StateStore,
  policies: readonly PolicyInput[],
  history: readonly Event[],
  subject = 'client:busy',
) {
  let now = MIDNIGHT
  const make = (): Limiter =>
    createLimiter({ store, policies, clock: () => now, denialTtlMs: 0, deadlineMs: 20_000, onStoreError: 'throw' })
  const fleet = Array.from({ length: INSTANCES }, make)
  let decisions = 0
  for (const one of history) {
    if (one.kind === 'wait') now += one.ms
    else if (one.kind === 'crash') fleet[one.instance] = make()
    else if (one.kind === 'reset') await fleet[one.instance]!.reset(subject)
    else if (one.kind === 'refund')
      await fleet[one.instance]!.refund(subject, one.units, { chargedAt: Math.max(0, now - one.agoMs) })
    else
      for (let i = 0; i < one.times; i++) {
        now += one.everyMs
        await fleet[(one.instance + i) % INSTANCES]!.take(subject, { cost: one.cost })
        decisions++
      }
  }
  return decisions
}
