import { type AddCommand, describeCommand } from '../command'
import { readTiersFile } from '../tiers/tiers-yaml'

export const addTiersValidate: AddCommand = (group, session) => {
  describeCommand(group, 'validate <file>', 'Check a tiers file and list all its errors. Needs no table.', [
    'sluice tiers validate tiers.yaml',
  ])
    .option('--json', 'print JSON, for scripts')
    .action((path: string, { json }: { readonly json?: boolean }) => {
      const { tiers, routes = {} } = readTiersFile(path)
      const counts = { tiers: Object.keys(tiers).length, routes: Object.keys(routes).length }
      if (json) session.print.json({ valid: true, ...counts })
      else session.print.line(`${path} is valid: ${counts.tiers} tiers, ${counts.routes} routes`)
    })
}
