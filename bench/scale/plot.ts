import { exact, type Sweep } from './findings'

const WIDTH = 860
/** Half of the last label stands to the right of the last line. */
const OVERHANG = 24
const HEIGHT = 560
const LEFT = 88
const RIGHT = 24
const TOP = 24
const BOTTOM = 60
/** Of both axes: requests a second. */
const FROM = 1000
const TO = 1_000_000
/** Room below the plot for the names of the lines. */
const LEGEND_ROW = 22

/** They differ in more than their colours, and are visible on white and on black. */
const STYLES = [
  { colour: '#8b8b8b', dashes: '2 4' },
  { colour: '#2f81f7', dashes: 'none' },
  { colour: '#d97706', dashes: '10 4' },
  { colour: '#c2410c', dashes: '10 4 2 4' },
  { colour: '#a855f7', dashes: '4 4' },
  { colour: '#16a34a', dashes: 'none' },
  { colour: '#0891b2', dashes: '14 4 4 4' },
  { colour: '#db2777', dashes: '6 2' },
] as const

const place = (value: number, from: number, to: number): number =>
  from + ((to - from) * Math.log10(Math.max(FROM, Math.min(TO, value)) / FROM)) / Math.log10(TO / FROM)
const x = (rps: number): number => round(place(rps, LEFT, WIDTH - RIGHT))
const y = (rps: number): number => round(place(rps, HEIGHT - BOTTOM, TOP))
const round = (value: number): number => Math.round(value * 10) / 10

/**
 * Exact decisions a second over requests a second, both logarithmic, as an SVG that reads on light and on dark pages.
 */
export function plotOf(sweeps: readonly Sweep[]): string {
  const height = HEIGHT + sweeps.length * LEGEND_ROW + 12
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + OVERHANG} ${height}" font-family="system-ui, sans-serif" font-size="14" role="img">`,
    '<title>Exact decisions a second over requests a second</title>',
    '<style>',
    '  text { fill: #57606a } .grid { stroke: #57606a; stroke-opacity: 0.25 } .line { fill: none; stroke-width: 2.5 }',
    '  @media (prefers-color-scheme: dark) { text { fill: #adbac7 } .grid { stroke: #adbac7 } }',
    '</style>',
    ...grid(),
    ...sweeps.flatMap((sweep, i) => line(sweep, STYLES[i % STYLES.length]!, i)),
    '</svg>',
    '',
  ].join('\n')
}

function grid(): string[] {
  const marks = [1000, 10_000, 100_000, 1_000_000]
  const [right, low] = [WIDTH - RIGHT, HEIGHT - BOTTOM]
  return [
    ...marks.flatMap((rps) => [
      `<line class="grid" x1="${x(rps)}" y1="${TOP}" x2="${x(rps)}" y2="${low}"/>`,
      `<line class="grid" x1="${LEFT}" y1="${y(rps)}" x2="${right}" y2="${y(rps)}"/>`,
      `<text x="${x(rps)}" y="${low + 22}" text-anchor="middle">${rps.toLocaleString('en')}</text>`,
      `<text x="${LEFT - 8}" y="${y(rps) + 5}" text-anchor="end">${rps.toLocaleString('en')}</text>`,
    ]),
    `<text x="${(LEFT + right) / 2}" y="${low + 46}" text-anchor="middle">requests a second</text>`,
    `<text transform="translate(16 ${(TOP + low) / 2}) rotate(-90)" text-anchor="middle">exact decisions a second</text>`,
  ]
}

function line({ title, points }: Sweep, { colour, dashes }: (typeof STYLES)[number], row: number): string[] {
  const path = points.map(({ rps, second }, i) => `${i === 0 ? 'M' : 'L'}${x(rps)} ${y(exact(second))}`).join(' ')
  const stroke = `class="line" stroke="${colour}"${dashes === 'none' ? '' : ` stroke-dasharray="${dashes}"`}`
  const at = HEIGHT + row * LEGEND_ROW + 10
  return [
    `<path ${stroke} d="${path}"/>`,
    `<path ${stroke} d="M${LEFT} ${at} L${LEFT + 50} ${at}"/>`,
    `<text x="${LEFT + 60}" y="${at + 5}">${title}</text>`,
  ]
}
