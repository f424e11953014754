/** Steps that stop what was started, in the opposite order. */
export class Shutdown {
  readonly #steps: (() => unknown)[] = []
  #done: Promise<void> | undefined

  get begun(): boolean {
    return this.#done !== undefined
  }

  /** A step that is added after the stop began, for something that was still starting, runs at once. */
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
