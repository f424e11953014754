/** How often the backend was called; denied requests do not count. */
export class BackendCalls {
  private readonly counts = new Map<string, number>()

  add(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
  }

  /** `routes` are by `GET /hello` and so on. */
  toJSON(): { readonly total: number; readonly routes: Readonly<Record<string, number>> } {
    const total = [...this.counts.values()].reduce((sum, count) => sum + count, 0)
    return { total, routes: Object.fromEntries(this.counts) }
  }
}
