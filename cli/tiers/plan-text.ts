import { isOwnIdentity, unreadCredentials } from '../callers/unread-credentials'
import type { ConfigTable } from '../tables/config-table'
import type { Printer } from '../terminal/output'
import type { ApplyPlan } from './apply-plan'
import { countsText, printChanges, titleOf } from './diff-text'

/** Shows a plan to people: changes on standard output, remarks beside them. */
export function printPlan(
  { changes, kept, conflicts, issues }: ApplyPlan,
  warnings: readonly string[],
  print: Printer,
): void {
  printChanges(changes, print)
  print.line(countsText(changes))
  if (kept.length > 0) print.note(`only in the table, kept unless you use --prune: ${kept.map(titleOf).join(', ')}`)
  if (conflicts.length > 0) print.note(`edited since the export: ${conflicts.map(titleOf).join(', ')}`)
  for (const issue of issues) print.note(`invalid: ${issue}`)
  for (const warning of warnings) print.note(`warning: ${warning}`)
}

/** The same for scripts. */
export function planJson({ changes, kept, conflicts, issues }: ApplyPlan, warnings: readonly string[]) {
  const keys = (kind: string) => changes.filter((change) => change.kind === kind).map(({ sk }) => sk)
  return { added: keys('add'), changed: keys('change'), removed: keys('remove'), kept, conflicts, issues, warnings }
}

/** What is valid, and makes clients anonymous. Clients are read only where the settings say who is asked. */
export const warningsOf = async ({ identity }: ApplyPlan, table: ConfigTable): Promise<string[]> =>
  isOwnIdentity(identity) ? unreadCredentials(identity, await table.clients()) : []
