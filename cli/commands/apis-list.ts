import { apisIn } from '../api-labels'
import { type AddCommand, type Answering, describeAnswering } from '../command'

export const addApisList: AddCommand = (group, session) => {
  describeAnswering(group, 'list', 'List APIs with the names and labels that "apis" of tiers and routes can use.', [
    'sluice apis list',
  ]).action(async (options: Answering) => {
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
