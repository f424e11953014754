type Listener = (at: number, isPassing: boolean) => void

/** The moment that is shown, in milliseconds from the start. It moves sixty times a second, beside the components. */
export class Playhead {
  private moment = 0
  private readonly listeners = new Set<Listener>()

  get at(): number {
    return this.moment
  }

  /** @param isPassing whether the next moment comes with the next frame, so that what nobody sees may wait. */
  moveTo(at: number, isPassing = false): void {
    this.moment = at
    for (const listener of this.listeners) listener(at, isPassing)
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }
}
