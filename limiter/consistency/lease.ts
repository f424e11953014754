import type { Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, idOf } from '../compiled-policy'

/** Units that are charged already, and how the policies stood just after. */
export interface Lease {
  left: number
  /** Units charged, but for those that were given back. */
  units: number
  readonly takenAt: EpochMs
  usedAt: EpochMs
  readonly expiresAt: EpochMs
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
}

const termsOf = new WeakMap<readonly CompiledPolicy[], string>()

/**
 * Units that were leased under one limit are not spent under another, such as a lower one of now; and a policy that
 * observes waits for nothing that others wait for.
 */
export function idIn({ key, policies }: Pick<Lease, 'policies'> & { readonly key: string }): string {
  const terms =
    termsOf.get(policies) ??
    `${idOf(policies)} ${JSON.stringify(policies.map(({ quota, nonBlocking }) => [quota, nonBlocking]))}`
  termsOf.set(policies, terms)
  return `${key} ${terms}`
}

/** A clock that was set back makes no lease last longer. */
export const isSpendable = (lease: Lease | undefined, now: EpochMs): lease is Lease =>
  lease !== undefined && now >= lease.takenAt && now < lease.expiresAt

/** Verdicts of a while ago, with units that are held on top. */
export const withMore = (verdicts: Verdicts, units: number, elapsedMs: number): Verdicts =>
  verdicts.map((verdict) => ({
    ...verdict,
    // a lease that overran a limit leaves nothing of the limit
    remaining: verdict.exceeded ? verdict.remaining : verdict.remaining + units,
    resetAfterMs: Math.max(0, verdict.resetAfterMs - elapsedMs),
  }))
