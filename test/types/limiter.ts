/**
 * Durations of policies: wrong ones that stand in the code do not compile, those that come from elsewhere as a string
 * do. Checked by `npm run typecheck`, and never run; test/policies has what is refused at run time.
 */
import { type AnyPolicyInput, createLimiter, type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'

const store = new MemoryStore()
const elsewhere: string = '1m'

// A window
const day = { name: 'day', algorithm: 'fixed-window', limit: 1, window: 'day' } as const
const widened = { name: 'minute', limit: 1, window: '1m' }
const windows: readonly PolicyInput[] = [day, widened]
const options: LimiterOptions = { store, policies: windows }

createLimiter({ store, policies: [day, { name: 'ms', limit: 1, window: '250ms' }] })
createLimiter({ store, policies: [widened] })
createLimiter({ store, policies: windows })
createLimiter(options)
createLimiter({ store, policies: JSON.parse('[{ "name": "minute", "limit": 1, "window": "1m" }]') })
// @ts-expect-error: no duration
createLimiter({ store, policies: [{ name: 'a', limit: 1, window: '1 minute' }] })
createLimiter({
  store,
  policies: [
    { name: 'a', limit: 1, window: '1m' },
    // @ts-expect-error: no duration, in a list with one
    { name: 'b', limit: 1, window: '10sec' },
  ],
})

// The longest delay
const delayed = { name: 'a', action: 'delay', limit: 1, window: '1m' } as const
const delayedElsewhere = { ...delayed, name: 'widened', maxDelay: '2s' }
const delays: readonly PolicyInput[] = [delayedElsewhere]

createLimiter({
  store,
  policies: [
    { ...delayed, maxDelay: '500ms' },
    { name: 'c', limit: 1, window: '1h' },
  ],
})
createLimiter<'1m'>({ store, policies: [delayed] })
createLimiter({ store, policies: [delayed, delayedElsewhere] })
createLimiter({ store, policies: delays })
// @ts-expect-error: no duration
createLimiter({ store, policies: [{ ...delayed, maxDelay: '1 second' }] })
createLimiter({
  store,
  policies: [
    { ...delayed, maxDelay: '500ms' },
    // @ts-expect-error: no duration, in a list with one
    { ...delayed, name: 'b', maxDelay: '1sec' },
  ],
})
// @ts-expect-error: a unit of the calendar is no duration
createLimiter({ store, policies: [{ ...delayed, window: 'day', maxDelay: 'day' }] })

// The timeout of a policy on running requests
const window = { name: 'minute', limit: 1, window: '1m' } as const
const running = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1m' } as const
const mixed: readonly AnyPolicyInput[] = [running, window]

createLimiter({ store, policies: [running, window] })
createLimiter({ store, policies: [{ ...running, timeout: elsewhere }] })
createLimiter({ store, policies: mixed })
// @ts-expect-error: no duration
createLimiter({ store, policies: [{ name: 'a', algorithm: 'concurrency', limit: 1, timeout: '1 minute' }] })
// @ts-expect-error: it is missing
createLimiter({ store, policies: [{ name: 'a', algorithm: 'concurrency', limit: 1 }] })
// @ts-expect-error: beside a window
createLimiter({ store, policies: [{ ...running, window: '1m' }] })
// @ts-expect-error: beside an action
createLimiter({ store, policies: [{ ...running, action: 'delay' }] })
// @ts-expect-error: of another algorithm
createLimiter({ store, policies: [{ name: 'a', limit: 1, window: '1m', timeout: '1m' }] })
