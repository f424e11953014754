import type { EpochMs } from '../facade/values'
import type { Denial } from './denial'

/** What a source has told since it was asked last: each denial once. */
export interface News {
  readonly denials: readonly Denial[]
  /** How many requests of whom no line names the caller, and when a line said so. */
  readonly others: readonly { readonly at: EpochMs; readonly count: number }[]
  /** All denials from then on have been told. Infinity: there may always be more than are told. */
  readonly completeFrom: EpochMs
}

/** Where denials are heard of. */
export interface Source {
  readonly kind: 'gateway' | 'log'
  /** The gateway's address, or the name of the log group. */
  readonly name: string
  /** @param from nothing before is wanted. */
  read(from: EpochMs, signal: AbortSignal): Promise<News>
}
