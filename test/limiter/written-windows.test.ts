import { ConfigError, createLimiter, type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'

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
