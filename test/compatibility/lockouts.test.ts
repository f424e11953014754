import { MemoryStore, type PolicyInput } from '../../limiter'
import { type Library, NEW } from '../model/simulation'
import { OLD } from './old-library'

const [NOW, FOR_MS] = [1_763_683_200_000, 900_000]
const LOGIN: PolicyInput = { name: 'login', algorithm: 'fixed-window', limit: 2, window: '1m', blockFor: '15m' }

it.each([
  ['old', 'new', OLD, NEW],
  ['new', 'old', NEW, OLD],
])('whom the %s instance locks out, the %s one refuses for as long', async (_one, _other, first, second) => {
  const store = new MemoryStore()
  let now = NOW
  const decide = (library: Library) => {
    const policies = library.compileAll([LOGIN])
    const limiter = library.makeLimiter({ store, clock: () => now })
    return limiter.decide([{ key: 'a', policies, cost: 1 }])
  }
  expect([(await decide(first)).allowed, (await decide(second)).allowed]).toEqual([true, true])
  expect(await decide(first)).toMatchObject({ allowed: false, lockedOut: true, retryAfterMs: FOR_MS })
  for (const laterMs of [0, 60_000, FOR_MS - 1]) {
    now = NOW + laterMs
    expect(await decide(second)).toMatchObject({ allowed: false, lockedOut: true, retryAfterMs: FOR_MS - laterMs })
  }
  now = NOW + FOR_MS
  expect(await decide(second)).toMatchObject({ allowed: true, remaining: 1 })
  expect(await decide(first)).toMatchObject({ allowed: true, remaining: 0 })
})
