import { ALGORITHMS, CROSSINGS } from './crossings'
import { everyInterleaving } from './interleavings'

/** The two ways of counting whose writes differ most, in turn; test/slow/interleavings.test.ts has all ways. */
const EVERYDAY = ['window', 'pace']

describe('every law holds in every order of calls and with every fault at each call:', () => {
  for (const [i, { name, scenario, algorithms = EVERYDAY }] of CROSSINGS.filter(({ large }) => !large).entries()) {
    it(name, async () => {
      const { histories } = await everyInterleaving(scenario(ALGORITHMS[algorithms[i % algorithms.length]!]!))
      expect(histories).toBeGreaterThan(1)
    })
  }
})
