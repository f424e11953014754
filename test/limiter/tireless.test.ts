import { runs } from '../runs'
import { Fleet, seeded } from './fleet'

/** One client far over its limit, on random instances: the calls to the store, and the admitted requests. */
async function hammer(size: number, perSecond: number, seconds: number) {
  const fleet = new Fleet([{ name: 'own', limit: 20, window: '1s' }], size)
  const random = seeded(7)
  const from = fleet.now
  let allowed = 0
  for (let i = 0; i < perSecond * seconds; i++) {
    fleet.now = from + Math.floor((i * 1000) / perSecond)
    const { limiter } = fleet.instances[Math.floor(random() * size)]!
    if ((await limiter.take('client:tireless')).allowed) allowed++
  }
  const refused = fleet.instances.flatMap(({ events }) => events.filter(({ kind }) => kind === 'conflict')).length
  return { allowed, refused, writes: fleet.store.writes, reads: fleet.store.reads }
}

it('a client that never stops gets its full limit, and costs reads and not writes', async () => {
  const seconds = runs(2, 10)
  const { allowed, refused, writes, reads } = await hammer(20, 1000, seconds)
  expect(allowed).toBeGreaterThanOrEqual(20 * (seconds - 1))
  expect(writes).toBe(allowed + refused)
  // Without reads some 320 writes a second conflict; a read costs a fifth of a write.
  expect(refused).toBeLessThan(50 * seconds)
  expect(refused + reads / 5).toBeLessThan(120 * seconds)
})

it('a client that is only sometimes early costs no reads', async () => {
  const { refused, reads, allowed } = await hammer(20, 21, 30)
  expect(allowed).toBeGreaterThan(500)
  expect(reads).toBeLessThan(0.05 * allowed)
  expect(refused).toBeLessThan(0.2 * allowed)
})
