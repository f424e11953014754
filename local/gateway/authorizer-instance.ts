import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AuthorizerError } from './authorizer'
import type { WorkerData, WorkerMessage } from './authorizer-worker'

export interface InstanceOptions {
  /** The file that Lambda would load; it exports `handler`. */
  readonly bundle: string
  /** The complete environment of the bundle. */
  readonly env: Readonly<Record<string, string>>
  /** @default 10 s, as for a Lambda authorizer */
  readonly timeoutMs?: number
  /** Gets what the bundle prints. */
  readonly log: (text: string) => void
}

const TIMEOUT_MS = 10_000
const WORKER = join(__dirname, 'authorizer-worker')

/**
 * One execution environment of the function: a thread that takes one event at a time, and is restarted after a crash or
 * a timeout.
 */
export class AuthorizerInstance {
  readonly #options: InstanceOptions
  readonly #timeoutMs: number
  #worker: Worker | undefined
  #isStopped = false

  constructor(options: InstanceOptions) {
    this.#options = options
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS
  }

  /** Must not be called again before it has settled. */
  async invoke(event: object): Promise<unknown> {
    if (this.#isStopped) throw new AuthorizerError('the authorizer is stopped')
    this.#worker ??= this.#start()
    const message = await this.#ask(this.#worker, JSON.stringify(event))
    if ('answer' in message) return JSON.parse(message.answer)
    throw new AuthorizerError(message.errorMessage, message.trace)
  }

  /** Stops it permanently: no waiting event starts a thread again. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#worker?.terminate()
  }

  #ask(worker: Worker, event: string): Promise<WorkerMessage> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        worker.off('message', onMessage).off('error', onError).off('exit', onExit)
        act()
      }
      const onMessage = (message: WorkerMessage) => settle(() => resolve(message))
      const onError = (error: Error) => settle(() => reject(new AuthorizerError(error.message, error.stack)))
      const onExit = (code: number) =>
        settle(() => reject(new AuthorizerError(`the authorizer exited with code ${code}`)))
      const timer = setTimeout(() => {
        this.#forget(worker)
        worker.terminate()
        settle(() => reject(new AuthorizerError(`the authorizer took longer than ${this.#timeoutMs} ms`)))
      }, this.#timeoutMs)
      worker.on('message', onMessage).on('error', onError).on('exit', onExit)
      worker.postMessage(event)
    })
  }

  #start(): Worker {
    const { bundle, env, log } = this.#options
    const worker = new Worker(workerCode(), {
      eval: true,
      env,
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: { bundle, timeoutMs: this.#timeoutMs } satisfies WorkerData,
    })
    worker.stdout.on('data', (chunk) => log(String(chunk)))
    worker.stderr.on('data', (chunk) => log(String(chunk)))
    worker.on('error', () => this.#forget(worker))
    worker.on('exit', () => this.#forget(worker))
    return worker
  }

  #forget(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined
  }
}

let code: string | undefined

/**
 * The package has the thread's compiled code. In a clone esbuild compiles it, since the loader that runs this file does
 * not apply to threads.
 */
function workerCode(): string {
  code ??= existsSync(`${WORKER}.js`) ? readFileSync(`${WORKER}.js`, 'utf8') : compiled(`${WORKER}.ts`)
  return code
}

function compiled(path: string): string {
  const { transformSync } = require('esbuild') as typeof import('esbuild')
  return transformSync(readFileSync(path, 'utf8'), { loader: 'ts', format: 'cjs', target: 'node20' }).code
}
