import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { untilItAnswers } from './answers'
import type { Engine } from './engine'

const STOPS_WITHIN_MS = 2000

/**
 * Runs the engine until its standard input ends. The pipe ends however this process ends, so the engine never outlives
 * it. Node itself does this, since not every system has a shell that could.
 */
const UNTIL_STDIN_ENDS = `
  const [command, ...args] = process.argv.slice(1)
  const engine = require('node:child_process').spawn(command, args, { stdio: 'ignore', windowsHide: true })
  engine.once('error', () => process.exit(1))
  engine.once('exit', (code) => process.exit(code ?? 1))
  const stop = () => {
    engine.kill()
    setTimeout(() => engine.kill('SIGKILL'), ${STOPS_WITHIN_MS}).unref()
  }
  process.stdin.once('end', stop).once('error', stop).resume()`

/** An engine to run as a child process, and where it will listen. */
export interface EngineCommand extends Pick<Engine, 'name' | 'endpoint'> {
  readonly command: string
  readonly args: readonly string[]
  /** Folder and environment to run in. @default this process's */
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly answersWithinMs: number
  /** Whether this process may come to its end while the engine runs, which ends with it. @default false */
  readonly isLeftRunning?: boolean
}

/**
 * Starts an engine in a process of its own, which ends with this one. Returns when it answers; throws the reason if it
 * does not.
 */
export async function startEngineProcess({
  name,
  endpoint,
  command,
  args,
  cwd,
  env,
  answersWithinMs,
  isLeftRunning = false,
}: EngineCommand): Promise<Engine> {
  const child = spawn(process.execPath, ['-e', UNTIL_STDIN_ENDS, '--', command, ...args], {
    cwd,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
    // A group of its own: Ctrl-C goes to the whole group of the terminal, and requests under way still need the engine.
    detached: true,
  })
  child.stdin.on('error', () => {}) // the pipe of a child that is gone
  const died = new AbortController()
  child.once('exit', () => died.abort())
  child.once('error', () => died.abort())
  try {
    await untilItAnswers(endpoint, answersWithinMs, died.signal)
  } catch (error) {
    await stop(child)
    throw error
  }
  if (isLeftRunning) {
    child.unref()
    ;(child.stdin as Socket).unref()
  }
  return { name, endpoint, stop: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.stdin?.end()
  await exited
}
