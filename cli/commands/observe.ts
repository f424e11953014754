import { type AddCommand, describeTableCommand } from '../command'
import { UserError } from '../exit'
import { type SwitchOptions, switchBack, switchTo } from '../tiers/mode-switch'

export const addObserve: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'observe <on-or-off>',
    'Make all limits observe only: requests over a limit are counted, logged and allowed. Blocks and credentials still apply.',
    ['sluice observe on --note "trying the new limits"', 'sluice observe off'],
  )
    .option('--note <text>', 'reason, shown by usage, peek, doctor and tiers list')
    .option('-y, --yes', 'do not ask for confirmation')
    .action((word: string, options: SwitchOptions) => {
      if (word === 'on') return switchTo('observe', session, options)
      if (word === 'off') return switchBack(session, options, 'observe')
      throw new UserError(`observe must be on or off, got "${word}"`)
    })
}
