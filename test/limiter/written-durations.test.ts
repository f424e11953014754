import {
  type AnyPolicyInput,
  ConfigError,
  createLimiter,
  type LimiterOptions,
  MemoryStore,
  type PolicyInput,
} from '../../limiter'

const store = new MemoryStore()

/** `npx tsc --noEmit` checks the lines that must not compile. */
describe('a window of a policy', () => {
  it.each([
    // @ts-expect-error
    () => createLimiter({ store, policies: [{ name: 'a', limit: 1, window: '1 minute' }] }),
    () =>
      createLimiter({
        store,
        policies: [
          { name: 'a', limit: 1, window: '1m' },
          // @ts-expect-error
          { name: 'b', limit: 1, window: '10sec' },
        ],
      }),
  ])('that is none does not compile where it stands in the code, and is refused', (make) => {
    expect(make).toThrow(ConfigError)
  })

  it('compiles where it is one, and where it comes from elsewhere as a string or a list', () => {
    const day = { name: 'day', algorithm: 'fixed-window', limit: 1, window: 'day' } as const
    const widened = { name: 'minute', limit: 1, window: '1m' }
    const listed: readonly PolicyInput[] = [day, widened]
    const options: LimiterOptions = { store, policies: listed }
    const read = JSON.parse('[{ "name": "minute", "limit": 1, "window": "1m" }]')
    for (const make of [
      () => createLimiter({ store, policies: [day, { name: 'ms', limit: 1, window: '250ms' }] }),
      () => createLimiter({ store, policies: [widened] }),
      () => createLimiter({ store, policies: listed }),
      () => createLimiter(options),
      () => createLimiter({ store, policies: read }),
    ])
      expect(make).not.toThrow()
  })
})

describe('the longest delay of a policy', () => {
  const policy = { name: 'a', action: 'delay', limit: 1, window: '1m' } as const

  it.each([
    // @ts-expect-error
    () => createLimiter({ store, policies: [{ ...policy, maxDelay: '1 second' }] }),
    () =>
      createLimiter({
        store,
        policies: [
          { ...policy, maxDelay: '500ms' },
          // @ts-expect-error
          { ...policy, name: 'b', maxDelay: '1sec' },
        ],
      }),
    // @ts-expect-error
    () => createLimiter({ store, policies: [{ ...policy, window: 'day', maxDelay: 'day' }] }),
  ])('that is no duration does not compile where it stands in the code, and is refused', (make) => {
    expect(make).toThrow(ConfigError)
  })

  it('compiles where it is one, where there is none, and where it comes from elsewhere as a string', () => {
    const widened = { ...policy, name: 'widened', maxDelay: '2s' }
    const listed: readonly PolicyInput[] = [widened]
    for (const make of [
      () =>
        createLimiter({
          store,
          policies: [
            { ...policy, maxDelay: '500ms' },
            { name: 'c', limit: 1, window: '1h' },
          ],
        }),
      () => createLimiter<'1m'>({ store, policies: [policy] }),
      () => createLimiter({ store, policies: [policy, widened] }),
      () => createLimiter({ store, policies: listed }),
    ])
      expect(make).not.toThrow()
  })
})

describe('the timeout of a policy on running requests', () => {
  it.each([
    // @ts-expect-error
    () => createLimiter({ store, policies: [{ name: 'a', algorithm: 'concurrency', limit: 1, timeout: '1 minute' }] }),
    // @ts-expect-error
    () => createLimiter({ store, policies: [{ name: 'a', algorithm: 'concurrency', limit: 1 }] }),
    () =>
      createLimiter({
        store,
        // @ts-expect-error
        policies: [{ name: 'a', algorithm: 'concurrency', limit: 1, timeout: '1m', window: '1m' }],
      }),
    () =>
      createLimiter({
        store,
        // @ts-expect-error
        policies: [{ name: 'a', algorithm: 'concurrency', limit: 1, timeout: '1m', action: 'delay' }],
      }),
    // @ts-expect-error
    () => createLimiter({ store, policies: [{ name: 'a', limit: 1, window: '1m', timeout: '1m' }] }),
  ])('that is no duration does not compile, nor one beside a window', (make) => {
    expect(make).toThrow(ConfigError)
  })

  it('compiles where it is one, beside policies with windows, and where it comes from elsewhere', () => {
    const window = { name: 'minute', limit: 1, window: '1m' } as const
    const running = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1m' } as const
    const listed: readonly AnyPolicyInput[] = [running, window]
    const elsewhere: string = '1m'
    for (const make of [
      () => createLimiter({ store, policies: [running, window] }),
      () => createLimiter({ store, policies: [{ ...running, timeout: elsewhere }] }),
      () => createLimiter({ store, policies: listed }),
    ])
      expect(make).not.toThrow()
  })
})
