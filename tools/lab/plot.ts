import { figureTexts } from '../../pages/lab/model/figure-texts'
import { highestOf, lineOf } from '../../pages/lab/model/line'
import type { Run } from '../../pages/lab/model/run'
import type { RowRun } from '../../pages/lab/model/run-row'
import { scenarioOf } from '../../pages/lab/model/scenarios'

const WIDTH = 860
const MARGIN = 12
const LEFT = 214
const PARTS = WIDTH - LEFT - 10
const ROW = 62
const TOP = 30
/** Of a row: the line stands between these, allowed requests and denied ones below. */
const [CHART_TOP, CHART_BOTTOM, ALLOWED, DENIED] = [6, 38, 41, 51]

/** One scenario as an SVG that reads on light and on dark pages: a row for each algorithm, as on the lab's page. */
export function plotOf(run: Run): string {
  const { rows, setting } = run
  const title = scenarioOf(setting).title
  const highest = highestOf(run)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-${MARGIN} 0 ${WIDTH + 2 * MARGIN} ${TOP + rows.length * ROW + 8}" font-family="system-ui, sans-serif" font-size="12" role="img">`,
    `<title>${title}: what each algorithm admits</title>`,
    '<style>',
    '  .page { fill: #ffffff } text { fill: #57606a } .name { font-weight: 600 } path { fill: none } .grid { stroke: #57606a; stroke-opacity: 0.25 }',
    '  .line { stroke: #24292f; stroke-width: 1.3 } .limit { stroke: #57606a; stroke-dasharray: 4 3 }',
    '  .ok { stroke: #0f7a4f; stroke-width: 1.4 } .no { stroke: #b3261e; stroke-width: 1.2 } .over { fill: #b3261e; fill-opacity: 0.35 }',
    '  @media (prefers-color-scheme: dark) { .page { fill: #0d1117 } text { fill: #adbac7 } .line { stroke: #e4e9ee } .grid, .limit { stroke: #adbac7 }',
    '    .ok { stroke: #45c08b } .no { stroke: #ff8a80 } .over { fill: #ff8a80 } }',
    '</style>',
    `<rect class="page" x="-${MARGIN}" width="100%" height="100%" rx="6"/>`,
    `<text x="${LEFT}" y="20">line: requests in the last window; dashes: the limit, ${setting.limit}; strokes: allowed; crosses: denied</text>`,
    ...rows.flatMap((row, i) => rowOf(run, row, TOP + i * ROW, highest)),
    '</svg>',
    '',
  ].join('\n')
}

function rowOf({ setting, durationMs, windowMs }: Run, row: RowRun, top: number, highest: number): string[] {
  const texts = new Map(figureTexts(row.figures, setting.limit).map(({ id, text }) => [id, text]))
  const yOf = (units: number): number => tenth(top + CHART_BOTTOM - (units / highest) * (CHART_BOTTOM - CHART_TOP))
  const line = lineOf(row.passes, windowMs, durationMs, PARTS)
  const windows = Array.from({ length: Math.floor(durationMs / windowMs) + 1 }, (_, i) => (i * windowMs) / durationMs)
  const edges = windows.map(
    (share) => `M${LEFT + Math.round(share * PARTS)} ${top + CHART_TOP}v${CHART_BOTTOM - CHART_TOP}`,
  )
  const [denied, allowed] = placesOf(row, durationMs)
  const limit = yOf(setting.limit)
  return [
    `<text class="name" x="0" y="${top + 16}">${row.algorithm}</text>`,
    `<text x="0" y="${top + 32}">${texts.get('admitted')}, most ${texts.get('most')}</text>`,
    `<text x="0" y="${top + 48}">longest wait ${texts.get('wait')}</text>`,
    `<path class="grid" d="${edges.join('')}M${LEFT} ${top + CHART_BOTTOM}h${PARTS}"/>`,
    ...overOf(line, setting.limit, limit, yOf),
    `<path class="limit" d="M${LEFT} ${limit}h${PARTS}"/>`,
    `<path class="line" d="${stairs(line, yOf)}"/>`,
    `<path class="ok" d="${allowed.map((x) => `M${x} ${top + ALLOWED}v8`).join('')}"/>`,
    ...(denied.length > 0
      ? [`<path class="no" d="${denied.map((x) => `M${x - 2} ${top + DENIED}l4 5m0-5l-4 5`).join('')}"/>`]
      : []),
  ]
}

/** Where requests stand, each pixel once: what was denied, what was allowed. */
function placesOf({ times, allowed }: RowRun, durationMs: number): [number[], number[]] {
  const places: [Set<number>, Set<number>] = [new Set(), new Set()]
  for (let i = 0; i < times.length; i++)
    places[allowed[i] as 0 | 1].add(LEFT + Math.round((times[i]! / durationMs) * PARTS))
  return [[...places[0]], [...places[1]]]
}

function stairs(line: Float64Array, yOf: (units: number) => number): string {
  let path = `M${LEFT} ${yOf(line[0]!)}`
  for (let part = 1; part < line.length; part++)
    if (line[part] !== line[part - 1]) path += `H${LEFT + part}V${yOf(line[part]!)}`
  return `${path}H${LEFT + line.length}`
}

/** What lies above the limit. */
function overOf(line: Float64Array, limit: number, limitY: number, yOf: (units: number) => number): string[] {
  let path = ''
  for (let part = 0; part < line.length; part++) {
    if (line[part]! <= limit) continue
    const from = part
    path += `M${LEFT + from} ${limitY}V${yOf(line[from]!)}`
    while (line[part + 1]! > limit) {
      part++
      if (line[part] !== line[part - 1]) path += `H${LEFT + part}V${yOf(line[part]!)}`
    }
    path += `H${LEFT + part + 1}V${limitY}z`
  }
  return path === '' ? [] : [`<path class="over" d="${path}"/>`]
}

const tenth = (value: number): number => Math.round(value * 10) / 10
