import { fileOf } from '../../provisioning/tiers-file'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { tierKey } from '../facade/tables'
import { printed } from '../facade/values'
import { toYaml } from '../tiers/tiers-yaml'

export const addTiersGet: AddCommand = (group, session) => {
  describeTableCommand(group, 'get <name>', 'Print one tier as in a tiers file.', ['sluice tiers get free']).action(
    async (name: string, options: OutputOptions) => {
      const items = (await (await session.connect(options).configTable()).policySet()).map(({ item }) => item)
      const tier = items.find(({ sk }) => sk === tierKey(name).sk)
      if (!tier) {
        const known = Object.keys(fileOf(items).tiers).join(', ')
        throw new UserError(`there is no tier ${printed(name)}${known && `: known are ${known}`}`)
      }
      const { tiers } = fileOf([tier])
      if (options.json) session.print.json({ name, ...tiers[name] })
      else session.print.file(toYaml({ tiers }))
    },
  )
}
