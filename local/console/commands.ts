import { PassThrough } from 'node:stream'
import { Command } from 'commander'
import { type AddCommand, Session } from '../../cli/command'
import { addBlockAdd } from '../../cli/commands/block-add'
import { addBlockRemove } from '../../cli/commands/block-remove'
import { addRefund } from '../../cli/commands/refund'
import { addReset } from '../../cli/commands/reset'
import { addTiersApply } from '../../cli/commands/tiers-apply'
import { addTiersExport } from '../../cli/commands/tiers-export'
import { EXIT, failureOf } from '../../cli/exit'
import { Interrupts, type Io } from '../../cli/terminal/io'

/** The output of a command. */
export interface CommandOutput {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The streams and environment of a command line in this process. */
export function quietIo(env: Io['env']): { readonly io: Io; output(): Omit<CommandOutput, 'code'> } {
  let [out, err] = ['', '']
  const stdin = Object.assign(new PassThrough(), { isTTY: false })
  stdin.end()
  const stdout = {
    isTTY: false,
    columns: 200,
    write: (text: string) => {
      out += text
    },
  }
  const stderr = {
    write: (text: string) => {
      err += text
    },
  }
  return {
    io: { stdin, stdout, stderr, env, clock: Date.now, interrupts: new Interrupts() },
    output: () => ({ out: out.trim(), err: err.trim() }),
  }
}

/** The commands of the page, some of them in groups. */
const COMMANDS: Readonly<Record<string, readonly AddCommand[]>> = {
  '': [addRefund, addReset],
  block: [addBlockAdd, addBlockRemove],
  tiers: [addTiersApply, addTiersExport],
}

/** Runs a command line of `sluice` in this process: what the page does is what a terminal would do. */
export async function command(args: readonly string[], endpoint: string, env: Io['env']): Promise<CommandOutput> {
  const { io, output } = quietIo(env)
  const session = new Session(io, '')
  // so that `sluice history` distinguishes changes of the page from those of the command line
  session.commandName = `dev console: ${args.slice(0, Object.hasOwn(COMMANDS, args[0]!) ? 2 : 1).join(' ')}`
  const program = new Command('sluice').exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} })
  for (const [group, commands] of Object.entries(COMMANDS)) {
    const parent = group === '' ? program : program.command(group)
    for (const add of commands) add(parent, session)
  }
  try {
    await program.parseAsync([...args, '--endpoint', endpoint], { from: 'user' })
    return { code: EXIT.done, ...output() }
  } catch (error) {
    const { code, message } = failureOf(error)
    const { out, err } = output()
    return { code, out, err: [err, message].filter((text) => text !== '').join('\n') }
  } finally {
    session.close()
  }
}
