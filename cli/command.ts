import { type Command, Option } from 'commander'
import { newChangeId } from '../provisioning/audit-trail'
import type { RunDev } from './dev-options'
import { Connection, type TableOptions, tableOptions } from './tables/connection'
import type { LocalGateway } from './tables/gateway-files'
import { meantGateway } from './tables/local-gateway'
import type { Io } from './terminal/io'
import { Printer } from './terminal/output'

/** One run of the command line. */
export class Session {
  readonly print: Printer
  private readonly connections: Connection[] = []
  /** The one that a command means whose options name none. */
  gateway: LocalGateway | undefined
  /** The same, of which nobody has been told yet. */
  private found: LocalGateway | undefined
  /** The command that runs, such as `tiers apply`. */
  commandName = ''
  /** By which the audit trail knows the changes of this run. */
  readonly change = newChangeId()

  constructor(
    readonly io: Io,
    readonly version: string,
    /** The local gateway. @default none: only the whole program has it, for `sluice dev` */
    readonly runDev?: RunDev,
  ) {
    this.print = new Printer(io)
  }

  /**
   * Looks for a local gateway that a command means whose options do not say where the tables are. Its tables are those
   * of `connect` then.
   */
  async findLocalGateway(where: TableOptions): Promise<void> {
    this.gateway = await meantGateway(where, this.io.env)
    this.found = this.gateway
  }

  connect(stated: TableOptions): Connection {
    if (this.found) this.print.note(`tables of the local gateway at ${this.found.address}`)
    this.found = undefined
    const where = this.gateway ? { ...stated, endpoint: this.gateway.dynamodb } : stated
    const named = () => `sluice ${this.commandName}`.trim()
    const connection = new Connection(where, this.io.env, (text) => this.print.note(text), {
      change: this.change,
      get how() {
        return named()
      },
      clock: this.io.clock,
    })
    this.connections.push(connection)
    return connection
  }

  /** Says which tables were written to, whether the command came to its end or not. */
  async tellTargets(): Promise<void> {
    for (const connection of this.connections) {
      const targets = await connection.targets()
      if (targets !== undefined) this.print.note(`written: ${targets}`)
    }
  }

  close(): void {
    for (const connection of this.connections) connection.close()
  }
}

/** Puts one command under its group: one file of `commands/` each. */
export type AddCommand = (group: Command, session: Session) => void

/** The options that every command with an answer has. */
export interface OutputOptions extends TableOptions {
  readonly json?: boolean
}

const EXAMPLES = new WeakMap<Command, readonly string[]>()

/** Makes a command with a sentence about it and examples, which `--help` and docs/cli.md show. */
export function describeCommand(
  group: Command,
  usage: string,
  description: string,
  examples: readonly string[],
): Command {
  const command = group.command(usage).description(description)
  EXAMPLES.set(command, examples)
  const many = examples.length > 1 ? 'Examples' : 'Example'
  return command.addHelpText('after', `\n${many}:\n${examples.map((example) => `  $ ${example}`).join('\n')}`)
}

/** The options of every command that talks to the tables and can answer scripts. */
const sharedOptions = (): Option[] => [new Option('--json', 'print JSON'), ...tableOptions()]

/** Makes a command that has them. */
export function describeTableCommand(...about: Parameters<typeof describeCommand>): Command {
  const command = describeCommand(...about)
  for (const option of sharedOptions()) command.addOption(option)
  return command
}

/** Lets these options, and `--yes`, stand before the commands of a program or a group, too. */
export function addSharedOptions(parent: Command): Command {
  for (const option of [...sharedOptions(), new Option('-y, --yes', 'do not ask for confirmation')])
    parent.addOption(option.hideHelp())
  return parent
}

/** Gives a command the shared options that stand before it. What stands after it counts. */
export function takeSharedOptions(command: Command): void {
  for (let parent = command.parent; parent; parent = parent.parent) {
    for (const option of parent.options) {
      const name = option.attributeName()
      if (!option.hidden || parent.getOptionValueSource(name) === undefined) continue
      if (!command.options.some(({ long }) => long === option.long))
        command.error(`error: unknown option '${option.long}'`)
      if (command.getOptionValueSource(name) !== 'cli')
        command.setOptionValueWithSource(name, parent.getOptionValue(name), 'cli')
    }
  }
}

export const examplesOf = (command: Command): readonly string[] => EXAMPLES.get(command) ?? []
