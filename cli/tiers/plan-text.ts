import type { Printer } from '../terminal/output'
import type { ApplyPlan } from './apply-plan'
import { countsText, printChanges, titleOf } from './diff-text'

/** Shows a plan to people: changes on standard output, remarks beside them. */
export function printPlan({ changes, kept, conflicts, issues }: ApplyPlan, print: Printer): void {
  printChanges(changes, print)
  print.line(countsText(changes))
  if (kept.length > 0) print.note(`only in the table, kept unless you use --prune: ${kept.map(titleOf).join(', ')}`)
  if (conflicts.length > 0) print.note(`edited since the export: ${conflicts.map(titleOf).join(', ')}`)
  for (const issue of issues) print.note(`invalid: ${issue}`)
}

/** The same for scripts. */
export function planJson({ changes, kept, conflicts, issues }: ApplyPlan) {
  const keys = (kind: string) => changes.filter((change) => change.kind === kind).map(({ sk }) => sk)
  return { added: keys('add'), changed: keys('change'), removed: keys('remove'), kept, conflicts, issues }
}
