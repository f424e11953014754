import { type AddCommand, type Answering, describeAnswering } from '../command'
import { switchBack } from '../mode-switch'

export const addOn: AddCommand = (group, session) => {
  describeAnswering(group, 'on', 'End what sluice off or sluice observe on began. Counts go on where they were.', [
    'sluice on',
  ]).action((options: Answering) => switchBack(session, options))
}
