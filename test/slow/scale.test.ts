import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sweepRows } from '../../bench/scale/document'
import { RATES } from '../../bench/scale/findings'
import { simulateGrowth, simulateSecond } from '../../bench/scale/fleet'
import measured from '../../bench/scale/measured.json'
import { SCENARIOS } from '../../bench/scale/scenarios'

const DOCUMENT = join(__dirname, '..', '..', 'bench', 'scale', 'rates.md')

describe('npm run bench:scale', () => {
  /** Figures of the document are those of the present code: a run at the lowest rate is made again. */
  test.each(SCENARIOS.map((scenario) => [scenario.id, scenario] as const))(
    '%s: bench/scale/rates.md has what it gives',
    async (_, scenario) => {
      const rps = scenario.from ?? RATES[0]
      const points = scenario.grows
        ? await simulateGrowth(scenario, [rps], measured.find(({ id }) => id === scenario.id)!.points.at(-1)!.rps)
        : [{ rps, second: await simulateSecond(scenario, rps) }]
      const [row] = sweepRows({ id: scenario.id, title: scenario.title, points })
      const document = readFileSync(DOCUMENT, 'utf8')
      const section = document.slice(document.indexOf(`(\`${scenario.id}\`)`))
      const documented = new RegExp(`^\\| ${rps.toLocaleString('en')} +\\|.*$`, 'm')
        .exec(section)![0]
        .slice(2, -2)
        .split(' | ')
      const numbers = (cells: readonly string[]) =>
        cells.slice(0, 4).map((cell) => Number.parseFloat(cell.replace(/,/g, '')))
      for (const [i, found] of numbers(row!).entries()) {
        const said = numbers(documented)[i]!
        const isShare = i === 1
        // requests come at random moments: four standard deviations of their number
        expect(Math.abs(found - said)).toBeLessThanOrEqual(5 + (isShare ? said / 20 : 4 * Math.sqrt(said)))
      }
    },
  )
})
