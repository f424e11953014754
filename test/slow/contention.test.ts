import type { Bench } from '../../bench/part'
import { contention } from '../../bench/parts/contention'
import { simulateOneCaller } from '../../bench/scale/one-caller'

it('npm run bench -- --only contention: every goal is met', async () => {
  const { figures } = await contention.run({ quick: false } as Bench)
  expect(figures.filter(({ met }) => met === false)).toEqual([])
}, 1_200_000)

it.each(['fixed-window', 'sliding-window', 'gcra'] as const)(
  '%s: of 5,000 instances, at most 1,500 are refused within a second of a new minute',
  async (algorithm) => {
    const policy = { algorithm, limit: 100, window: '1m' } as const
    const load = { instances: 5000, policy, perSecond: 5000, warmUp: 9 * 60, measured: 65 }
    const { mostRefused, admitted } = await simulateOneCaller(load)
    expect(mostRefused).toBeLessThan(1500)
    expect(admitted * 65).toBeGreaterThanOrEqual(100)
  },
  600_000,
)
