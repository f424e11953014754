import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Ask, Reply } from './authorizer-child'

/** One function instance as a process. */
export class AuthorizerProcess {
  private constructor(private readonly child: ChildProcess) {}

  /** @param bundle the file that Lambda loads. @param folder where what is built for it may lie. */
  static async start(
    bundle: string,
    folder: string,
    environment: Readonly<Record<string, string>>,
  ): Promise<AuthorizerProcess> {
    const outfile = join(folder, 'authorizer-child.js')
    await build({
      entryPoints: [join(__dirname, 'authorizer-child.ts')],
      bundle: true,
      platform: 'node',
      outfile,
      logLevel: 'error',
    })
    const env = { ...process.env, ...environment }
    const child = fork(outfile, [bundle], { env, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    await once(child, 'message')
    return new AuthorizerProcess(child)
  }

  /** Sends simultaneous requests. They wait while the process is stopped. */
  async ask(...requests: Ask['requests']): Promise<Reply> {
    const answered = once(this.child, 'message')
    this.child.send({ requests } satisfies Ask)
    return (await answered)[0]
  }

  /** Freezes the process, as Lambda does between invocations. */
  freeze(): void {
    this.child.kill('SIGSTOP')
  }

  thaw(): void {
    this.child.kill('SIGCONT')
  }

  stop(): void {
    this.child.kill('SIGKILL')
  }
}
