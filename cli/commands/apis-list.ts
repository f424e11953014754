import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { apisIn } from '../tables/api-labels'

export const addApisList: AddCommand = (group, session) => {
  describeTableCommand(group, 'list', 'List APIs with the names and labels that "apis" can use.', [
    'sluice apis list',
  ]).action(async (options: OutputOptions) => {
    const { print } = session
    const apis = apisIn(await (await session.connect(options).configTable()).policySet())
    if (options.json) return print.json(apis)
    if (apis.length === 0) return print.note('no API has a label yet: sluice apis label ID LABEL')
    print.table(
      ['id', 'label', 'name'],
      apis.map(({ id, label = '-', name = '-' }) => [id, label, name]),
    )
  })
}
