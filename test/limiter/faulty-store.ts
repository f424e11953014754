import { StoreUnavailableError } from '../../limiter/errors'
import type { StateStore } from '../../limiter/stores/store'

/**
 * What becomes of one call:
 * - `request lost`: the store never gets it. - `answer lost`: the store does, and the caller is not told.
 * - `late`: the caller gives up, and the store gets it at the next `arrive`. - `copied`: it is answered, and a copy of
 *   it arrives then.
 * - `sent twice`: as by a client's own retry: the store gets it twice, and the second answer is told.
 */
export type StoreFault = (typeof STORE_FAULTS)[number]
export const STORE_FAULTS = ['request lost', 'answer lost', 'late', 'copied', 'sent twice'] as const

/** A store whose calls meet faults, as planned; calls that are lost are so at once, so that no test waits for them. */
export class FaultyStore implements StateStore {
  /** Calls since the last `plan`. */
  calls = 0
  private fates: readonly (StoreFault | undefined)[] = []
  private between: (() => Promise<unknown>) | undefined
  private readonly travelling: (() => Promise<unknown>)[] = []

  constructor(private readonly inner: StateStore) {}

  /** @param between what happens just after the first call that meets a fault, before its caller goes on. */
  plan(fates: readonly (StoreFault | undefined)[], between?: () => Promise<unknown>): void {
    this.calls = 0
    this.fates = fates
    this.between = between
  }

  /** What is late reaches the store. */
  async arrive(): Promise<void> {
    for (const call of this.travelling.splice(0)) await call()
  }

  write: StateStore['write'] = (key, write) => this.meet(() => this.inner.write(key, write))
  read: StateStore['read'] = (key) => this.meet(() => this.inner.read(key))
  delete: StateStore['delete'] = (key, whileMarks) => this.meet(() => this.inner.delete(key, whileMarks))

  private async meet<T>(call: () => Promise<T>): Promise<T> {
    const fault = this.fates[this.calls++]
    if (fault === undefined) return call()
    const answer = fault === 'request lost' || fault === 'late' ? undefined : await call()
    if (fault === 'late' || fault === 'copied') this.travelling.push(call)
    const { between } = this
    this.between = undefined
    await between?.()
    if (fault === 'copied') return answer!
    if (fault === 'sent twice') return { ...(await call()), resent: true }
    throw new StoreUnavailableError('timeout', fault)
  }
}
