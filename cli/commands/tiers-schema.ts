import { type AddCommand, describeCommand } from '../command'
import { tiersSchema } from '../tiers/tiers-schema'

export const addTiersSchema: AddCommand = (group, session) => {
  describeCommand(group, 'schema', 'Print the JSON Schema of tiers files, for editors. Needs no table.', [
    'sluice tiers schema > tiers.schema.json',
  ]).action(() => session.print.json(tiersSchema()))
}
