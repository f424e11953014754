/**
 * What is wrong with policies that stand in the code does not compile, nor do calls that these policies do not permit.
 * What is known only at run time compiles; test/policies and test/limiter have what is refused then. Checked by
 * `npm run typecheck`, with the compiler's messages, and never run.
 */
import {
  type AnyPolicyInput,
  createLimiter,
  type Limiter,
  type LimiterOf,
  type LimiterOptions,
  MemoryStore,
  type PolicyInput,
  type PolicyMistakes,
} from 'sluice/limiter'

const store = new MemoryStore()
declare const elsewhere: string
declare const isPaid: boolean
declare const maybe: string | undefined
declare const count: number | undefined

const minute = { name: 'minute', limit: 1, window: '1m' } as const
const day = { name: 'day', algorithm: 'fixed-window', limit: 1, window: 'day' } as const
const running = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1m' } as const
const tokens = { ...minute, name: 'tokens', cost: 'tokens' } as const
const delayed = { ...minute, name: 'delayed', action: 'delay' } as const
const widened = { name: 'minute', limit: 1, window: '1m' }
const windows: readonly PolicyInput[] = [day, widened]
const mixed: readonly AnyPolicyInput[] = [running, minute]
const listed = [minute, tokens] as const
const options: LimiterOptions = { store, policies: windows }

// What is known only at run time
createLimiter(options)
createLimiter({ store, policies: windows }).take('a', { costs: { tokens: 1 } })
createLimiter({ store, policies: mixed }).take('a')
createLimiter({ store, policies: mixed }).acquire('a')
createLimiter({ store, policies: [widened] })
createLimiter({ store, policies: [widened, { ...widened, name: 'b' }] })
createLimiter({ store, policies: [...windows, minute] }).take('a', { costs: { tokens: 1 } })
createLimiter({ store, policies: JSON.parse(elsewhere) }).acquire('a')
createLimiter({ store, policies: [JSON.parse(elsewhere)] }).take('a', { costs: { tokens: 1 } })
createLimiter({ store, policies: [{ ...minute, name: elsewhere, window: elsewhere }, minute] })
createLimiter({ store, policies: [{ ...running, timeout: elsewhere }] })
createLimiter({ store, policies: [{ ...delayed, maxDelay: elsewhere, blockFor: elsewhere }] })
createLimiter({
  store,
  policies: [
    { ...minute, name: `${elsewhere}-a` },
    { ...minute, name: `${elsewhere}-a` },
  ],
})
createLimiter({ store, policies: [{ ...minute, name: isPaid ? 'paid' : 'minute' }, minute] })
createLimiter({ store, policies: [{ ...day, algorithm: isPaid ? 'fixed-window' : 'gcra' }] })
const perhapsRunning = createLimiter({ store, policies: [minute, ...(isPaid ? [running] : [])] })
perhapsRunning.take('a')
perhapsRunning.acquire('a')
createLimiter({
  store,
  policies: [{ ...minute, cost: maybe, timezone: maybe, burst: count, blockFor: maybe, maxDelay: maybe }],
  hmacKey: maybe,
  namespace: maybe,
  deadlineMs: count,
})

// Durations
createLimiter({ store, policies: [day, { name: 'ms', limit: 1, window: '250ms' }] })
createLimiter({ store, policies: [{ ...delayed, maxDelay: '500ms' }, minute] })
// @ts-expect-error: "1 minute" is not a duration such as "30s", "1m", "12h" or "7d"
createLimiter({ store, policies: [{ name: 'a', limit: 1, window: '1 minute' }] })
createLimiter({
  store,
  policies: [
    { name: 'a', limit: 1, window: '1m' },
    // @ts-expect-error: "10sec" is not a duration
    { name: 'b', limit: 1, window: '10sec' },
  ],
})
// @ts-expect-error: "1 second" is not a duration
createLimiter({ store, policies: [{ ...delayed, maxDelay: '1 second' }] })
// @ts-expect-error: "day" is not a duration
createLimiter({ store, policies: [{ ...day, action: 'delay', maxDelay: 'day' }] })
// @ts-expect-error: "1 hour" is not a duration
createLimiter({ store, policies: [{ ...minute, blockFor: '1 hour' }] })
// @ts-expect-error: "1 minute" is not a duration
createLimiter({ store, policies: [{ ...running, timeout: '1 minute' }] })
// @ts-expect-error: window "day" needs algorithm "fixed-window", got "sliding-window"
createLimiter({ store, policies: [{ name: 'a', limit: 1, window: 'day' }] })
// @ts-expect-error: window "month" needs algorithm "fixed-window", got "gcra"
createLimiter({ store, policies: [{ name: 'a', algorithm: 'gcra', limit: 1, window: 'month' }] })

