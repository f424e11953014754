import { unreadCredentials } from '../callers/unread-credentials'
import { type ClientChange, type ImportPlan, planImport } from '../clients-file/plan-import'
import { Mistakes, readRows } from '../clients-file/read-rows'
import { writeClients } from '../clients-file/write-clients'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { printed } from '../facade/values'
import { counted } from '../terminal/output'
import { confirm } from '../terminal/question'
import { readPolicySet } from '../tiers/read-policy-set'

interface Options extends OutputOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** Clients that are shown one by one. */
const MAX_SHOWN = 20

export const addClientsImport: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'import <file>',
    'Add and change clients from a CSV file ("-" is standard input). Shows the changes and asks first. Keys are stored as hashes; other clients are kept.',
    ['sluice clients import clients.csv --dry-run', 'sluice clients import clients.csv --yes'],
  )
    .option('--dry-run', 'show what would be done without doing it')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (file: string, options: Options) => {
      const { print, io } = session
      const mistakes = new Mistakes()
      const rows = await readRows(file, io.stdin, mistakes)
      mistakes.end()
      const connection = session.connect(options)
      const table = await connection.configTable()
      const { configuration } = readPolicySet((await table.policySet()).map(({ item }) => item))
      const plan = await planImport(rows, table.clientPages(), configuration, mistakes)
      const { identity } = configuration.policies.settings
      const records = rows.map(({ key, id }) => ({ item: { ...key, id }, exact: key }))
      const warnings = unreadCredentials(identity, records)
      const counts = { added: plan.added, changed: plan.changed, unchanged: plan.unchanged }
      if (!options.json) {
        for (const change of plan.changes.slice(0, MAX_SHOWN)) print.line(changeText(change))
        if (plan.changes.length > MAX_SHOWN) print.line(`… and ${plan.changes.length - MAX_SHOWN} more clients`)
        print.line(countsText(plan))
      }
      for (const warning of warnings) print.note(`warning: ${warning}`)
      if (options.dryRun) {
        if (options.json) print.json({ ...counts, warnings, written: false })
        else print.note('dry run: nothing was written')
        return
      }
      if (plan.changes.length > 0) {
        await confirm('Import these clients?', io, options, () => connection.describe('config'))
        await writeClients(session, table, plan.changes)
      }
      if (options.json) print.json({ ...counts, warnings, written: true })
      else if (plan.changes.length > 0) print.line(`imported: ${counted(plan.changes.length, 'client')}`)
    })
}

/** `+ acme`, `~ acme: tier, notes`; never a value, which may be a key. */
function changeText({ id, added, changed, fields }: ClientChange): string {
  const credentials = added > 0 ? counted(added, 'new credential') : ''
  if (changed === 0) return `+ ${printed(id)}: ${credentials}`
  return `~ ${printed(id)}: ${[fields.join(', '), credentials].filter((text) => text !== '').join('; ')}`
}

const countsText = ({ added, changed, unchanged }: ImportPlan): string =>
  `${counted(added, 'credential')} to add, ${changed} to change, ${unchanged} unchanged`
