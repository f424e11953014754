import type { Limiter, PolicyInput } from '../../limiter'
import { answerParent } from '../answer'
import { mixedSet, windowSet } from '../policies'
import type { Product } from '../product'

/** What the bench asks of this process: to make a limiter, then what a number of its calls cost. */
export type OverheadQuestion =
  | { readonly id: number; readonly ask: 'limiter'; readonly product: string; readonly arm: Arm }
  | { readonly id: number; readonly ask: 'cpu' | 'garbage'; readonly calls: number }

export interface Arm {
  /** A denial known from memory, or a charge in a `MemoryStore`. */
  readonly call: 'cached denial' | 'charge'
  readonly policies: 1 | 4 | 30
}

/** So many, asked in turn, that the one log of thirty policies, ten a second, denies none of them. */
const SUBJECTS = 2000
/** A denial is read again when it is no longer trusted; here it stays known until the bench ends. */
const TRUSTED_MS = 600_000
const keys = Array.from({ length: SUBJECTS }, (_, i) => `client:${i}`)
let limiter: Limiter
let isDenied = false
let next = 0

/** One kind of call in a process of its own, so that no other one shapes what the engine optimizes. */
answerParent<OverheadQuestion>(async (question) => {
  if (question.ask === 'limiter') return prepare(question.product, question.arm)
  if (question.ask === 'cpu') {
    const start = process.cpuUsage()
    await run(question.calls)
    const { user, system } = process.cpuUsage(start)
    return (user + system) / question.calls
  }
  // not after a full collection, which throws optimized code away: other code leaves a third more
  const before = process.memoryUsage().heapUsed
  await run(question.calls)
  return (process.memoryUsage().heapUsed - before) / question.calls
})

/** The second limit of four denies, as in the table of calls per denial; its window is so long that none ends. */
async function prepare(product: string, { call, policies: count }: Arm): Promise<void> {
  const { createLimiter, MemoryStore } = require(product) as Product
  isDenied = call === 'cached denial'
  const policies: PolicyInput[] = count === 30 ? mixedSet(30) : windowSet(count)
  if (isDenied) policies[policies.length === 1 ? 0 : 1] = { name: 'denies', limit: 20, window: '30d' }
  const options = { onStoreError: 'throw', deadlineMs: 10_000, denialTtlMs: TRUSTED_MS } as const
  limiter = createLimiter({ store: new MemoryStore(), policies, ...options })
  if (isDenied) for (const key of keys) for (let i = 0; i < 20; i++) await limiter.take(key)
}

async function run(calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) {
    const { allowed } = await limiter.take(keys[next++ % SUBJECTS]!)
    if (allowed === isDenied)
      throw new Error(`a request was ${allowed ? 'allowed' : 'denied'} that should not have been`)
  }
}
