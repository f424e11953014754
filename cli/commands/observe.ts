import { type AddCommand, describeAnswering } from '../command'
import { UserError } from '../exit'
import { type Switching, switchBack, switchTo } from '../mode-switch'

export const addObserve: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'observe <on-or-off>',
    'Have all limits only observe: requests are counted and logged as they would be denied, and pass. Blocks and credentials hold.',
    ['sluice observe on --note "trying the new limits"', 'sluice observe off'],
  )
    .option('--note <text>', 'why; usage, peek, doctor and tiers list show it')
    .action((word: string, options: Switching) => {
      if (word === 'on') return switchTo('observe', session, options)
      if (word === 'off') return switchBack(session, options, 'observe')
      throw new UserError(`observe must be on or off, got "${word}"`)
    })
}
