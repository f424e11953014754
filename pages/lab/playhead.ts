/** The moment that is shown, in milliseconds from the start. It moves sixty times a second, beside the components. */
export class Playhead {
  private moment = 0
  private readonly listeners = new Set<(at: number) => void>()

  get at(): number {
    return this.moment
  }

  moveTo(at: number): void {
    this.moment = at
    for (const listener of this.listeners) listener(at)
  }

  subscribe(listener: (at: number) => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }
}
