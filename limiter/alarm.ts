/** Sleeps until a time has passed or somebody wakes it. */
export class Alarm {
  private ring = () => {}

  /** @returns whether that time has passed; not if it was woken before. */
  async sleep(ms: number): Promise<boolean> {
    const hasPassed = await new Promise<boolean>((resolve) => {
      // A referenced timer: a program that waits does not exit.
      const timer = setTimeout(() => resolve(true), Math.max(1, Math.ceil(ms)))
      this.ring = () => {
        clearTimeout(timer)
        resolve(false)
      }
    })
    this.ring = () => {}
    return hasPassed
  }

  wake(): void {
    this.ring()
  }
}