// Fields
createLimiter({ store, policies: [{ ...minute, algorithm: 'token-bucket', burst: 2 }] })
// @ts-expect-error: burst does not apply to algorithm "fixed-window"
createLimiter({ store, policies: [{ name: 'a', algorithm: 'fixed-window', limit: 1, window: '1m', burst: 2 }] })
// @ts-expect-error: buckets does not apply to algorithm "sliding-window"
createLimiter({ store, policies: [{ ...minute, buckets: 6 }] })
// @ts-expect-error: timeout does not apply to algorithm "sliding-window"
createLimiter({ store, policies: [{ ...minute, timeout: '1m' }] })
// @ts-expect-error: unknown field "brust"
createLimiter({ store, policies: [{ ...minute, brust: 2 }] })
// @ts-expect-error: Did you mean '"gcra"'?
createLimiter({ store, policies: [{ ...minute, algorithm: 'gcr' }] })
// @ts-expect-error: is missing the following properties from type 'ConcurrencyInput': algorithm, timeout
createLimiter({ store, policies: [{ name: 'a', limit: 1 }] })
// @ts-expect-error: Property 'timeout' is missing
createLimiter({ store, policies: [{ name: 'a', algorithm: 'concurrency', limit: 1 }] })
// @ts-expect-error: is not assignable to type 'AnyPolicyInput'
createLimiter({ store, policies: [{ ...running, window: '1m' }] })
// @ts-expect-error: is not assignable to type 'AnyPolicyInput'
createLimiter({ store, policies: [{ ...running, action: 'delay' }] })
// @ts-expect-error: Did you mean to write 'policies'?
createLimiter({ store, policis: [minute] })

// Lists
// @ts-expect-error: policies must have at least one policy, got none
createLimiter({ store, policies: [] })
// @ts-expect-error: name must be unique, and two policies are "minute"
createLimiter({ store, policies: [minute, minute] })
createLimiter({
  store,
  policies: [
    // @ts-expect-error: name must be unique, and two policies are "a"
    { name: 'a', limit: 1, window: '1m' },
    minute,
    // @ts-expect-error: name must be unique, and two policies are "a"
    { name: 'a', limit: 1, window: '1h' },
  ],
})
const wrong = { name: 'a', limit: 1, window: '1 minute' } as const
// @ts-expect-error: "1 minute" is not a duration
createLimiter({ store, policies: [minute, wrong] })
const wrongList = [minute, { ...wrong, window: '2 minutes' }] as const satisfies readonly AnyPolicyInput[]
// @ts-expect-error: "2 minutes" is not a duration
createLimiter({ store, policies: wrongList })

// Costs
const counting = createLimiter({ store, policies: listed })
counting.take('a', { costs: { tokens: 1 }, reserve: '2m' })
// @ts-expect-error: Did you mean to write 'tokens'?
counting.take('a', { costs: { tokns: 1 } })
// @ts-expect-error: 'bytes' does not exist in type '{ readonly tokens?: number; }'
counting.waitFor('a', { costs: { bytes: 1 } })
// @ts-expect-error: Did you mean to write 'tokens'?
counting.settle('a', { costs: { tokns: 1 } })
// @ts-expect-error: Did you mean to write 'tokens'?
counting.meter('a').debit({ costs: { tokns: 1 } })
// @ts-expect-error: Did you mean to write 'tokens'?
counting.refund('a', 1, { costs: { tokns: 1 } })
// @ts-expect-error: Did you mean to write 'tokens'?
counting.takeAll([{ subject: 'a', costs: { tokns: 1 } }])
// @ts-expect-error: Type '"hour"' is not assignable to type '"minute" | "tokens"'
counting.takeAll([{ subject: 'a', policies: ['hour'] }])
// @ts-expect-error: 'tokens' does not exist in type 'ReserveOptions<"tokens">'
counting.take('a', { tokens: 5 })
// @ts-expect-error: Type '"2 minutes"' is not assignable to type '`${number}ms`
counting.take('a', { reserve: '2 minutes' })
// @ts-expect-error: 'reserve' does not exist in type 'TakeOptions<"tokens">'
counting.peek('a', { reserve: '2m' })
// @ts-expect-error: no policy of this limiter has a `cost`
createLimiter({ store, policies: [minute] }).take('a', { costs: { tokens: 1 } })
counting.take('a', { cost: count, costs: undefined, reserve: isPaid ? '2m' : undefined })

// Decisions
export async function remaining(): Promise<number | undefined> {
  const { policies } = await counting.take('a')
  // @ts-expect-error: Did you mean 'tokens'?
  policies.tokns
  // @ts-expect-error: 'policies.tokens' is possibly 'undefined'
  policies.tokens.remaining
  return policies.tokens?.remaining
}

// Running requests
const slots = createLimiter({ store, policies: [running, minute] })
slots.acquire('a', { reserve: '2m' }).then((slot) => slot.release())
// @ts-expect-error: take does not go with a policy that counts running requests: call acquire
slots.take('a')
// @ts-expect-error: waitFor does not go with a policy that counts running requests: call acquire
slots.waitFor('a')
// @ts-expect-error: takeAll does not go with a policy that counts running requests: call acquire
slots.takeAll([{ subject: 'a' }])
// @ts-expect-error: acquire needs a policy with algorithm "concurrency", got none: call take
counting.acquire('a')

// Any limiter
const plain = (limiter: Limiter): Promise<unknown> =>
  limiter.countsRunning ? limiter.acquire('a') : limiter.take('a', { costs: { [elsewhere]: 1 } })
export const charge = <Any extends Limiter>(limiter: Any): Promise<unknown> => limiter.peek('a')
for (const limiter of [slots, counting, createLimiter({ store, policies: [minute] })]) {
  plain(limiter)
  charge(limiter)
}
export const named: Limiter<'minute' | 'tokens', 'tokens', false> = counting

// A function that makes limiters as `createLimiter` does
const made = <const Policies extends readonly AnyPolicyInput[]>(
  policies: Policies & PolicyMistakes<Policies>,
): LimiterOf<Policies> => createLimiter<Policies>({ store, policies })
made([tokens]).take('a', { costs: { tokens: 1 } })
// @ts-expect-error: burst does not apply to algorithm "sliding-window"
made([{ ...minute, burst: 2 }])
