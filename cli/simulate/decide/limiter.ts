import type { Charge, CompiledPolicy } from '../../facade/decisions'
import type { Exceeded } from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'

/** What one policy said of a request. */
export interface PolicyAnswer {
  readonly policy: CompiledPolicy
  readonly verdict: {
    readonly allowed: boolean
    readonly remaining: number
    readonly resetAfterMs: number
    readonly retryAfterMs: number
    readonly delayMs?: number
    readonly exceeded?: Exceeded
    readonly lockedOut?: true
    readonly overage?: number
  }
  /** Its caller had taken its share of it: it was not asked for more. */
  readonly isShare?: true
}

/** What a denial is named after: a policy, or `NAME.share` where it is the caller's share of it. */
export type NamedLimit = Pick<CompiledPolicy, 'name' | 'limit'> & { readonly written: { readonly window?: string } }

/** What all policies of a request said. */
export interface Answer {
  readonly allowed: boolean
  /** Where it is a denial. */
  readonly deniedBy: NamedLimit | undefined
  /** All that were asked. */
  readonly policies: readonly PolicyAnswer[]
}

/** Decides charges in the order of their times. */
export interface SimulatedLimiter {
  /** @param durationMs how long the request runs, where something is held meanwhile and the log says it. */
  decide(parts: readonly Charge[], now: EpochMs, durationMs?: number): Answer | Promise<Answer>
}

/** Calls to DynamoDB that decisions have taken. */
export interface Calls {
  writes: number
  /** Write units that the writes are billed. */
  writeUnits: number
  /** Consistent reads of one item, a read unit each. */
  reads: number
}
