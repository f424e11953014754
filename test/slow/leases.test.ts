import type { Bench } from '../../bench/part'
import { leases } from '../../bench/parts/leases'

it('npm run bench -- --only leases: every goal is met', async () => {
  const { figures } = await leases.run({ quick: false } as Bench)
  expect(figures.filter(({ met }) => met === false)).toEqual([])
}, 1_200_000)
