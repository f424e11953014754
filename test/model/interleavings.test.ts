import { ALGORITHMS, CROSSINGS } from './crossings'
import { everyInterleaving } from './interleavings'

/** Two whose writes differ most in form; test/slow/interleavings.test.ts has them all. */
const EVERYDAY = ['window', 'pace']

describe('every order in which calls can arrive, with every fault at every call', () => {
  for (const { name, story, algorithms = EVERYDAY } of CROSSINGS.filter(({ large }) => !large)) {
    it(name, async () => {
      for (const algorithm of algorithms) {
        const { histories } = await everyInterleaving(story(ALGORITHMS[algorithm]!))
        expect(histories).toBeGreaterThan(1)
      }
    })
  }
})
