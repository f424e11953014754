import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

const READY_WITHIN_MS = 60_000

/** The answer to one request. */
export interface Answered {
  /** Of HTTP; `undefined` if there was none in time. */
  readonly status: number | undefined
  /** Seconds, as `Retry-After` says. */
  readonly retryAfter: number | undefined
  readonly ms: number
}

/** A program of the comparison as a process, asked over HTTP. */
export interface RunningProgram {
  /** One request with this API key, given up after so many milliseconds. */
  ask(apiKey: string, withinMs: number): Promise<Answered>
  stop(): Promise<void>
}

/**
 * Starts a program and returns when it has let a request pass: some make their table first.
 *
 * @param endpoint the URL of its store, by the name that the store's own client reads.
 * @throws with the end of what it printed on standard error when it does not get so far.
 */
export async function startProgram(script: string, endpoint: string | undefined): Promise<RunningProgram> {
  const child = spawn(process.execPath, [script], { env: environment(endpoint), stdio: ['ignore', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-2000)
  })
  const stop = () => end(child)
  try {
    const url = await addressOf(child)
    const ask = (apiKey: string, withinMs: number) => request(url, apiKey, withinMs)
    const until = performance.now() + READY_WITHIN_MS
    while ((await ask('first', READY_WITHIN_MS)).status !== 200) {
      if (performance.now() > until || child.exitCode !== null) throw new Error('it lets no request pass')
      await sleep(50)
    }
    return { ask, stop }
  } catch (error) {
    await stop()
    throw new Error(`${script}: ${(error as Error).message}: ${complaint.trim()}`)
  }
}

const environment = (endpoint: string | undefined): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  NODE_ENV: 'production',
  ...(endpoint && {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_ENDPOINT_URL: endpoint,
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    UPSTASH_REDIS_REST_URL: endpoint,
    UPSTASH_REDIS_REST_TOKEN: 'bench',
  }),
})

/** Each prints where it listens. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
    child.stdout!.on('data', (chunk) => {
      printed += chunk
      const [, port] = /port: (\d+)/.exec(printed) ?? []
      if (port !== undefined) resolve(`http://127.0.0.1:${port}/`)
    })
  })
}

async function request(url: string, apiKey: string, withinMs: number): Promise<Answered> {
  const start = performance.now()
  const answered = (status?: number, header?: string | null): Answered => ({
    status,
    retryAfter: header ? Number(header) : undefined,
    ms: performance.now() - start,
  })
  try {
    const response = await fetch(url, { headers: { 'x-api-key': apiKey }, signal: AbortSignal.timeout(withinMs) })
    await response.text()
    return answered(response.status, response.headers.get('retry-after'))
  } catch {
    return answered()
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
