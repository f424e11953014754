import { exact, exactShare, firstBreak, usdPerMillion } from './findings'
import { minutesToWarm, secondsToScale } from './published-limits'
import type { Sweep } from './second'

const BEGIN = '<!-- npm run bench:scale -- --write -->'
const END = '<!-- end -->'

/** Puts the findings between the document's marks. @throws Error where it has none. */
export function withFindings(document: string, sweeps: readonly Sweep[]): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`the document wants "${BEGIN}" and "${END}"`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${findingsText(sweeps)}\n${document.slice(end)}`
}

/** What was found, as Markdown. */
export function findingsText(sweeps: readonly Sweep[]): string {
  return [breaksTable(sweeps), growthTable(sweeps)].join('\n')
}

/** What each configuration did at each rate, as Markdown. */
export function ratesText(sweeps: readonly Sweep[]): string {
  return [RATES_INTRO, ...sweeps.map(sweepTable)].join('\n')
}

const RATES_INTRO = `# Each configuration at each rate

\`npm run bench:scale -- --write\` writes this page. What was measured, and what follows: [scale](../../docs/scale.md).
`

const number = (value: number): string => Math.round(value).toLocaleString('en')

function breaksTable(sweeps: readonly Sweep[]): string {
  const rows = sweeps.map((sweep) => {
    const { held, broke, cause } = firstBreak(sweep)
    const exactThere =
      broke === undefined ? '' : `${number(exact(sweep.points.find(({ rps }) => rps === broke)!.second))}/s`
    const cost = sweep.points.find(({ rps }) => rps === held)
    return [
      sweep.title,
      held === undefined ? 'none' : number(held),
      cost ? usdPerMillion(cost.second).toFixed(2) : '',
      broke === undefined ? 'no rate simulated' : number(broke),
      cause ?? '',
      exactThere,
    ]
  })
  const heads = [
    'configuration',
    'holds at',
    '$ per million there',
    'breaks at',
    'what breaks first',
    'exact decisions',
  ]
  return table(heads, rows)
}

/** Computed, not simulated: AWS takes minutes to grow, and only one second is simulated. */
function growthTable(sweeps: readonly Sweep[]): string {
  const even = sweeps.find(({ id }) => id === 'even')?.points ?? []
  const rows = even
    .filter(({ rps }) => rps >= 5000)
    .map(({ rps, second }) => [
      number(rps),
      number(second.writes),
      `${minutesToWarm(second.writes)} min`,
      number(second.busiest),
      `${secondsToScale(second.busiest)} s`,
    ])
  const heads = [
    'requests/s',
    'writes/s',
    'until a new table takes them',
    'instances busy at most',
    'until Lambda has started them',
  ]
  return `Growing, for clients that are all alike, worked out from the limits above:\n\n${table(heads, rows)}`
}

const HEADS = [
  'requests/s',
  'exact',
  'allowed/s',
  'denied/s',
  'without the store',
  'turned away by AWS',
  'calls refused: item, table',
  'writes per request',
  'refused writes/s',
  'busy instances',
  '$ per million',
] as const

/** A row for each rate. */
export function sweepRows({ points }: Sweep): string[][] {
  return points.map(({ rps, second }) => [
    number(rps),
    `${(100 * exactShare(second)).toFixed(1)} %`,
    number(second.allowed),
    number(second.denied),
    number(second.degraded),
    number(second.refusedByGateway + second.refusedByLambda),
    `${number(second.throttledItem)}, ${number(second.throttledTable)}`,
    (second.writes / second.offered).toFixed(second.writes / second.offered < 0.1 ? 4 : 2),
    number(second.refusedWrites),
    number(second.busiest),
    usdPerMillion(second).toFixed(2),
  ])
}

const sweepTable = (sweep: Sweep): string => `**${sweep.title}** (\`${sweep.id}\`)\n\n${table(HEADS, sweepRows(sweep))}`

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(heads), `|${'---|'.repeat(heads.length)}`, ...rows.map(line), ''].join('\n')
}
