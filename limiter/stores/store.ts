import type { ConditionalWrite, Fields } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import type { CallOptions } from '../deadline'

export type { CallOptions }

/**
 * Keeps one item per subject and changes it only by conditional writes.
 *
 * Any store that passes `storeContract` will do. A store that cannot be reached throws `StoreUnavailableError` and
 * nothing else.
 */
export interface StateStore {
  /** Applies all parts of a write or none, in one atomic step. */
  write(key: string, write: ItemWrite, options?: CallOptions): Promise<WriteOutcome>
  /** The item as it is now, never an older one. */
  read(key: string, options?: CallOptions): Promise<Item>
  /**
   * Forgets the subject, if its marks stand as seen; every write changes one of them, so nothing is wiped that the
   * caller has not seen, and a copy of this call that arrives late wipes nothing.
   */
  delete(key: string, whileMarks: SeenMarks, options?: CallOptions): Promise<DeleteOutcome>
}

/** What is stored for one subject. An item that does not exist has no policies, and nothing else either. */
export interface Item {
  /** Each policy's fields under its prefix. */
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
  /**
   * Names this write, however often it is sent: the store applies it once, unless another writer of the same mark came
   * between.
   */
  readonly id: WriteId
  /**
   * The write happens only while these marks stand as seen. With its own mark among them the store applies it once,
   * whoever came between: what a write has replaced never stands there again. For writes in the caller's favour; others
   * would lose to everybody who writes under the same mark.
   */
  readonly whileMarks?: SeenMarks | undefined
  /** Moves the time to live to here, in epoch seconds; fails, like any guard, where it lies further ahead already. */
  readonly expiresAtSeconds?: number | undefined
  /** The writer's clock, for stores that have none. */
  readonly at: EpochMs
}

/** One policy's part of a write: its fields, and the conditions that they must meet. */
export interface PolicyWrite {
  /** Prefix of the policy's stored fields. */
  readonly prefix: string
  readonly write: ConditionalWrite
}

/** The number by which a write that is sent twice is recognized, so that it is applied once. */
export interface WriteId {
  readonly mark: string
  readonly value: number
  /**
   * The last id that the same writer may give: its ids count up to here. The write is refused where the mark stands at
   * one from `value` to this, since it was applied already, or a newer one of its writer was. @default `value`
   */
  readonly rangeEnd?: number | undefined
}

/**
 * Whether a newer write of this id's writer has been applied since, so that nothing tells any more whether this one
 * was.
 */
export function isPassed({ marks }: Item, { mark, value, rangeEnd = value }: WriteId): boolean {
  const found = marks[mark]
  return found !== undefined && found > value && found <= rangeEnd
}

/** Marks as they were seen, `undefined` where there was none. */
export type SeenMarks = Readonly<Record<string, number | undefined>>

/**
 * - `applied`: with the item as it was just before.
 * - `refused`: the guard did not hold, on this item.
 * - `already-applied`: this very write had been applied before, and this is the item now.
 */
export type WriteOutcome = { readonly kind: 'applied' | 'refused' | 'already-applied'; readonly item: Item } & Resent

/** - `deleted`: it is gone, and was so before. - `refused`: a mark did not stand as seen, on this item. */
export type DeleteOutcome = { readonly kind: 'deleted' | 'refused'; readonly item: Item } & Resent

/** Whether an outcome may be that of a repeated call. */
export interface Resent {
  /** The store's client has sent the call again by itself, so that what refused it may have been the call itself. */
  readonly resent?: true
}

/** Attributes of an item that belong to no policy; policies' own have five characters or more. */
export const MARKS = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7'] as const

/** The mark of writes that give units back, whichever process they come from. */
export const REFUND_MARK = 'r8'

export const ALL_MARKS = [...MARKS, REFUND_MARK] as const

/** Every mark of an item as it stands: every write changes one of them. */
export const marksOf = ({ marks }: Item): SeenMarks => Object.fromEntries(ALL_MARKS.map((mark) => [mark, marks[mark]]))

/** Whether all of these marks still stand as seen. */
export const standAsSeen = ({ marks }: Item, seen: SeenMarks): boolean =>
  Object.entries(seen).every(([mark, value]) => marks[mark] === value)

/**
 * What `instanceof` says of a class of which a program may have two: it imports one, of the ES modules, and a package
 * that it uses requires the other, of the CommonJS modules (ADR 0057). An instance of either is one of both. They know
 * each other by the `kind` of their prototypes. A class that a program derives has none of its own, and only its own
 * instances.
 */
export function isOfKind({ prototype }: { readonly prototype: object }, value: unknown): boolean {
  const kindOf = (one: object) => (Object.hasOwn(one, 'kind') ? (one as { readonly kind?: unknown }).kind : undefined)
  for (let at = Object.getPrototypeOf(Object(value)); at; at = Object.getPrototypeOf(at))
    if (at === prototype || (kindOf(prototype) && kindOf(at) === kindOf(prototype))) return true
  return false
}
