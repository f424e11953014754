import { type AddCommand, describeTableCommand } from '../command'
import { type SwitchOptions, switchTo } from '../tiers/mode-switch'

export const addOff: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'off',
    'Turn all limits off now: requests pass uncounted, whatever tiers and settings say. Blocks and credentials still apply.',
    ['sluice off', 'sluice off --note "incident 4711"'],
  )
    .option('--note <text>', 'reason, shown by usage, peek, doctor and tiers list')
    .option('-y, --yes', 'do not ask for confirmation')
    .action((options: SwitchOptions) => switchTo('off', session, options))
}
