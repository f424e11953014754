import { fileOf, hashesOf } from '../../provisioning/tiers-file'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { toYaml } from '../tiers/tiers-yaml'

const HEADING = `# Tiers, routes and settings of Sluice. Edit, then: sluice tiers diff FILE, sluice tiers apply FILE.
# "exported" is how apply notices other people’s edits: do not change it.
`

export const addTiersExport: AddCommand = (group, session) => {
  describeTableCommand(group, 'export', 'Print all tiers, routes and settings as a tiers file.', [
    'sluice tiers export > tiers.yaml',
  ]).action(async (options: OutputOptions) => {
    const items = (await (await session.connect(options).configTable()).policySet()).map(({ item }) => item)
    const file = { ...fileOf(items), exported: hashesOf(items) }
    if (options.json) session.print.json(file)
    else session.print.file(HEADING + toYaml(file))
  })
}
