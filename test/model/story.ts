import type { PolicyInput } from '../../limiter'

/** What becomes of one call to the store. */
export const FATES = [
  'ok',
  'request lost', // never arrives, and no answer comes
  'answer lost', // applied, and no answer comes
  'answer late', // applied, and the answer comes after the caller has given up
  'arrives late', // the caller has given up before it is applied
  'copied', // applied, and once more some time later
  'copied late', // applied, and once more after other writes of its process
  'unreachable', // refused at once, not applied
  'reset after', // applied, then the connection breaks
  'throttled',
  'hot',
] as const
export type Fate = (typeof FATES)[number]

/** Something that happens. */
export type Step = {
  /** Milliseconds after the step before it. */
  readonly after: number
  /** The instance that it happens to. */
  readonly on: number
  /** What the instance's next calls to the store meet. */
  readonly meets?: readonly Fate[]
} & Action

type Action =
  /** @param times so many requests at once, that may share writes. */
  | { readonly do: 'take'; readonly of: number; readonly cost: number; readonly times?: number }
  | { readonly do: 'takeAll'; readonly of: readonly number[]; readonly cost: number }
  | { readonly do: 'peek'; readonly of: number; readonly cost: number }
  /** Gives back what one of the latest requests of a subject took, whichever instance admitted it. */
  | { readonly do: 'refund'; readonly of: number; readonly back: number; readonly told: boolean }
  | { readonly do: 'reset'; readonly of: number }
  | { readonly do: 'close' }
  /** An instance that ends without a word, and another in its place that knows nothing. */
  | { readonly do: 'crash' }
  | { readonly do: 'freeze'; readonly ms: number }
  /** From now on every limit and burst is so many percent of what the story says. */
  | { readonly do: 'change'; readonly percent: number }
  /** None of the instance's calls arrives. */
  | { readonly do: 'outage'; readonly ms: number }
  /** The instance's clock is set. */
  | { readonly do: 'clock'; readonly skewMs: number }
  /** DynamoDB deletes the items whose time to live is over. */
  | { readonly do: 'ttl' }

/** All that is needed to make the same things happen again. */
export interface Story {
  readonly seed: number
  readonly policies: readonly PolicyInput[]
  readonly instances: readonly { readonly skewMs: number; readonly old?: boolean }[]
  readonly steps: readonly Step[]
  readonly denialTtlMs?: number
  readonly localShare?: number
  readonly onStoreError?: 'local' | 'allow' | 'deny'
  /** Milliseconds since 1970 at which it begins. @default 2025-11-21T00:00:00Z */
  readonly start?: number
}
