import { type AddCommand, describeAnswering } from '../command'
import { type Switching, switchTo } from '../mode-switch'

export const addOff: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'off',
    'Switch all limits off, now: requests pass uncounted, whatever tiers and settings say. Blocks and credentials hold. Tiers files leave it alone.',
    ['sluice off', 'sluice off --note "incident 4711"'],
  )
    .option('--note <text>', 'why; usage, peek, doctor and tiers list show it')
    .action((options: Switching) => switchTo('off', session, options))
}
