import type { Change, PolicySetItem } from '../provisioning/tiers-file'
import { ordered } from '../provisioning/tiers-file'
import type { Printer } from './output'

const SIGNS = { add: '+', change: '~', remove: '-' } as const
const COLOURS = { add: 'green', change: 'yellow', remove: 'red' } as const

/** Prints changes line by line, a policy on each. */
export function printChanges(changes: readonly Change[], print: Printer): void {
  for (const { sk, kind, before, after } of changes) {
    print.line(print.style(COLOURS[kind], `${SIGNS[kind]} ${titleOf(sk)}`))
    for (const { sign, text } of lineDiff(linesOf(before), linesOf(after))) {
      const line = `    ${sign} ${text}`
      print.line(sign === '+' ? print.style('green', line) : sign === '-' ? print.style('red', line) : line)
    }
  }
}

/** `tier free`, `route GET /search`, `settings`. */
export const titleOf = (sk: string): string => sk.replace('#', ' ')

/** `2 added, 1 changed`. */
export function countsText(changes: readonly Change[]): string {
  const counts = (
    [
      ['add', 'added'],
      ['change', 'changed'],
      ['remove', 'removed'],
    ] as const
  ).flatMap(([kind, word]) => {
    const count = changes.filter((change) => change.kind === kind).length
    return count === 0 ? [] : [`${count} ${word}`]
  })
  return counts.join(', ') || 'no changes'
}

function linesOf(item: PolicySetItem | undefined): string[] {
  if (!item) return []
  const { pk: _pk, sk: _sk, ...fields } = item
  return Object.entries(ordered(fields) as object).flatMap(([field, value]: [string, unknown]) =>
    field === 'policies' && Array.isArray(value) ? value.map(inline) : [`${field}: ${inline(value)}`],
  )
}

/** A value on one line, as in a tiers file. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' && /^[\w./-]+$/.test(value) ? value : (JSON.stringify(value) ?? '')
  return `{ ${Object.entries(value)
    .map(([field, inner]) => `${field}: ${inline(inner)}`)
    .join(', ')} }`
}

interface Line {
  readonly sign: '+' | '-' | ' '
  readonly text: string
}

/** The fewest lines out and in, by longest common subsequence; items have some dozens of lines. */
export function lineDiff(before: readonly string[], after: readonly string[]): Line[] {
  const longest: number[][] = Array.from({ length: before.length + 1 }, () => Array<number>(after.length + 1).fill(0))
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      longest[i]![j] =
        before[i] === after[j] ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!)
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    if (i < before.length && before[i] === after[j]) {
      lines.push({ sign: ' ', text: before[i++]! })
      j++
    } else if (i < before.length && (j === after.length || longest[i + 1]![j]! >= longest[i]![j + 1]!)) {
      lines.push({ sign: '-', text: before[i++]! })
    } else lines.push({ sign: '+', text: after[j++]! })
  }
  return lines
}
