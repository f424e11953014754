import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import type { Change } from '../../provisioning/tiers-file'
import { gather } from '../arguments'
import { historyOf, type RecordedChange, recordsIn } from '../changes/history'
import { planRollback, type RollbackPlan } from '../changes/plan-rollback'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { ConfigError } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { confirm } from '../terminal/question'
import { planApply } from '../tiers/apply-plan'
import { countsText } from '../tiers/diff-text'
import { planJson, printPlan, warningsOf } from '../tiers/plan-text'
import { titlesOf } from '../tiers/titles'
import { writeChanges } from '../tiers/write-changes'

interface Options extends OutputOptions {
  readonly yes?: boolean
  readonly overwrite?: readonly string[]
}

export const addTiersRollback: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'rollback <change>',
    'Undo a change of tiers, routes or settings: by its id in sluice history or a prefix of it. Shows the ' +
      'differences and asks first. Items that were edited since are refused.',
    ['sluice tiers rollback 3f2a9c01d7', 'sluice tiers rollback 3f2a9c01d7 --overwrite tier#free'],
  )
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--overwrite <item>', 'undo this item although it was edited since; repeatable', gather)
    .action(async (id: string, options: Options) => {
      const connection = session.connect(options)
      const table = await connection.configTable()
      const change = await findChange(table, id)
      session.commandName = `tiers rollback ${change.change}` // what its own record says
      const stored = await table.policySet()
      const items = stored.map(({ item }) => item)
      const back = planRollback(change, items)
      check(back, options.overwrite ?? [])
      const plan = { ...planApply(items, back.file, true), conflicts: back.edited }
      const warnings = [
        ...(await warningsOf(plan, table, session.io.clock())),
        ...(back.left.length > 0 ? [`not undone, because they are not tiers: ${titlesOf(back.left)}`] : []),
      ]
      if (!options.json) printPlan({ ...plan, conflicts: [] }, warnings, session.print)
      if (plan.issues.length > 0) throw new ConfigError(plan.issues)

      const done: Change[] = []
      if (plan.changes.length > 0) {
        const question = `Undo what ${change.how} did at ${change.at}, by ${change.by}?`
        await confirm(question, session.io, options, () => connection.describe('config'))
        await session.io.interrupts.during((pressed) =>
          writeChanges(
            table,
            stored,
            plan.changes,
            (one) => done.push(one),
            pressed,
            (text) => session.print.note(text),
          ),
        )
      }
      if (options.json)
        session.print.json({ ...planJson(plan, warnings), undone: change.change, change: session.change })
      else if (done.length > 0) session.print.line(`undone: ${countsText(done)}`)
    })
}

/** The change with this id, or the only one whose id begins so. */
async function findChange(table: ConfigTable, id: string): Promise<RecordedChange> {
  const records = recordsIn(await table.partition(AUDIT_PARTITION))
  const begun = records.filter(({ change }) => id !== '' && change.startsWith(id))
  const exact = begun.filter(({ change }) => change === id)
  const found = historyOf(exact.length > 0 ? exact : begun, [], () => false, 0).changes
  const [change] = found
  if (change && found.length === 1) return change
  if (change) throw new UserError(`"${id}" begins the ids of ${found.length} changes: ${candidatesText(found)}`)
  throw new UserError(`no change "${id}" is in the audit trail, which keeps 400 days: see sluice history --since 400d`)
}

const MAX_CANDIDATES = 10

/** `3f2a9c01d7 (sluice tiers apply at 2026-11-23T10:00:00.000Z), …`. */
function candidatesText(changes: readonly RecordedChange[]): string {
  const shown = changes.slice(0, MAX_CANDIDATES).map(({ change, how, at }) => `${change} (${how} at ${at})`)
  const more = changes.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function check({ edited, cut }: RollbackPlan, overwrite: readonly string[]): void {
  if (cut.length > 0)
    throw new UserError(
      `nothing was written: ${titlesOf(cut)} was too large to be recorded, so what it was is not known`,
    )
  const unknown = overwrite.filter((sk) => !edited.includes(sk))
  if (unknown.length > 0)
    throw new UserError(`nothing was written: --overwrite names ${unknown.join(', ')}, which was not edited since`)
  const refused = edited.filter((sk) => !overwrite.includes(sk))
  if (refused.length > 0) {
    const options = refused.map((sk) => `--overwrite ${/^[\w#.-]+$/.test(sk) ? sk : JSON.stringify(sk)}`).join(' ')
    throw new UserError(
      `nothing was written: ${titlesOf(refused)} was edited since that change: look at sluice history, and undo the edit with it by ${options}`,
    )
  }
}
