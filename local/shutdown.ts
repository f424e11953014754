/** What has been started, to be stopped in the opposite order. */
export class Shutdown {
  readonly #steps: (() => unknown)[] = []
  #done: Promise<void> | undefined

  get begun(): boolean {
    return this.#done !== undefined
  }

  /** Also takes what was still starting when the stop began: that is stopped at once. */
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
 * Ctrl-C reaches this process twice when npm passes it on as well: what follows the first within this time is the same
 * key press.
 */
const SAME_KEY_PRESS_MS = 300

/** Ends the process when it is told to: exit code 0 when all has stopped, and at once with code 1 when told again. */
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
