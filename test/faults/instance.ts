import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import vm from 'node:vm'
import { eventOf } from '../../bench/authorizer-event'

/** The fields of a decision's context that the tests read. */
export interface Told {
  readonly allowed: boolean
  readonly reason: string
  readonly degraded: boolean
  readonly remaining: number
  readonly subject: string
  readonly tier: string
}

/** One function instance, called as API Gateway calls it. Rejects with the error of the handler. */
export interface Instance {
  ask(request: { readonly ip: string; readonly apiKey?: string }): Promise<Told>
  /** Answers any event, as through Lambda's runtime. */
  handle(event: object): Promise<unknown>
  /** The lines that it has logged. */
  readonly log: readonly string[]
}

interface Loaded {
  exports: { handler(event: object): Promise<{ isAuthorized: boolean; context: Told }> }
}

/**
 * The files that Lambda loads, to be loaded any number of times: each is an instance with a memory and connections of
 * its own.
 */
export class Bundle {
  private readonly scripts = new Map<string, vm.Script>()

  constructor(private readonly file: string) {}

  /** @param environment variables of this instance, in addition to those of this process. */
  open(environment: Readonly<Record<string, string>>): Instance {
    const log: string[] = []
    const note = (line: string) => void log.push(line)
    const own = { info: note, warn: note, error: note, log: note }
    const itself = Object.create(process, {
      env: { value: { ...process.env, ...environment } },
      stdout: { value: { write: note } },
    })
    const files = new Map<string, Loaded>()
    const load = (file: string): Loaded => {
      const known = files.get(file)
      if (known) return known
      const module = { exports: {} } as Loaded
      files.set(file, module)
      const requireOf = (name: string) =>
        name.startsWith('.') ? load(join(dirname(file), name)).exports : require(name)
      this.scriptOf(file).runInThisContext()(module.exports, requireOf, module, file, dirname(file), own, itself)
      return module
    }
    const module = load(this.file)
    const { handler } = module.exports
    return {
      log,
      handle: (event) => handler(event),
      async ask(request) {
        const { isAuthorized, context } = await handler(eventOf({ path: '/hello', ...request }))
        if (isAuthorized !== context.allowed)
          throw new Error(`the answer is ${isAuthorized}, and its context says ${context.allowed}`)
        return context
      },
    }
  }

  private scriptOf(file: string): vm.Script {
    const parameters = 'exports, require, module, __filename, __dirname, console, process'
    const script =
      this.scripts.get(file) ??
      new vm.Script(`(function (${parameters}) {${readFileSync(file, 'utf8')}\n})`, {
        filename: file,
        importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      })
    this.scripts.set(file, script)
    return script
  }
}
