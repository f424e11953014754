import { Nearness } from '../../../cli/simulate/report/nearness'
import type { LoggedRequest } from '../../../cli/simulate/requests/logged-request'
import { sharedTargets } from '../../../cli/simulate/requests/shared'
import { replay, setOf } from './replayed'

describe('nearness', () => {
  it.each([
    [1000, 0.12, 0.92],
    [200_000, 0.12, 0.92],
  ])('quantiles of %d requests do not depend on which came last', (most, low, high) => {
    const [one, other] = [new Nearness(), new Nearness()]
    for (let i = 0; i < most; i++) one.add(0.11)
    for (let i = 0; i < most; i++) [one, other][i % 2]!.add(0.91)
    for (let i = 0; i < most; i++) other.add(0.91)
    for (let i = 0; i < most; i++) other.add(0.11)
    expect([0.01, 0.5, 0.66, 0.67, 1].map((part) => one.quantile(part))).toEqual([low, low, low, 0.91, 0.91])
    expect(other.quantile(0.39)).toBe(low)
    expect(other.quantile(0.41)).toBe(Math.min(high, other.peak))
  })
})

describe('a client in several tiers', () => {
  const set = setOf(`
tiers:
  anonymous: { policies: [] }
  free: { policies: [{ name: all, limit: 9, window: 1m }] }
  pro: { policies: [{ name: all, limit: 9, window: 1m }] }
`)
  const request = (i: number, tier: string): LoggedRequest => ({
    at: 1_800_000_000_000 + i,
    wholeSecond: false,
    sender: SENDERS[tier]!,
    target: { method: 'GET', path: '/' },
  })
  const SENDERS: Record<string, LoggedRequest['sender']> = {
    free: { client: 'acme', tier: 'free' },
    pro: { client: 'acme', tier: 'pro' },
  }

  it('is listed with that of its last request, whatever is remembered of it', async () => {
    const { simulation } = await replay(
      ['free', 'pro', 'free'].map((tier, i) => request(i, tier)),
      set,
    )
    expect([...simulation.sides[0].tally.clients.values()]).toMatchObject([{ client: 'client:acme', tier: 'free' }])
  })
})

it('targets whose paths are long are forgotten sooner than others', () => {
  const kept = (length: number) => {
    const targets = sharedTargets()
    const first = targets.of({ path: 'first' })
    for (let i = 0; i < 30_000; i++) targets.of({ path: String(i).padStart(length, '/') })
    return targets.of({ path: 'first' }) === first
  }
  expect([kept(20), kept(2000)]).toEqual([true, false])
})
