import type { UsedUnits } from './reported-units'
import type { ReservedDecision, ReserveOptions, TakeOptions } from './take-options'

/** What a request takes that gets a slot; with `reserve`, units that are settled, too. */
export interface AcquireOptions extends TakeOptions {
  /** As that of `take`. @default no units are reserved */
  readonly reserve?: ReserveOptions['reserve']
}

/** `Symbol.asyncDispose`, where the types of the program that imports this know it. */
export type AsyncDispose = SymbolConstructor extends { readonly asyncDispose: infer Name extends symbol }
  ? { readonly [Dispose in Name]: () => Promise<void> }
  : unknown

/** A decision, and the slots that an allowed request has from then on. */
export interface AcquiredDecision extends ReservedDecision {
  /**
   * Frees the slots, and settles what is reserved. It counts once, however often it is called, and frees no other
   * request's slot.
   *
   * @param used units that were used, as for `settle`. @default what is reserved stays charged
   * @returns false when nothing is held any more: it was released or settled before, its time is over, the subject was
   * reset, or the request never had a slot.
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  release(used?: UsedUnits): Promise<boolean>
}

/**
 * What `acquire` resolves with. `await using slot = await limiter.acquire(…)` releases it at the end of the block. If
 * the store cannot be reached then, the slot lasts until its timeout, and nothing is thrown.
 */
export type Slot = AcquiredDecision & AsyncDispose
