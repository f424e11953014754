import type { StoreFailure } from './errors'

/**
 * What happened on the way to a decision, for metrics. Nothing in it identifies a caller.
 * - `store-call`: one call to the store, how long it took, and how it failed if it did.
 * - `conflict`: a write's guard did not hold, and the decision was made again.
 * - `lease`: units were leased in one write, to be spent from memory.
 * - `hot-key`: one item gets more writes than DynamoDB takes, and its subject is leased for a while.
 * - `circuit`: the store is no longer called, or called again.
 * - `clock`: the system's clock is more than a minute off the store's, whose time is used instead, or it agrees again.
 */
export type LimiterEvent =
  | { readonly kind: 'store-call'; readonly ms: number; readonly failure?: StoreFailure }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'lease'; readonly units: number }
  | { readonly kind: 'hot-key' }
  | { readonly kind: 'circuit'; readonly state: 'open' | 'closed' }
  | { readonly kind: 'clock'; readonly state: 'wrong' | 'right'; readonly offMs: number }

/** Receives the events of a limiter, for metrics and logs. */
export type OnEvent = (event: LimiterEvent) => void
