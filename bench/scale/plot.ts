import { exact, usdPerMillion } from './findings'
import { isInTrouble } from './scenarios'
import type { Second, Sweep } from './second'

const WIDTH = 860
/** Half of the last label stands to the right of the last line. */
const OVERHANG = 24
const LEFT = 88
const RIGHT = 24
const TOP = 44
const BOTTOM = 60
/** Room below the plots for the names of the lines. */
const LEGEND_ROW = 22

/** A line may rise above its chart by so little: chance adds to a round rate. */
const ALMOST = 1.02

/** They differ in more than their colours, and are visible on white and on black. */
const STYLES = [
  { colour: '#8b8b8b', dashes: '2 4' },
  { colour: '#c2410c', dashes: '10 4 2 4' },
  { colour: '#16a34a', dashes: '2 2' },
  { colour: '#2f81f7', dashes: 'none' },
  { colour: '#d97706', dashes: '10 4' },
  { colour: '#a855f7', dashes: '4 4' },
  { colour: '#0891b2', dashes: '14 4 4 4' },
  { colour: '#db2777', dashes: '6 2' },
  { colour: '#65a30d', dashes: 'none' },
] as const

/** Marks of an axis: the first and the last are its ends. */
interface Axis {
  readonly marks: readonly number[]
  /** @default logarithmic */
  readonly isLinear?: boolean
  /** Whether it shows what is less than its first mark there, as a logarithm has no place for 0. */
  readonly hasLess?: boolean
}

interface Chart {
  readonly title: string
  /** Between marks. @default logarithmic, a mark for each power of ten */
  readonly step?: number
  readonly of: (second: Second) => number
}

/** Where a chart stands, in pixels. */
interface Frame {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly low: number
}

const RATES_AXIS: Axis = { marks: [1000, 10_000, 100_000, 1_000_000] }

const EXACT: Chart = { title: 'exact decisions a second', of: exact }

const COSTS: readonly Chart[] = [
  { title: 'writes per request', step: 0.5, of: ({ writes, offered }) => writes / offered },
  { title: 'refused writes a second', of: ({ refusedWrites }) => refusedWrites },
  { title: 'instances busy at most', of: ({ busiest }) => busiest },
  { title: 'US dollars per million requests: DynamoDB and Lambda', step: 0.5, of: usdPerMillion },
]

/** An axis on which all of a chart's lines have their places. */
function axisOf({ step, of }: Chart, sweeps: readonly Sweep[]): Axis {
  const values = sweeps.flatMap(({ points }) => points.map(({ second }) => of(second)))
  const [least, most] = [Math.min(...values), Math.max(...values)]
  if (step) return { marks: Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step), isLinear: true }
  const first = Math.floor(Math.log10(Math.max(1, least)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(1, most / ALMOST))))
  return { marks: Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)), hasLess: least < 1 }
}

/** Exact decisions a second over requests a second, as an SVG that reads on light and on dark pages. */
export const plotOf = (sweeps: readonly Sweep[]): string =>
  page('Exact decisions a second over requests a second', [EXACT], sweeps, 500)

/** How what requests cost grows with their rate, in the same form. */
export const costPlotOf = (sweeps: readonly Sweep[]): string =>
  page('Writes, refused writes, instances and price over requests a second', COSTS, sweeps, 260)

function page(title: string, charts: readonly Chart[], all: readonly Sweep[], chartHeight: number): string {
  const sweeps = all.filter(({ id }) => !isInTrouble(id))
  const plotsHeight = charts.length * (TOP + chartHeight + BOTTOM) - (charts.length - 1) * BOTTOM * 0.4
  const height = plotsHeight + sweeps.length * LEGEND_ROW + 12
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + OVERHANG} ${height}" font-family="system-ui, sans-serif" font-size="14" role="img">`,
    `<title>${title}</title>`,
    '<style>',
    '  text { fill: #57606a } .grid { stroke: #57606a; stroke-opacity: 0.25 } .line { fill: none; stroke-width: 2.5 }',
    '  @media (prefers-color-scheme: dark) { text { fill: #adbac7 } .grid { stroke: #adbac7 } }',
    '</style>',
    ...charts.flatMap((chart, i) => {
      const top = TOP + i * (TOP + chartHeight + BOTTOM * 0.6)
      const frame = { left: LEFT, right: WIDTH - RIGHT, top, low: top + chartHeight }
      const axis = axisOf(chart, sweeps)
      return [
        ...grid(chart.title, axis, frame),
        ...sweeps.map(({ points }, n) => line(points, chart.of, axis, frame, styleOf(n))),
      ]
    }),
    ...sweeps.flatMap((sweep, n) => legend(sweep, styleOf(n), plotsHeight + n * LEGEND_ROW + 10)),
    '</svg>',
    '',
  ].join('\n')
}

const round = (value: number): number => Math.round(value * 10) / 10

/** The place of a value on an axis that runs from `from` to `to`, in pixels. */
function placeOn({ marks, isLinear }: Axis, value: number, from: number, to: number): number {
  const [least, most] = [marks[0]!, marks.at(-1)!]
  const shown = Math.max(least, value)
  const share = isLinear ? (shown - least) / (most - least) : Math.log(shown / least) / Math.log(most / least)
  return round(from + (to - from) * share)
}

const x = (rps: number, { left, right }: Frame): number => placeOn(RATES_AXIS, rps, left, right)
const y = (value: number, axis: Axis, { low, top }: Frame): number => placeOn(axis, value, low, top)

function grid(title: string, axis: Axis, frame: Frame): string[] {
  const { left, right, top, low } = frame
  const label = (value: number) => value.toLocaleString('en')
  const isLess = (value: number) => axis.hasLess && value === axis.marks[0]
  return [
    `<text x="${left}" y="${top - 14}">${title}</text>`,
    ...RATES_AXIS.marks.flatMap((rps) => [
      `<line class="grid" x1="${x(rps, frame)}" y1="${top}" x2="${x(rps, frame)}" y2="${low}"/>`,
      `<text x="${x(rps, frame)}" y="${low + 20}" text-anchor="middle">${label(rps)}</text>`,
    ]),
    ...axis.marks.flatMap((value) => [
      `<line class="grid" x1="${left}" y1="${y(value, axis, frame)}" x2="${right}" y2="${y(value, axis, frame)}"/>`,
      `<text x="${left - 8}" y="${y(value, axis, frame) + 5}" text-anchor="end">${isLess(value) ? '≤ ' : ''}${label(value)}</text>`,
    ]),
    `<text x="${(left + right) / 2}" y="${low + 38}" text-anchor="middle">requests a second</text>`,
  ]
}

type Style = (typeof STYLES)[number]
const styleOf = (n: number): Style => STYLES[n % STYLES.length]!
const strokeOf = ({ colour, dashes }: Style): string =>
  `class="line" stroke="${colour}"${dashes === 'none' ? '' : ` stroke-dasharray="${dashes}"`}`

function line(points: Sweep['points'], of: Chart['of'], axis: Axis, frame: Frame, style: Style): string {
  const places = points.map(({ rps, second }) => `${x(rps, frame)} ${y(of(second), axis, frame)}`)
  return `<path ${strokeOf(style)} d="M${places.join(' L')}"/>`
}

const legend = ({ title }: Sweep, style: Style, at: number): string[] => [
  `<path ${strokeOf(style)} d="M${LEFT} ${at} L${LEFT + 50} ${at}"/>`,
  `<text x="${LEFT + 60}" y="${at + 5}">${title}</text>`,
]
