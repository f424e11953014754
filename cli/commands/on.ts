import { type AddCommand, type Answering, describeAnswering } from '../command'
import { switchBack } from '../mode-switch'

export const addOn: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'on',
    'Turn limits on again after sluice off or sluice observe on. Counters continue from their last values.',
    ['sluice on'],
  ).action((options: Answering) => switchBack(session, options))
}
