import { costsOfNothing } from '../callers/named-costs'
import { unreadKeys } from '../callers/unread-credentials'
import { type AddCommand, describeCommand } from '../command'
import { parseTiersFile } from '../facade/policies'
import { counted } from '../terminal/output'
import { readTiersFile } from '../tiers/tiers-yaml'

export const addTiersValidate: AddCommand = (group, session) => {
  describeCommand(group, 'validate <file>', 'Check a tiers file and list all its errors. Needs no table.', [
    'sluice tiers validate tiers.yaml',
  ])
    .option('--json', 'print JSON')
    .action((path: string, { json }: { readonly json?: boolean }) => {
      const file = readTiersFile(path)
      const { tiers, routes = {} } = file
      const set = parseTiersFile(file, path)
      const warnings = [...unreadKeys(set.settings.identity), ...costsOfNothing(set)]
      const counts = { tiers: Object.keys(tiers).length, routes: Object.keys(routes).length }
      if (json) session.print.json({ valid: true, ...counts, warnings })
      else session.print.line(`${path} is valid: ${counted(counts.tiers, 'tier')}, ${counted(counts.routes, 'route')}`)
      if (!json) for (const warning of warnings) session.print.note(`warning: ${warning}`)
    })
}
