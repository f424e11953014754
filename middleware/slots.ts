import type { Slot } from '../limiter/options'
import { ofProcess } from './of-process'

/** The slots that the middlewares have taken for one request. */
export interface RequestSlot {
  /**
   * Keeps the slots past the end of the request: until `release`, or the policy's timeout.
   *
   * @returns false where the request has no slot, or its slots are free already.
   */
  hold(): boolean
  /**
   * Frees the slots now, whatever still runs. It never rejects: a slot that cannot be freed lasts until its timeout,
   * and `release` may be called again.
   *
   * @returns whether it has freed any.
   */
  release(): Promise<boolean>
}

const slots = ofProcess('slots', () => new WeakMap<object, RequestSlots>())

/**
 * The slots of a request: for a handler that continues where its framework does not show it, or that no longer needs
 * its slot. Where a request has no slot, such as one that is skipped, both methods answer `false`.
 *
 * @param request what the framework passes to its middlewares: `req`, `request`, `c` or `ctx`.
 */
export const slotOf = (request: object): RequestSlot => slotsOf(request)

export function slotsOf(request: object): RequestSlots {
  const known = slots.get(request) ?? new RequestSlots()
  slots.set(request, known)
  return known
}

/** Slots of one request, which several limiters may have admitted. */
class RequestSlots implements RequestSlot {
  private readonly taken = new Set<Slot>()
  private isHeld = false

  add(slot: Slot): void {
    this.taken.add(slot)
  }

  /** Frees a slot whose request has ended, unless the handler holds it. */
  end(slot: Slot): void {
    if (!this.isHeld) void this.free(slot)
  }

  hold(): boolean {
    this.isHeld = this.taken.size > 0
    return this.isHeld
  }

  async release(): Promise<boolean> {
    this.isHeld = false
    const freed = await Promise.all([...this.taken].map((slot) => this.free(slot)))
    return freed.includes(true)
  }

  private async free(slot: Slot): Promise<boolean> {
    if (!this.taken.delete(slot)) return false
    try {
      return await slot.release()
    } catch {
      this.taken.add(slot)
      return false
    }
  }
}
