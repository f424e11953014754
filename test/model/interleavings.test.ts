import { ALGORITHMS, CROSSINGS } from './crossings'
import { everyInterleaving } from './interleavings'

/** The two ways of counting whose writes differ most, in turn; test/slow/interleavings.test.ts has all ways. */
const EVERYDAY = ['window', 'pace']
/** Of the crossings, every third; test/slow/interleavings.test.ts has all. */
const STEP = 3

describe('every law holds in every order of calls and with every fault at each call:', () => {
  for (const [i, { name, scenario, algorithms = EVERYDAY }] of CROSSINGS.filter(
    ({ large }, at) => !large && at % STEP === 0,
  ).entries()) {
    it(name, async () => {
      const { histories } = await everyInterleaving(scenario(ALGORITHMS[algorithms[i % algorithms.length]!]!))
      expect(histories).toBeGreaterThan(1)
    })
  }
})
