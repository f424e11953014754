import type { ConditionalWrite, Fields } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'

/**
 * Keeps one item per subject and changes it only by conditional writes.
 *
 * Any store that passes `storeContract` will do. A store that cannot be reached throws `StoreUnavailableError` and nothing else.
 */
export interface StateStore {
  /** Applies all parts of a write or none, in one atomic step. */
  write(key: string, write: ItemWrite, options?: CallOptions): Promise<WriteOutcome>
  /** The item as it is now, never an older one. */
  read(key: string, options?: CallOptions): Promise<Item>
  /** Forgets the subject. */
  delete(key: string, options?: CallOptions): Promise<void>
}

export interface CallOptions {
  /** Ends the call when it takes too long. Whether a write then happened is not known. */
  readonly signal?: EndSignal
}

/**
 * Tells a call to end. Any `AbortSignal` is one; the take loop makes plainer ones, because listening to an `AbortSignal` costs a tenth of a
 * whole call. A call that does not look at it is left behind when its time is over.
 */
export interface EndSignal {
  readonly aborted: boolean
  onabort: ((this: never, event: never) => unknown) | null
}

/** What is stored for one subject. An item that does not exist has no policies, and nothing else either. */
export interface Item {
  /** Each policy's fields under its code. */
  readonly policies: Readonly<Record<string, Fields>>
  /** When TTL may delete the item, in epoch seconds; 0 when there is none. */
  readonly expiresAtSeconds: number
  /** The newest write of each group of writers. */
  readonly marks: Readonly<Record<string, number>>
}

export const NO_ITEM: Item = { policies: {}, expiresAtSeconds: 0, marks: {} }

/** One change of one item: several policies' conditional writes, under one guard. */
export interface ItemWrite {
  readonly parts: readonly PolicyWrite[]
  /** Names this write, however often it is sent: the store applies it once, unless another writer of the same mark came between. */
  readonly id: WriteId
  /** Moves the time to live to here, in epoch seconds; fails, like any guard, where it lies further ahead already. */
  readonly expiresAtSeconds?: number
  /** The writer's clock, for stores that have none. */
  readonly at: EpochMs
}

export interface PolicyWrite {
  /** Prefix of the policy's stored fields. */
  readonly code: string
  readonly write: ConditionalWrite
}

export interface WriteId {
  readonly mark: string
  readonly value: number
}

/**
 * - `applied`: with the item as it was just before.
 * - `refused`: the guard did not hold, on this item.
 * - `repeated`: this very write had been applied before, and this is the item now.
 */
export type WriteOutcome = { readonly kind: 'applied' | 'refused' | 'repeated'; readonly item: Item }

/** Attributes of an item that belong to no policy; policies' own have five characters or more. */
export const MARKS = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7'] as const
