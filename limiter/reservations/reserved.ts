import { numberOf } from '../algorithms/conditional-write'
import { bind, type Counter } from '../algorithms/counter'
import { holds, LONGEST_KEPT_MS } from '../algorithms/holds'
import { nonBlocking } from '../algorithms/non-blocking'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, compile, fieldsOf } from '../compiled-policy'
import { MAX_HOLD_MS } from '../policies/duration'
import { MAX_SLOTS } from '../policies/quota'
import type { Item } from '../stores/store'

/** A reservation whose time is over is remembered, so that a late settlement charges what is beyond it. */
const QUOTA = { limit: MAX_SLOTS, keptMs: LONGEST_KEPT_MS, longestMs: MAX_HOLD_MS }

const reservationsBy = (counter: Counter, isObserved: boolean): CompiledPolicy => ({
  ...compile({
    name: 'reservations',
    limit: MAX_SLOTS,
    windowMs: MAX_HOLD_MS,
    counter,
    quota: QUOTA,
    stateSchema: 'reservations',
    nonBlocking: isObserved,
    waits: false,
    consistency: 'strict',
    written: { name: 'reservations', limit: MAX_SLOTS, window: '1d' },
  }),
  prefix: 'r0__', // no other policy can have it
  isInternal: true,
})

/** The policy under which a caller's open reservations are stored. */
export const RESERVATIONS = reservationsBy(bind(holds, QUOTA), false)

/** The same where all that is reserved only observes: a caller who has too many open is not denied for that. */
export const OBSERVED = reservationsBy(nonBlocking(bind(holds, QUOTA), 'observe'), true)

/** In other subjects' items: since when reserved units count there, so that none from before a reset is given back. */
export const SHARED = reservationsBy(bind(holds, { ...QUOTA, limit: 0, isShared: true }), false)

/** Since when reserved units count in an item; `undefined` where none have been reserved. */
export function reservedSince(item: Item): EpochMs | undefined {
  return numberOf(fieldsOf(item, RESERVATIONS), 'b') || undefined
}

/** What a request reserved of one policy. */
export interface ReservedUnits {
  readonly policy: CompiledPolicy
  readonly units: number
  /** Whether they were charged: a policy that only observes may not have. `undefined` where nothing proves either. */
  readonly wasCharged: boolean | undefined
}

/** What a request holds of one subject: units that are reserved, slots, or both. */
export interface Reserved {
  readonly key: string
  readonly id: string
  /** How long the units are reserved, in milliseconds. */
  readonly forMs: number
  readonly entries: readonly ReservedUnits[]
  /** The policies under which a hold of this name is stored in the subject's item. */
  readonly holders: readonly CompiledPolicy[]
  /** The reservation is stored with another subject, the caller. This item knows its units only. */
  readonly isShared: boolean
  /** What the first guess of a write is made from; it may be wrong. */
  readonly guess: Guess
}

export interface Guess {
  /** When the request was charged. */
  readonly chargedAt?: EpochMs
  /** A mark of the subject's item just after. */
  readonly mark?: readonly [mark: string, value: number]
}
