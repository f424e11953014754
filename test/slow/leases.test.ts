import { figuresOf, LOADS } from '../../bench/parts/leases'

/** The bench runs the other loads on 6,000 instances, of a minute or more each. */
const loads = LOADS.filter(({ name }) => !/6,000/.test(name) || /sliding window, 105 %/.test(name))

describe('npm run bench -- --only leases', () => {
  test.each(loads.map((load) => [load.name, load] as const))(
    '%s: every goal is met',
    async (_, load) => {
      const figures = await figuresOf(load)
      expect(figures.length).toBeGreaterThan(0)
      expect(figures.filter(({ met }) => met === false)).toEqual([])
    },
    900_000,
  )
})
