import { seeded } from '../../bench/random'
import { VirtualTime } from '../../bench/virtual-time'
import { createLimiter, type Decision, type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import type { StateStore } from '../../limiter/stores/store'
import { MIDNIGHT } from './limiters'

/** How far processes are from the store: milliseconds there and back. */
type Distance = 'jitter' | 'near and far'

export interface Setup {
  readonly policies: readonly PolicyInput[]
  readonly processes: number
  readonly forMs: number
  readonly distance?: Distance
  /** Requests that each process has waiting at any time. @default 10 */
  readonly waiting?: number
  /** From when a request passed until its place is taken by another, in milliseconds. @default 10 */
  readonly pauseMs?: number
  readonly subjects?: readonly string[]
  readonly cost?: number
  /** How far clocks are off, at most, in milliseconds. @default 0 */
  readonly skewMs?: number
  readonly lagMs?: number
  /** Every so many requests, one is aborted 300 ms after it came. */
  readonly abortEvery?: number
  readonly options?: Partial<LimiterOptions>
  /** Virtual milliseconds from which on, and until which, the store fails. */
  readonly outage?: { readonly from: number; readonly until: number }
}

/** A request that passed. */
interface Passed {
  readonly process: number
  readonly subject: string
  /** When its wait began, when it was resolved, and its turn by the clock that charged it; since the start. */
  readonly from: number
  readonly at: number
  readonly turn: number
  readonly decision: Decision
}

const NEAREST_MS = 3
const FARTHEST_MS = 30

/** Several processes on one store, each with requests that wait all the time, in virtual time. */
export async function runProcesses(setup: Setup, seed = 1) {
  const { policies, processes, forMs, distance = 'jitter', waiting = 10, subjects = ['vendor'], cost = 1 } = setup
  const { skewMs = 0, lagMs, pauseMs = 10, abortEvery = Infinity, options, outage } = setup
  let requestsMade = 0
  const time = new VirtualTime(MIDNIGHT)
  const random = seeded(seed + 77)
  const uninstall = time.install(seed)
  const memory = new MemoryStore()
  const passed: Passed[] = []
  const errors: { readonly at: number; readonly error: unknown }[] = []
  const answers: { readonly process: number; readonly at: number }[] = []
  let calls = 0
  const isAway = () => outage && time.sinceStart >= outage.from && time.sinceStart < outage.until
  const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const tripMs = (process: number) =>
    distance === 'jitter'
      ? NEAREST_MS + (FARTHEST_MS - NEAREST_MS) * random()
      : (NEAREST_MS + (FARTHEST_MS - NEAREST_MS) * (process / (processes - 1))) * (0.9 + 0.2 * random())
  const storeOf = (process: number): StateStore => {
    const far = async <T>(call: () => Promise<T>): Promise<T> => {
      calls++
      const ms = tripMs(process)
      await after(ms / 2)
      if (isAway()) {
        throw new StoreUnavailableError('unreachable', 'away')
      }
      const answer = await call()
      await after(ms / 2)
      answers.push({ process, at: time.sinceStart })
      return answer
    }
    return {
      write: (key, write) => far(() => memory.write(key, write)),
      read: (key) => far(() => memory.read(key)),
      delete: (key, marks) => far(() => memory.delete(key, marks)),
    }
  }
  try {
    for (let process = 0; process < processes; process++) {
      const offMs = skewMs * (2 * random() - 1)
      const clock = () => Date.now() + offMs
      const store = storeOf(process)
      const limiter = createLimiter({ store, policies, clock, onStoreError: 'throw', deadlineMs: 5000, ...options })
      const requests = subjects.flatMap((subject) => Array.from({ length: waiting }, () => subject))
      for (const subject of requests) {
        void (async () => {
          for (;;) {
            const from = time.sinceStart
            try {
              const aborter = abortEvery < Infinity ? new AbortController() : undefined
              if (++requestsMade % abortEvery === 0) setTimeout(() => aborter?.abort(new Error('aborted')), 300)
              const decision = await limiter.waitFor(subject, { cost, lagMs, signal: aborter?.signal })
              if (!decision.allowed) continue
              const turn = (decision.chargedAt ?? 0) + decision.delayMs - MIDNIGHT
              passed.push({ process, subject, from, at: time.sinceStart, turn, decision })
            } catch (error) {
              errors.push({ at: time.sinceStart, error })
              await after(100)
            }
            await after(pauseMs)
          }
        })()
      }
    }
    await time.runUntil(forMs)
    return { passed, answers, errors, calls }
  } finally {
    uninstall()
  }
}

/** The most of these moments that any interval of so many milliseconds has, wherever it begins. */
export function mostWithin(moments: readonly number[], ms: number): number {
  const sorted = [...moments].sort((a, b) => a - b)
  let [most, first] = [0, 0]
  for (const [last, at] of sorted.entries()) {
    while (sorted[first]! <= at - ms) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
