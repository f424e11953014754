import { diffArrays } from 'diff'
import { parse } from 'yaml'
import { type Change, contentOf, type PolicySetItem } from '../../provisioning/tiers-file'
import type { Printer } from '../terminal/output'
import { titleOf } from './titles'

const SIGNS = { add: '+', change: '~', remove: '-' } as const
const COLOURS = { add: 'green', change: 'yellow', remove: 'red' } as const

/** Prints changes line by line, a policy on each. */
export function printChanges(changes: readonly Change[], print: Printer): void {
  for (const { sk, kind, before, after } of changes) {
    print.line(print.style(COLOURS[kind], `${SIGNS[kind]} ${titleOf(sk)}`))
    for (const { sign, text } of itemDiff(before, after)) {
      const line = `    ${sign} ${text}`
      print.line(sign === '+' ? print.style('green', line) : sign === '-' ? print.style('red', line) : line)
    }
  }
}

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

/** The lines of an item that go and that come, among those that stay. */
export const itemDiff = (before: PolicySetItem | undefined, after: PolicySetItem | undefined): Line[] =>
  lineDiff(linesOf(before), linesOf(after))

function linesOf(item: PolicySetItem | undefined): string[] {
  if (!item) return []
  return Object.entries(contentOf(item)).flatMap(([field, value]: [string, unknown]) =>
    field === 'policies' && Array.isArray(value) ? value.map(inline) : [`${field}: ${inline(value)}`],
  )
}

/** A value on one line, as in a tiers file. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' && isBare(value) ? value : (JSON.stringify(value) ?? '')
  return `{ ${Object.entries(value)
    .map(([field, inner]) => `${field}: ${inline(inner)}`)
    .join(', ')} }`
}

/** Whether a text without quotes is read as that text: "20" is not 20. */
const isBare = (text: string): boolean => /^[\w./-]+$/.test(text) && parse(text) === text

interface Line {
  readonly sign: '+' | '-' | ' '
  readonly text: string
}

/** The fewest lines out and in. */
export function lineDiff(before: readonly string[], after: readonly string[]): Line[] {
  return diffArrays([...before], [...after]).flatMap(({ added, removed, value }) =>
    value.map((text) => ({ sign: added ? '+' : removed ? '-' : ' ', text }) as const),
  )
}
