import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A file that runs in a process of its own and answers questions. */
export interface Child {
  readonly process: ChildProcess
  /**
   * Sends a question with a number, and waits for the answer with that number. Rejects when the child failed to answer
   * it, or ended.
   */
  ask<Answer>(question: object): Promise<Answer>
  /** Ends the child: closes the channel, or sends a signal where that does not end it. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface ChildOptions {
  readonly args?: readonly string[]
  /** The child's whole environment. @default this process's */
  readonly env?: NodeJS.ProcessEnv
  /** A file that Node loads first. */
  readonly preload?: string
  /** Options of Node itself. */
  readonly execArgv?: readonly string[]
}

/** The answer to one question. */
export type Reply = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string }

/** Starts compiled files as they are, and with TypeScript among them through tsx, like the bench itself. */
export function startChild(file: string, { args = [], env, preload, execArgv = [] }: ChildOptions = {}): Child {
  const isTypeScript = [file, preload].some((path) => path?.endsWith('.ts'))
  const loader = isTypeScript ? ['--require', require.resolve('tsx/cjs'), '--import', 'tsx'] : []
  const preloaded = preload === undefined ? [] : ['--require', preload]
  const child = fork(file, args, {
    execArgv: [...execArgv, ...loader, ...preloaded],
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  child.stdout?.resume() // a full pipe would stop the child
  const waiting = new Map<number, (reply: Reply) => void>()
  let last = 0
  child.on('message', (reply: Reply) => {
    waiting.get(reply.id)?.(reply)
    waiting.delete(reply.id)
  })
  child.once('exit', (code, signal) => {
    for (const [id, settle] of waiting)
      settle({ id, error: `${file} ended with ${signal ?? `code ${code}`} before it answered` })
  })
  return {
    process: child,
    ask: <Answer>(question: object) =>
      new Promise<Answer>((resolve, reject) => {
        if (!child.connected) return reject(new Error(`${file} has already stopped`))
        const id = ++last
        waiting.set(id, (reply) => ('error' in reply ? reject(new Error(reply.error)) : resolve(reply.value as Answer)))
        child.send({ ...question, id })
      }),
    stop: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      if (signal) child.kill(signal)
      else child.disconnect()
      await exited
    },
  }
}
