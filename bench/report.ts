import type { Figure, Unit } from './figure'
import type { Outcome } from './part'

/** One part as it ran. */
export interface PartReport extends Outcome {
  readonly part: string
  readonly title: string
  readonly seconds: number
}

/** All measurements, and the machine. */
export interface Report {
  readonly node: string
  readonly cpu: string
  readonly cpus: number
  readonly engine: string
  readonly quick: boolean
  readonly notes: readonly string[]
  readonly parts: readonly PartReport[]
}

const COLUMNS = ['figure', 'measured', 'goal', 'met'] as const
const DECIMALS: Readonly<Record<Unit, number>> = {
  calls: 3,
  writes: 0,
  '%': 1,
  '×': 2,
  KB: 0,
  bytes: 0,
  µs: 1,
  MB: 1,
  'lines/s': 0,
}

/** A part as text: its table, then its notes. */
export function partText({ title, figures, details }: Pick<PartReport, 'title' | 'figures' | 'details'>): string {
  const rows = figures.map((figure) => [
    figure.figure,
    valueText(figure.measured, figure.unit),
    goalText(figure),
    metText(figure),
  ])
  return [
    ...[title, '', tableText(COLUMNS, rows), ''],
    ...[...figures.flatMap(figureDetails), ...details.map((text) => `  ${text}`), ''],
  ].join('\n')
}

/** Columns as wide as they need to be, a rule below their heads. */
export function tableText(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, i) => Math.max(column.length, ...rows.map((row) => row[i]!.length)))
  const line = (row: readonly string[]): string =>
    `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('   ')}`.trimEnd()
  const rule = `  ${widths.map((width) => '─'.repeat(width)).join('───')}`
  return [line(columns), rule, ...rows.map(line)].join('\n')
}

export function reportHead({ node, cpu, cpus, engine, quick, notes }: Omit<Report, 'parts'>): string {
  const mode = quick ? ' · quick: fewer rounds, not to be quoted' : ''
  return [`Node ${node} · ${cpus} × ${cpu} · ${engine}${mode}`, ...notes, ''].join('\n')
}

function figureDetails({ figure, unit, spread, notes }: Figure): string[] {
  const range = spread ? [`${valueText(spread.min, unit)} to ${valueText(spread.max, unit)}`] : []
  return range.length + notes.length === 0 ? [] : [`  ${figure}: ${[...range, ...notes].join('; ')}`]
}

function valueText(value: number, unit: Unit): string {
  const number = value.toLocaleString('en', {
    minimumFractionDigits: DECIMALS[unit],
    maximumFractionDigits: DECIMALS[unit],
  })
  return unit === '×' ? `${number}×` : `${number} ${unit}`
}

function goalText({ goal, unit }: Figure): string {
  if (!goal) return ''
  const [sign, value]: [string, number] = 'atMost' in goal ? ['≤', goal.atMost] : ['≥', goal.atLeast]
  return `${sign} ${value.toLocaleString('en', unit === 'calls' && value > 0 ? { minimumFractionDigits: 2 } : {})}${unit === '×' ? '×' : unit === 'calls' ? '' : ` ${unit}`}`
}

const metText = ({ met }: Figure): string => (met === null ? '' : met ? 'yes' : 'no')
