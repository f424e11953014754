import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../pages/lab/model/run'
import { settingOf } from '../../pages/lab/model/scenarios'
import { PLOTTED } from '../../tools/lab/document'
import { plotOf } from '../../tools/lab/plot'

const PLOTS = join(__dirname, '..', '..', 'docs', 'images', 'lab')

describe('docs/choosing-an-algorithm.md', () => {
  it.each(PLOTTED)('has the plot of %s as "npm run lab -- --write" makes it', (id) => {
    expect(readFileSync(join(PLOTS, `${id}.svg`), 'utf8') === plotOf(run(settingOf(id)))).toBe(true)
  })

  it('has no plot that nobody makes', () => {
    expect(readdirSync(PLOTS).sort()).toEqual(PLOTTED.map((id) => `${id}.svg`).sort())
  })
})
