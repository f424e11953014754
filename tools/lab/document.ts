import type { AlgorithmName } from '../../limiter/policies/policy'
import { figureTexts } from '../../pages/lab/model/figure-texts'
import { type Run, run } from '../../pages/lab/model/run'
import { scenarioOf, settingOf } from '../../pages/lab/model/scenarios'
import { SCENARIO_IDS, type ScenarioId, type Setting } from '../../pages/lab/model/setting'
import { USES } from '../../pages/lab/model/uses'

const BEGIN = '<!-- npm run lab -- --write -->'
const END = '<!-- end -->'

/** The scenarios that have a plot: all but the one that readers draw. */
export const PLOTTED: readonly ScenarioId[] = SCENARIO_IDS.filter((id) => id !== 'drawn')

/** Random traffic that is long enough to tell shares. */
const RANDOM: Setting = { ...settingOf('random'), limit: 100, burst: 100, windows: 100 }
/** In percent of the limit. */
const LOADS = [50, 90, 100, 150] as const

/** Puts what was measured between the document's marks. @throws Error where it has none. */
export function withMeasured(document: string, measured: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`the document wants "${BEGIN}" and "${END}"`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${measured}\n${document.slice(end)}`
}

/** All that is measured, as Markdown. */
export const measuredText = (): string =>
  [
    '## On random traffic',
    '',
    `Requests at random moments (Poisson), on average exactly the limit of ${RANDOM.limit} a minute, for ${RANDOM.windows} minutes. The`,
    'buckets hold 100; the leaky bucket is a queue; GCRA has a burst of 1, which spreads requests.',
    '',
    randomTable(run(RANDOM)),
    '**Wrong** is measured against an exact log of what the same algorithm let pass: _wrongly allowed_ is a request that',
    'passed although the limit had been reached in the minute before it, _wrongly denied_ one that did not although there was',
    'room. In percent of all requests, wrongly allowed and wrongly denied, by load:',
    '',
    loadsTable(),

    '## Scenario by scenario',
    '',
    'A window is a minute and the limit 10, where nothing else is said.',
    '',
    ...PLOTTED.flatMap(scenarioText),
  ].join('\n')

/** The figures of one run, as a table. */
export function figuresTable({ rows, setting }: Run): string {
  const texts = rows.map(({ algorithm, figures }) => ({ algorithm, figures: figureTexts(figures, setting.limit) }))
  const heads = ['algorithm', ...texts[0]!.figures.map(({ label }) => label)]
  return table(
    heads,
    texts.map(({ algorithm, figures }) => [`\`${algorithm}\``, ...figures.map(({ text }) => text)]),
  )
}

function randomTable({ rows, setting }: Run): string {
  const heads = ['algorithm', ...figureTexts(rows[0]!.figures, setting.limit).map(({ label }) => label)]
  const lines = rows.map(({ algorithm, figures }) => [
    `\`${algorithm}\``,
    ...figureTexts(figures, setting.limit).map(({ id, text }) => text + purposeOf(algorithm, id, text)),
  ])
  return table(heads, lines)
}

/** By what an algorithm does on purpose what an exact log would not. */
function purposeOf(algorithm: AlgorithmName, id: string, text: string): string {
  const by = USES[algorithm].onPurpose?.[id as 'wronglyAllowed' | 'wronglyDenied']
  return by === undefined || text === '0' ? '' : ` (${by})`
}

function loadsTable(): string {
  const runs = LOADS.map((rate) => run({ ...RANDOM, rate }))
  const lines = runs[0]!.rows.map(({ algorithm }, i) => [
    `\`${algorithm}\``,
    ...runs.map(({ rows }) => {
      const { wronglyAllowed, wronglyDenied, requests } = rows[i]!.figures
      return `${percent(wronglyAllowed / requests)}, ${percent(wronglyDenied / requests)}`
    }),
  ])
  return table(['algorithm', ...LOADS.map((load) => `at ${load} % of the limit`)], lines)
}

const percent = (share: number): string => (share === 0 ? '0' : share < 0.0001 ? '< 0.01' : (100 * share).toFixed(2))

function scenarioText(id: ScenarioId): string[] {
  const { title, story } = scenarioOf(settingOf(id))
  return [`### ${title}`, '', story, '', `![What each algorithm admits](images/lab/${id}.svg)`, '']
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(heads), `|${' --- |'.repeat(heads.length)}`, ...rows.map(line), ''].join('\n')
}
