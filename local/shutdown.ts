/** Steps that stop what was started, in the opposite order. */
export class Shutdown {
  readonly #steps: (() => unknown)[] = []
  #done: Promise<void> | undefined

  get begun(): boolean {
    return this.#done !== undefined
  }

  /** A step added after the stop began, for something that was still starting, runs at once. */
  add(step: () => unknown): void {
    if (this.#done === undefined) this.#steps.push(step)
    else this.#done = this.#done.then(async () => void (await step()))
  }

  /** Safe to call twice. */
  run(): Promise<void> {
    this.#done ??= (async () => {
      for (const step of this.#steps.reverse()) await step()
    })()
    return this.#done
  }
}

/**
 * npm passes Ctrl-C on, so that it may reach this process twice: a second signal within this time is the same key
 * press.
 */
const SAME_KEY_PRESS_MS = 300

/**
 * Ends the process on a signal: with exit code 0 when everything has stopped, and at once with code 1 on a second
 * signal.
 */
export function stopOnSignals(shutdown: Shutdown): void {
  let firstAt: number | undefined
  const onSignal = () => {
    if (firstAt === undefined) {
      firstAt = Date.now()
      shutdown.run().then(
        () => process.exit(0),
        (error) => {
          console.error(error)
          process.exit(1)
        },
      )
    } else if (Date.now() - firstAt > SAME_KEY_PRESS_MS) process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
}
