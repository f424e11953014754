import { credentialOf } from '../callers/client-records'
import { toLine } from '../clients-file/cells'
import { cellsOf, EXPORTED } from '../clients-file/columns'
import { type AddCommand, describeCommand } from '../command'
import { UserError } from '../exit'
import { parseClientItem } from '../facade/callers'
import type { Mistake } from '../facade/values'
import { type TableOptions, tableOptions } from '../tables/connection'

interface Options extends TableOptions {
  readonly tier?: string
  readonly usageKeys?: boolean
}

/** Invalid records that are told one by one. */
const MAX_SHOWN = 10

export const addClientsExport: AddCommand = (group, session) => {
  const command = describeCommand(
    group,
    'export',
    'Print all clients as CSV for clients import: one line per credential. API keys are hashes. Reads the full config table.',
    ['sluice clients export > clients.csv', 'sluice clients export --tier pro'],
  )
  for (const option of tableOptions()) command.addOption(option)
  command
    .option('--tier <name>', 'only clients of this tier')
    .option(
      '--usage-keys',
      'also print usage identifier keys, which are secrets; otherwise an import leaves them alone',
    )
    .action(async (options: Options) => {
      const { print } = session
      const columns = options.usageKeys ? ([...EXPORTED, 'usageIdentifierKey'] as const) : EXPORTED
      const table = await session.connect(options).configTable()
      const invalid: string[] = []
      let count = 0
      let hidden = 0
      print.records([toLine(columns)])
      for await (const page of table.clientPages()) {
        const lines: string[] = []
        for (const { item } of page) {
          const issues: Mistake[] = []
          const client = parseClientItem(item, issues)
          if (!client) {
            invalid.push(`${credentialOf(item)}: ${issues.join('; ')}`)
            continue
          }
          if (options.tier !== undefined && client.tier !== options.tier) continue
          count++
          if (client.usageIdentifierKey !== undefined) hidden++
          lines.push(toLine(cellsOf(item, columns)))
        }
        print.records(lines)
      }
      if (hidden > 0 && !options.usageKeys)
        print.note(`${hidden} of ${count} have a usage identifier key, which is left out: --usage-keys prints it`)
      if (invalid.length > 0) {
        const more = invalid.length > MAX_SHOWN ? [`and ${invalid.length - MAX_SHOWN} more`] : []
        const lines = [...invalid.slice(0, MAX_SHOWN), ...more]
        throw new UserError([`${invalid.length} invalid records are left out:`, ...lines])
      }
    })
}
