import { ALGORITHMS, CROSSINGS } from '../model/crossings'
import { everyInterleaving } from '../model/interleavings'

describe('every order in which calls can arrive, with every fault at every call, for every algorithm', () => {
  let [runs, histories] = [0, 0]
  afterAll(() => {
    process.stdout.write(
      `# orders and faults of ${CROSSINGS.length} crossings: ${runs} runs, ${histories} different histories\n`,
    )
  })

  for (const { name, scenario, algorithms = Object.keys(ALGORITHMS) } of CROSSINGS) {
    it(name, async () => {
      for (const algorithm of algorithms) {
        const searched = await everyInterleaving(scenario(ALGORITHMS[algorithm]!))
        runs += searched.runs
        histories += searched.histories
      }
    })
  }
})
