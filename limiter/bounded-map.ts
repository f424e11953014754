/** A map that holds at most so many entries: past that, the entry that was set longest ago goes. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly most: number) {
    super()
  }

  /** Sets an entry, which becomes the newest, whether it was there before or not. */
  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.most) this.delete(this.keys().next().value!)
    return this
  }
}
