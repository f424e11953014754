import { MemoryStore, type PolicyInput } from '../../limiter'
import { type Library, NEW } from '../model/simulation'
import { OLD } from './old-library'

const [NOW, FOR_MS] = [1_763_683_200_000, 900_000]
const counted: PolicyInput = { name: 'login', algorithm: 'fixed-window', limit: 2, window: '1m' }
const locking: PolicyInput = { ...counted, blockFor: '15m' }

it('an old instance does not know lock-outs: it admits whom the quota admits, and a new one still refuses them', async () => {
  const store = new MemoryStore()
  let now = NOW
  const decide = (library: Library, policy: PolicyInput) => {
    const policies = library.compileAll([policy])
    const limiter = library.makeLimiter({ store, clock: () => now })
    return limiter.decide([{ key: 'a', policies, cost: 1 }])
  }
  await decide(OLD, counted)
  await decide(NEW, locking)
  expect(await decide(OLD, counted)).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
  expect(await decide(NEW, locking)).toMatchObject({ allowed: false, retryAfterMs: FOR_MS, lockedOut: true })

  now += 60_000
  expect((await decide(NEW, locking)).allowed).toBe(false)
  expect(await decide(OLD, counted)).toMatchObject({ allowed: true, remaining: 1 })
  expect(await decide(NEW, locking)).toMatchObject({ allowed: false, lockedOut: true })

  now = NOW + FOR_MS
  expect((await decide(OLD, counted)).allowed).toBe(true)
  expect(await decide(NEW, locking)).toMatchObject({ allowed: true, remaining: 0 })
})

it('an old configuration refuses a policy that locks out, whose last valid version stays in force', () => {
  expect(() => OLD.compileAll([locking])).toThrow('unknown field "blockFor"')
})
