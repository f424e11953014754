import { Argument } from 'commander'
import { type AddCommand, describeCommand } from '../command'
import { completionScript, SHELLS, type Shell } from '../terminal/completion'

export const addCompletion: AddCommand = (group, session) => {
  describeCommand(
    group,
    'completion',
    'Print a script that completes commands and options in a shell: also behind npx.',
    ['eval "$(sluice completion bash)"', 'sluice completion fish | source'],
  )
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action((shell: Shell) => session.print.file(completionScript(group, shell)))
}
