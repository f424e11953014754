import { StoreUnavailableError } from '../../limiter/errors'
import type { StateStore } from '../../limiter/stores/store'

/**
 * The fault of one call.
 *
 * - `request lost`: the store never gets it.
 * - `answer lost`: the store gets it, and its answer is lost.
 * - `late`: the caller gives up, and the store gets it at the next `deliverDelayed`.
 * - `copied`: it is answered, and a copy of it arrives at the next `deliverDelayed`.
 * - `sent twice`: a client's own retry. The store gets it twice, and the second answer is returned.
 */
export type StoreFault = (typeof STORE_FAULTS)[number]
export const STORE_FAULTS = ['request lost', 'answer lost', 'late', 'copied', 'sent twice'] as const

/** A store whose calls have faults as planned. Lost calls fail at once, so that no test waits for them. */
export class FaultyStore implements StateStore {
  /** Calls since the last `plan`. */
  calls = 0
  private faults: readonly (StoreFault | undefined)[] = []
  private between: (() => Promise<unknown>) | undefined
  private readonly delayed: (() => Promise<unknown>)[] = []

  constructor(private readonly inner: StateStore) {}

  /** @param between runs just after the first call with a fault, before its caller goes on. */
  plan(fates: readonly (StoreFault | undefined)[], between?: () => Promise<unknown>): void {
    this.calls = 0
    this.faults = fates
    this.between = between
  }

  /** Delivers late calls and copies to the store. */
  async deliverDelayed(): Promise<void> {
    for (const call of this.delayed.splice(0)) await call()
  }

  write: StateStore['write'] = (key, write) => this.meet(() => this.inner.write(key, write))
  read: StateStore['read'] = (key) => this.meet(() => this.inner.read(key))
  delete: StateStore['delete'] = (key, whileMarks) => this.meet(() => this.inner.delete(key, whileMarks))

  private async meet<T>(call: () => Promise<T>): Promise<T> {
    const fault = this.faults[this.calls++]
    if (fault === undefined) return call()
    const answer = fault === 'request lost' || fault === 'late' ? undefined : await call()
    if (fault === 'late' || fault === 'copied') this.delayed.push(call)
    const { between } = this
    this.between = undefined
    await between?.()
    if (fault === 'copied') return answer!
    if (fault === 'sent twice') return { ...(await call()), resent: true }
    throw new StoreUnavailableError('timeout', fault)
  }
}
