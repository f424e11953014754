import { daily, idle, withLease, world } from './leasing'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

afterEach(() => jest.restoreAllMocks())

describe('a unit spent from a lease', () => {
  it('has the chargedAt of its lease, and is refunded to the lease by it', async () => {
    const one = await withLease()
    const held = await one.held()
    one.now += 5
    const [verdict] = await one.take(3)
    expect(verdict!.chargedAt).toBeLessThan(one.now)
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 3 }, { at: verdict!.chargedAt! })
    expect([one.back, await one.held()]).toEqual([[], held])
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 1 }, { at: verdict!.chargedAt! - 1 })
    expect(one.back.map(({ units }) => units)).toEqual([1])
  })

  it('is refunded to the store while the next lease is on its way, which replaces the present one', async () => {
    const one = await withLease()
    const [verdict] = await one.take(await one.held())
    let arrive = () => {}
    one.delayed = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const next = one.take()
    await idle()
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 2 }, { at: verdict!.chargedAt! })
    expect(one.back.map(({ units }) => units)).toEqual([2])
    arrive()
    await next
  })

  it('is refunded once: what returns after the lease is empty goes to the store on close', async () => {
    const one = await withLease()
    const used = await one.used()
    const [verdict] = await one.take(await one.held())
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 5 }, { at: verdict!.chargedAt! })
    await one.leases.close()
    expect([one.back.map(({ units }) => units), await one.used()]).toEqual([[5], used - 5])
  })
})

describe('a lease of several policies', () => {
  it('that one policy allows without a charge is held for the others, and returned to them alone', async () => {
    const watched = daily(100_000, { name: 'watched', action: 'observe' })
    const one = await withLease([...daily(100_000), ...watched])
    await one.take(await one.held())
    // The instance has not seen this charge.
    await one.others.decideBatch({ key: 'k', policies: watched, requests: [{ cost: 100_000 - (await one.used()) }] })
    const [charged, passed] = await one.take(8)
    expect([charged!.exceeded, passed!.exceeded]).toEqual([undefined, 'observe'])
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 6 }, { at: charged!.chargedAt! })
    const [held, used] = [await one.held(), await one.used()]
    expect(held).toBe(6)
    await one.leases.close()
    expect(one.back.map(({ units, policies }) => [units, policies])).toEqual([[held, 1]])
    expect([await one.used(), (await one.others.peek({ key: 'k', policies: watched, cost: 0 }))[0]!.remaining]).toEqual(
      [used - held, 0],
    )
  })

  it('ends with the shortest of their windows', async () => {
    const both = [
      ...daily(100_000),
      ...compiled({ name: 'minute', algorithm: 'fixed-window', limit: 50_000, window: '1m', consistency: 'leased' }),
    ]
    const one = await withLease(both)
    one.now = MIDNIGHT + 60_000
    one.taken.length = 0
    await one.take()
    expect(one.taken).toHaveLength(1)
  })
})

describe('a busy instance, while there is enough for all until the window ends,', () => {
  const counted = (name: string) =>
    compiled({ name, algorithm: 'fixed-window', limit: 18_000, window: '1m', consistency: 'leased' })
  const [minute, other] = [counted('minute'), counted('other')]

  /** The size of its lease after 300 units, one in each millisecond, while others charge so many in each. */
  async function lease(others: number, of = minute, theirs = of) {
    const one = world(of)
    one.now = MIDNIGHT + 40_000
    for (let i = 0; i < 300; i++) {
      one.now++
      await one.take()
      if (others > 0) await one.others.decideBatch({ key: 'k', policies: theirs, requests: [{ cost: others }] })
    }
    await one.take((await one.held()) + 1)
    return one.taken.at(-1)!
  }

  it('leases all that it has spent lately, as its own charges are not mistaken for those of others', async () => {
    expect(await lease(0)).toBeGreaterThan(250)
  })

  it('leases a quarter of that if other instances charge more', async () => {
    expect(await lease(8)).toBeLessThan(100)
  })

  it('goes by the policy that other instances charge most', async () => {
    expect(await lease(8, [...minute, ...other], other)).toBeLessThan(100)
  })
})
