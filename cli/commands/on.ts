import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { switchBack } from '../tiers/mode-switch'

export const addOn: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'on',
    'Turn limits on again after sluice off or sluice observe on. Counters continue from their last values.',
    ['sluice on'],
  ).action((options: OutputOptions) => switchBack(session, options))
}
