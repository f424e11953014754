import { CommanderError } from 'commander'
import { Session } from '../cli/command'
import type { RunDev } from '../cli/dev-options'
import { EXIT, failureOf, linesOf } from '../cli/exit'
import { buildProgram } from '../cli/program'
import { type Io, processIo } from '../cli/terminal/io'

/**
 * Runs one command line.
 *
 * @param args what stands after `sluice`.
 * @returns the exit code: 0 done, 1 the user's mistake, 2 the service's failure, 3 a condition of
 * `--fail-if` holds, 130 ended by Ctrl-C with something
 * left to do.
 */
export async function run(args: readonly string[], io: Io, version = ''): Promise<number> {
  const session = new Session(io, version, runDev)
  try {
    await buildProgram(session, args[0])
      .parseAsync(args, { from: 'user' })
      .finally(() => session.tellTargets())
    return EXIT.done
  } catch (error) {
    // Commander has already printed the message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.mistake
    session.print.notes(linesOf(error))
    return failureOf(error).code
  } finally {
    session.close()
  }
}

/** The local gateway is loaded only by `sluice dev`: the other commands start without it. */
const runDev: RunDev = (options, io) => (require('../local/dev') as typeof import('../local/dev')).runDev(options, io)

/** The process: what `sluice.js` starts. */
export async function main(version: string): Promise<void> {
  // The SDK's advice is for services, not for users of a command.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  process.exitCode = await run(process.argv.slice(2), processIo(), version)
}
