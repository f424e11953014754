import { type Authorize, AuthorizerError } from './authorizer'
import { AuthorizerInstance, type InstanceOptions } from './authorizer-instance'

/** A pool of function instances, as many as Lambda could run at a time. */
export interface AuthorizerPool {
  readonly authorize: Authorize
  /**
   * Passes one event to each instance, and returns their answers; rejects with the first failure. To be called before
   * there are requests.
   */
  warmUp(event: object): Promise<unknown[]>
  /** Ends the instances when they have answered their events. To be called when no more requests come. */
  retire(): Promise<void>
  /** Ends all instances, whatever they are doing. */
  stop(): Promise<void>
}

/** Requests that may wait for an instance. Further ones are throttled, as Lambda does. */
const MAX_WAITING = 10_000

/**
 * Instances are used in turn, so that a caller reaches all of them, as in Lambda; requests beyond their number are
 * queued.
 */
export function createAuthorizerPool(instances: number, options: InstanceOptions): AuthorizerPool {
  const all = Array.from({ length: instances }, () => new AuthorizerInstance(options))
  const idle = [...all]
  const waiting: ((instance: AuthorizerInstance) => void)[] = []

  function acquire(): Promise<AuthorizerInstance> {
    const instance = idle.shift()
    if (instance !== undefined) return Promise.resolve(instance)
    if (waiting.length >= MAX_WAITING) return Promise.reject(new AuthorizerError('Rate Exceeded.'))
    return new Promise((resolve) => waiting.push(resolve))
  }

  function release(instance: AuthorizerInstance): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(instance)
    else next(instance)
    if (idle.length === all.length) allIdle()
  }

  let allIdle = () => {}
  const stop = async () => void (await Promise.all(all.map((instance) => instance.stop())))

  return {
    async authorize(event) {
      const instance = await acquire()
      try {
        return await instance.invoke(event)
      } finally {
        release(instance)
      }
    },

    warmUp: (event) => Promise.all(all.map((instance) => instance.invoke(event))),

    async retire() {
      if (idle.length < all.length) {
        await new Promise<void>((resolve) => {
          allIdle = resolve
        })
      }
      await stop()
    },

    stop,
  }
}
