import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, CommanderError } from 'commander'
import { Session } from '../../../cli/command'
import { buildProgram } from '../../../cli/program'
import { NOBODY } from '../../cli/command-line'

const { scripts } = JSON.parse(readFileSync(join(__dirname, '..', '..', '..', 'package.json'), 'utf8'))
const BUILT_IN = ['ci', 'exec', 'i', 'init', 'install', 'pack', 'pkg', 'publish', 'uninstall', 'view']

/** What is wrong with the commands of this project in a text of shell: nothing is run. */
export async function commandMistakes(shell: string): Promise<string[]> {
  const mistakes = []
  for (const words of commandsIn(shell)) {
    const found = await commandMistake(words)
    if (found !== undefined) mistakes.push(`${words.join(' ')}: ${found}`)
  }
  return mistakes
}

/** What is wrong with a command that prose mentions, whose arguments may be left out. */
export async function mentionMistakes(code: string): Promise<string[]> {
  return (await commandMistakes(code)).filter(
    (text) => !/missing required argument|argument missing|names a group$/.test(text),
  )
}

async function commandMistake([first, ...rest]: readonly string[]): Promise<string | undefined> {
  if (first === 'sluice') return parseMistake(rest)
  if (first === 'npx' && rest[0] === 'sluice') return parseMistake(rest.slice(1))
  if (first !== 'npm') return undefined
  const [name, script] = rest
  if (name === 'run') return script! in scripts ? undefined : `there is no script ${script}`
  return name! in scripts || BUILT_IN.includes(name!) ? undefined : `npm has no command ${name}`
}

/** What commander says of the arguments; no command acts. */
async function parseMistake(args: readonly string[]): Promise<string | undefined> {
  const program = buildProgram(new Session({ env: NOBODY, stdout: {}, stderr: {} } as never, '0.0.0'))
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} })
    if (command.commands.length === 0) command.action(() => {})
  }
  try {
    await program.parseAsync(args, { from: 'user' })
    return undefined
  } catch (error) {
    if (!(error instanceof CommanderError)) return (error as Error).message
    if (error.code === 'commander.help') return 'names a group'
    return error.exitCode === 0 ? undefined : error.message.replace(/^error: /, '')
  }
}

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

const WORD =
  /\s*(?:(#.*)|(\d?[<>]{1,2}\s*(?!\w+>)[\w./-]+|\d?>&\d)|(&&|\|\|?|;|&)|((?:"(?:\\.|[^"])*"|'[^']*'|\\.|[^\s"'\\;&|#<>]|<[\w-]+>|(?<=\S)#)+))/gy

/** The simple commands of a text, each as its words; comments, redirections and assignments in front are left out. */
export function commandsIn(shell: string): string[][] {
  return shell
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .flatMap((line) => {
      const commands: string[][] = [[]]
      for (const [, comment, redirection, separator, word] of line.replace(/^\s*\$ /, '').matchAll(WORD)) {
        if (comment !== undefined) break
        if (separator !== undefined) commands.push([])
        else if (redirection === undefined) commands.at(-1)!.push(unquoted(word!))
      }
      return commands.map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    })
    .filter((words) => words.length > 0)
}

const unquoted = (word: string): string =>
  word.replaceAll(/"((?:\\.|[^"])*)"|'([^']*)'|\\(.)/g, (_, double, single, escaped) => double ?? single ?? escaped)
