import type { PolicyInput } from '../../limiter'
import type { ConcurrencyInput } from '../../limiter/policies/policy'

/** The fault of one call to the store. */
export const CALL_FAULTS = [
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
export type CallFault = (typeof CALL_FAULTS)[number]

/** One step of a scenario. */
export type Step = {
  /** Milliseconds after the step before it. */
  readonly after: number
  /** The instance that it happens on. */
  readonly on: number
  /** The faults of the instance's next calls to the store. */
  readonly faults?: readonly CallFault[]
} & Action

/** Units by the name of a cost, for policies that count it. */
type Named = { readonly costs?: Readonly<Record<string, number>> }

/** For how many milliseconds units are reserved that are settled later. */
type Reserving = { readonly reserve?: number }

/** The subject that a reservation is stored with. @default the first of the request */
type StoredWith = { readonly caller?: number }

type Action =
  /** @param times so many simultaneous requests, which may be coalesced. */
  | ({ readonly do: 'take'; readonly of: number; readonly cost: number; readonly times?: number } & Named & Reserving)
  | ({ readonly do: 'takeAll'; readonly of: readonly number[]; readonly cost: number } & Named & Reserving & StoredWith)
  | ({ readonly do: 'peek'; readonly of: number; readonly cost: number } & Named)
  /**
   * Refunds one of the latest requests of a subject, whichever instance admitted it; `withTime` passes its `chargedAt`.
   */
  | { readonly do: 'refund'; readonly of: number; readonly back: number; readonly withTime: boolean }
  /** Debits one of the latest requests of a subject that reserve something, by a meter of this instance. */
  | { readonly do: 'debit'; readonly of: number; readonly back: number; readonly used: number }
  /**
   * Settles one of the latest requests of a subject that hold something, whichever instance admitted it: to so many
   * units, or to what the instance's meter has debited where it has one.
   */
  | { readonly do: 'settle'; readonly of: number; readonly back: number; readonly used: number }
  /** Frees the slot of one of them; what it reserved stays charged. */
  | { readonly do: 'release'; readonly of: number; readonly back: number }
  | { readonly do: 'reset'; readonly of: number }
  | { readonly do: 'close' }
  /** The instance ends without closing, and a new one takes its place. */
  | { readonly do: 'crash' }
  | { readonly do: 'freeze'; readonly ms: number }
  /** From now on every limit and burst is so many percent of that in the scenario. */
  | { readonly do: 'change'; readonly percent: number }
  /** None of the instance's calls arrives for so long. */
  | { readonly do: 'outage'; readonly ms: number }
  /** The instance's clock is set. */
  | { readonly do: 'clock'; readonly skewMs: number }
  /** DynamoDB deletes the items whose time to live is over. */
  | { readonly do: 'ttl' }

/** A history as data, with all that is needed to repeat it. */
export interface Scenario {
  readonly seed: number
  readonly policies: readonly PolicyInput[]
  /** A policy on how many requests of a subject run at once: each holds a slot until it is released. */
  readonly running?: ConcurrencyInput
  readonly instances: readonly { readonly skewMs: number; readonly old?: boolean }[]
  readonly steps: readonly Step[]
  readonly denialTtlMs?: number
  readonly localShare?: number
  readonly onStoreError?: 'local' | 'allow' | 'deny'
  /** Milliseconds since 1970 at which it begins. @default 2025-11-21T00:00:00Z */
  readonly start?: number
}
