/** After so many lines that are not alike, another one is learned from. */
const UNLIKE = 16
/** Names of a line that is learned from, at most. */
const MAX_NAMES = 100

/** A text of JSON without escapes. */
const TEXT = '([^"\\\\\\u0000-\\u001f]*)'

/**
 * Reads JSON objects that have the names of an earlier one, in its order, with texts for values and no space between,
 * as nearly all lines of an access log do: by a regular expression made of the names, in a fourth of the time that
 * `JSON.parse` takes.
 *
 * What it reads is what `JSON.parse` reads. What it does not, may be anything.
 */
export class AlikeLines {
  /** Of the lines that are read. */
  names: readonly string[] = []
  private columns: ReadonlyMap<string, number> = new Map()
  private pattern: RegExp | undefined
  private values: readonly string[] = []
  private unlike = UNLIKE

  /** Whether the line is alike; then `value` tells its values. */
  read(text: string): boolean {
    const values = this.pattern?.exec(text)
    if (values) this.values = values
    this.unlike = values ? 0 : this.unlike + 1
    return Boolean(values)
  }

  /** A value of the line that was read last. */
  readonly value = (name: string): string | undefined => {
    const column = this.columns.get(name)
    return column === undefined ? undefined : this.values[column]
  }

  /** Lines like this one are read from now on, if those that are known have not come for a while. */
  learn(fields: Readonly<Record<string, unknown>>): void {
    if (this.unlike < UNLIKE) return
    const names = Object.keys(fields)
    const isPlain = names.every((name) => PLAIN.test(name) && typeof fields[name] === 'string')
    if (!isPlain || names.length === 0 || names.length > MAX_NAMES) return
    this.unlike = 0
    this.names = names
    this.columns = new Map(names.map((name, i) => [name, i + 1]))
    this.pattern = new RegExp(
      `^\\{${names.map((name) => `"${name.replace(/[.$-]/g, '\\$&')}":"${TEXT}"`).join(',')}\\}$`,
    )
  }
}

/** A name that stands in JSON as it is. */
const PLAIN = /^[\w.$@ -]{1,100}$/
