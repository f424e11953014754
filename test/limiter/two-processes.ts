import type { CompiledPolicy } from '../../limiter/compiled-policy'
import type { Deadline } from '../../limiter/deadline'
import { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import type { SubjectItemsOptions } from '../../limiter/items'
import type { LimiterEvent } from '../../limiter/options'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { ItemWrite, StateStore } from '../../limiter/stores/store'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

export const T = MIDNIGHT + 3_600_000
export const fixed = (name: string, limit: number, more: object = {}) =>
  compiled({ name, algorithm: 'fixed-window', limit, window: '1m', ...more } as never)
export const minute = fixed('minute', 10)
export const day = fixed('day', 10, { window: '1d' })
export const watched = fixed('watched', 2, { action: 'observe' })
export const recording = compiled({ name: 'log', algorithm: 'sliding-log', limit: 2, window: '1m', countDenied: true })
export const pace = compiled({ name: 'pace', algorithm: 'gcra', limit: 100, window: '10s' })

/** The outcome of a call of ours: something happens before it, its answer is lost, or it fails. */
interface Fate {
  readonly before?: () => unknown
  readonly lost?: boolean
  readonly error?: Error
}

/** A take items, and one of another process on the same store in memory, whose calls are not counted. */
export function world(policies: readonly CompiledPolicy[] = minute, more: Partial<SubjectItemsOptions> = {}) {
  const world = { now: T, theirClock: 0, reads: 0 }
  const memory = new MemoryStore()
  const [writes, events, plan] = [[] as ItemWrite[], [] as LimiterEvent[], [] as Fate[]]
  async function meet<O>(call: () => Promise<O>): Promise<O> {
    const { before, lost, error } = plan.shift() ?? {}
    await before?.()
    if (error) throw error
    const answer = await call()
    if (lost) throw new StoreUnavailableError('timeout', 'lost')
    return answer
  }
  const store: StateStore = {
    write(key, write) {
      writes.push(write)
      return meet(() => memory.write(key, write))
    },
    read(key) {
      world.reads++
      return meet(() => memory.read(key))
    },
    delete: (key, marks) => meet(() => memory.delete(key, marks)),
  }
  const options = { deadlineMs: 20_000, firstDeadlineMs: 20_000, denialTtlMs: 5000, maxSubjects: 100, ...more }
  jest.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0.5) // each draws its own idempotency mark
  const items = new Decider({ ...options, store, clock: () => world.now, onEvent: (event) => events.push(event) })
  const theirs = new Decider({
    ...options,
    store: memory,
    clock: () => world.now + world.theirClock,
    onEvent: () => {},
  })
  const decide = async (...costs: number[]) => {
    const answers = await items.decideBatch({ key: 'k', policies, requests: costs.map((cost) => ({ cost })) })
    expect(Object.keys(answers)).toEqual(Object.keys(costs)) // each request is answered, and nothing else
    return answers
  }
  const other = {
    take: (cost = 1, of = policies) => theirs.decideBatch({ key: 'k', policies: of, requests: [{ cost: cost }] }),
    /** The remaining units of each policy in the store. */
    left: async () => (await theirs.peek({ key: 'k', policies, cost: 0 })).map(({ remaining }) => remaining),
    reset: () => theirs.reset('k'),
  }
  /** The number of writes and reads since the last call. */
  const calls = () => {
    const told = [writes.length, world.reads]
    writes.length = world.reads = 0
    return told
  }
  return Object.assign(world, { memory, items, theirs, other, decide, writes, events, plan, calls, policies })
}
export const failed = (reason: StoreUnavailableError['reason']) => new StoreUnavailableError(reason, reason)
export const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: StoreUnavailableError) => `${error.reason}: ${error.message}`,
  )
/** A deadline with so many milliseconds left, which does not move on. */
export const frozenDeadline = (leftMs: number) =>
  ({ leftMs, bound: (_: number, call: () => unknown) => call() }) as unknown as Deadline
export const CONTENTION = 'contention: others kept changing the subject until the deadline'
