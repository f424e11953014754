import type { Authorize } from './authorizer'
import type { AuthorizerPool } from './authorizer-pool'

/** Instances that can all be replaced by new ones, as by a new deployment of a function. */
export interface ReplaceablePool {
  readonly authorize: Authorize
  /**
   * Starts new instances. Requests that begin after this has returned are decided by them; the old ones finish those
   * under way. If the new ones do not start, the old ones stay, and the reason is thrown.
   */
  replace(): Promise<void>
  /** Ends all instances, whatever they are doing. */
  stop(): Promise<void>
}

/** @param start starts instances, and returns when they are ready. */
export async function createReplaceablePool(start: () => Promise<AuthorizerPool>): Promise<ReplaceablePool> {
  let current = await start()
  const running = new Set([current])
  return {
    authorize: (event) => current.authorize(event),

    async replace() {
      const next = await start()
      const last = current
      running.add(next)
      current = next
      last.retire().then(
        () => running.delete(last),
        () => {},
      )
    },

    async stop() {
      await Promise.all([...running].map((pool) => pool.stop()))
    },
  }
}
