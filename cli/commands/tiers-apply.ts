import type { StoredItem } from '../../provisioning/documents'
import type { Change, TiersFile } from '../../provisioning/tiers-file'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { ConfigError } from '../facade/values'
import { confirm } from '../terminal/question'
import { type ApplyPlan, exportedAfter, planApply } from '../tiers/apply-plan'
import { countsText } from '../tiers/diff-text'
import { planJson, printPlan, warningsOf } from '../tiers/plan-text'
import { readTiersFile, stamp } from '../tiers/tiers-yaml'
import { titlesOf } from '../tiers/titles'
import { writeChanges } from '../tiers/write-changes'

interface Options extends OutputOptions {
  readonly yes?: boolean
  readonly force?: boolean
  readonly prune?: boolean
}

export const addTiersApply: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'apply <file>',
    'Write a tiers file into the table. Shows the differences and asks first.',
    ['sluice tiers apply tiers.yaml', 'sluice tiers apply tiers.yaml --prune --yes'],
  )
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--force', 'overwrite items that were edited after the export')
    .option('--prune', 'delete tiers, routes and settings that are not in the file, but no clients or blocks')
    .action(async (path: string, options: Options) => {
      const file = readTiersFile(path)
      const connection = session.connect(options)
      const table = await connection.configTable()
      const stored = await table.policySet()
      const items = stored.map(({ item }) => item)
      const plan = planApply(items, file, options.prune === true)
      const warnings = await warningsOf(plan, table, session.io.clock())
      if (!options.json) printPlan(plan, warnings, session.print)
      check(plan, options)

      const done: Change[] = []
      if (plan.changes.length > 0) {
        await confirm('Apply this?', session.io, options, () => connection.describe('config'))
        await session.io.interrupts.during(async (pressed) => {
          try {
            await writeChanges(
              table,
              stored,
              plan.changes,
              (change) => done.push(change),
              pressed,
              (text) => session.print.note(text),
            )
          } finally {
            remember(path, file, stored, done, session)
          }
        })
      }
      if (options.json) session.print.json({ ...planJson(plan, warnings), applied: true })
      else if (done.length > 0) session.print.line(`applied: ${countsText(done)}`)
    })
}

function check({ conflicts, issues }: ApplyPlan, options: Options): void {
  if (issues.length > 0) throw new ConfigError(issues)
  if (conflicts.length > 0 && !options.force) {
    throw new UserError(
      `nothing was written, because of edits after the export (${titlesOf(conflicts)}): export again and merge, or overwrite with --force`,
    )
  }
}

/**
 * What was written is no longer what was exported; without a note of it, the next edit of the same file would be taken
 * for a conflict.
 */
function remember(
  path: string,
  file: TiersFile,
  stored: readonly StoredItem[],
  done: readonly Change[],
  { print }: Session,
): void {
  if (!file.exported || path === '-' || done.length === 0) return
  const items = stored.map(({ item }) => item)
  const wrong = stamp(path, exportedAfter(file, items, done))
  if (wrong !== undefined)
    print.note(`"exported" in ${path} cannot be updated, export again before the next edit: ${wrong}`)
}
