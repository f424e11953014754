import type { StateStore } from '../limiter'

/** A store that counts the calls it gets, as DynamoDB would bill them. */
export class CountingStore implements StateStore {
  calls = 0

  constructor(private readonly store: StateStore) {}

  async write(...args: Parameters<StateStore['write']>): ReturnType<StateStore['write']> {
    this.calls++
    return this.store.write(...args)
  }

  async read(...args: Parameters<StateStore['read']>): ReturnType<StateStore['read']> {
    this.calls++
    return this.store.read(...args)
  }

  async delete(...args: Parameters<StateStore['delete']>): ReturnType<StateStore['delete']> {
    this.calls++
    return this.store.delete(...args)
  }
}
