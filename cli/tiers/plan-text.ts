import { costsOfNothing } from '../callers/named-costs'
import { clientsOfNoTier, overridesOfNothing } from '../callers/overrides'
import { isOwnIdentity, unreadCredentials } from '../callers/unread-credentials'
import type { EpochMs } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import type { Printer } from '../terminal/output'
import type { ApplyPlan } from './apply-plan'
import { countsText, printChanges } from './diff-text'
import { titlesOf } from './titles'

/** More changes than this are only counted before they are applied. */
const MAX_SHOWN = 100

/** More mistakes than this are counted instead. */
const MAX_ISSUES = 20

/**
 * Shows a plan to people: changes on standard output, remarks beside them.
 *
 * @param most changes that are shown; others are counted.
 */
export function printPlan(
  { changes, kept, conflicts, issues }: ApplyPlan,
  warnings: readonly string[],
  print: Printer,
  most = MAX_SHOWN,
): void {
  printChanges(changes.slice(0, most), print)
  if (changes.length > most) print.line(`… and ${changes.length - most} more: sluice tiers diff shows all`)
  print.line(countsText(changes))
  if (kept.length > 0) print.note(`only in the table, kept unless you use --prune: ${titlesOf(kept)}`)
  if (conflicts.length > 0) print.note(`edited since the export: ${titlesOf(conflicts)}`)
  for (const issue of issues.slice(0, MAX_ISSUES)) print.note(`invalid: ${issue}`)
  if (issues.length > MAX_ISSUES) print.note(`and ${issues.length - MAX_ISSUES} more mistakes`)
  for (const warning of warnings) print.note(`warning: ${warning}`)
}

/** The same for scripts. */
export function planJson({ changes, kept, conflicts, issues }: ApplyPlan, warnings: readonly string[]) {
  const keys = (kind: string) => changes.filter((change) => change.kind === kind).map(({ sk }) => sk)
  return { added: keys('add'), changed: keys('change'), removed: keys('remove'), kept, conflicts, issues, warnings }
}

/**
 * What is valid, and what nobody may want: costs that are charged to nothing; clients who become anonymous, or lose
 * their tier or their own limits. Clients are read only where that may be.
 */
export async function warningsOf(plan: ApplyPlan, table: ConfigTable, now: EpochMs): Promise<string[]> {
  const { identity, changes, policies } = plan
  const ofNothing = new Set(costsOfNothing(policies.before))
  const ofCosts = costsOfNothing(policies.after).filter((sentence) => !ofNothing.has(sentence))
  const takes = changes.some(({ kind, sk }) => kind !== 'add' && !sk.startsWith('settings'))
  if (!takes && !isOwnIdentity(identity)) return ofCosts
  const clients = await table.clients()
  const before = new Set(overridesOfNothing(clients, policies.before, now))
  const gone = [...policies.before.tiers.keys()].filter((tier) => !policies.after.tiers.has(tier))
  return [
    ...ofCosts,
    ...(isOwnIdentity(identity) ? unreadCredentials(identity, clients) : []),
    ...clientsOfNoTier(clients, gone),
    ...overridesOfNothing(clients, policies.after, now).filter((sentence) => !before.has(sentence)),
  ]
}
