import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Answer, Command, Contender, Taken, TakeSpec } from './contender'

const READY_WITHIN_MS = 60_000
const ONE: Omit<TakeSpec, 'limit' | 'prefix'> = { subjects: 1, requests: 1, inFlight: 1, cost: 1 }

/**
 * How a contender is started: it says `ready` on a line of its own, then answers a line with a line until its standard
 * input ends.
 */
export interface StartSpec {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** For one command: some SDKs retry for a long time when nothing answers. */
  readonly answersWithinMs: number
}

type Unnumbered<Line> = Line extends unknown ? Omit<Line, 'id'> : never

/** @throws with the end of what it printed on standard error when it does not become ready. */
export async function startContender({ name, command, args, env, answersWithinMs }: StartSpec): Promise<Contender> {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-2000)
  })
  child.stdin.on('error', () => {}) // the pipe of a process that has ended, which is handled below
  const waiting = new Map<number, (answer: Answer) => void>()
  const lines = createInterface({ input: child.stdout })
  const ready = new Promise<void>((resolve, reject) => {
    const impatience = setTimeout(
      () => reject(new Error(`${name} was not ready within ${READY_WITHIN_MS / 1000} s`)),
      READY_WITHIN_MS,
    )
    const gone = (reason: string): void => {
      clearTimeout(impatience)
      for (const [id, settle] of waiting) settle({ id, error: reason })
      reject(new Error(reason))
    }
    child.once('error', (error) => gone(`${name} did not start: ${error.message}`))
    child.once('exit', () => gone(`${name} ended: ${complaint.trim().split('\n').at(-1) ?? ''}`))
    lines.on('line', (line) => {
      if (line === 'ready') {
        clearTimeout(impatience)
        return resolve()
      }
      const answer = JSON.parse(line) as Answer
      waiting.get(answer.id)?.(answer)
      waiting.delete(answer.id)
    })
  })
  let last = 0
  const ask = (question: Unnumbered<Command>) =>
    new Promise<Taken | null>((resolve, reject) => {
      const id = ++last
      const impatience = setTimeout(() => {
        waiting.delete(id)
        reject(new Error(`no answer within ${answersWithinMs / 1000} s`))
      }, answersWithinMs)
      waiting.set(id, (answer) => {
        clearTimeout(impatience)
        if ('error' in answer) reject(new Error(`${name}: ${answer.error}`))
        else resolve(answer.value)
      })
      child.stdin.write(`${JSON.stringify({ ...question, id })}\n`)
    })
  const stop = () => end(child)
  try {
    await ready
  } catch (error) {
    await stop()
    throw error
  }
  return {
    name,
    stop,
    limit: async (spec) => void (await ask({ do: 'limit', ...spec })),
    take: async (spec) => (await ask({ do: 'take', ...ONE, ...spec })) as Taken,
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.stdin?.end()
  const impatience = setTimeout(() => child.kill('SIGKILL'), 5000)
  await exited
  clearTimeout(impatience)
}
