import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Pair,
  type ParsedNode,
} from 'yaml'
import { ConfigError, Mistake } from '../facade/values'

/** The mistakes of a file with the line of each, as far as it stands in one: `(tiers.yaml:7, tier "free")`. */
export function withLines(error: ConfigError, document: Document, lines: LineCounter): ConfigError {
  return new ConfigError(
    error.mistakes.map((mistake) => {
      const { code, message, place } = mistake
      const offset = offsetOf(document, place.slice(1), fieldOf(message))
      if (offset === undefined) return mistake
      const [file] = place
      return new Mistake(code, message.replace(`(${file}`, `(${file}:${lines.linePos(offset).line}`), place)
    }),
  )
}

/** What the parts of a place stand for: keys of maps and indexes of lists, from the file's root. */
const STEPS: Readonly<Record<string, (name: string) => readonly (string | number)[]>> = {
  tier: (name) => ['tiers', name],
  route: (name) => ['routes', name],
  settings: (scope) => [`settings${scope && ` ${scope}`}`],
  global: () => ['global'],
  source: (number) => ['identity', Number(number) - 1],
  policy: (nameOrNumber) => ['policies', /^\d+$/.test(nameOrNumber) ? Number(nameOrNumber) - 1 : nameOrNumber],
}

/** Where a place begins in the text; `undefined` for what the text does not have. */
function offsetOf(document: Document, place: readonly string[], field: string | undefined): number | undefined {
  let node: unknown = document.contents
  let offset: number | undefined
  for (const part of place) {
    const [, kind = '', rest = ''] = /^(\w+) ?(.*)$/s.exec(part) ?? []
    for (const step of STEPS[kind]?.(unquoted(rest)) ?? []) {
      const found = childOf(document, node, step)
      if (!found) return offset
      ;({ node, offset = offset } = found)
    }
  }
  return (field === undefined ? undefined : childOf(document, node, field)?.offset) ?? offset
}

interface Child {
  readonly node: unknown
  readonly offset: number | undefined
}

/** A map's value by its key, a list's element by its index, or by its `name`. */
function childOf(document: Document, parent: unknown, step: string | number): Child | undefined {
  const node = isAlias(parent) ? parent.resolve(document) : parent
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : key) === step)
    return pair && { node: pair.value, offset: startOf((pair as Pair<ParsedNode>).key) }
  }
  if (!isSeq(node)) return undefined
  const found = node.items.find((item, i) => (typeof step === 'number' ? i === step : nameOf(item) === step))
  return found === undefined ? undefined : { node: found, offset: startOf(found) }
}

const nameOf = (item: unknown): unknown => (isMap(item) ? item.get('name') : undefined)

const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined)

/** A name as it was printed. */
function unquoted(text: string): string {
  try {
    return text.startsWith('"') ? String(JSON.parse(text)) : text
  } catch {
    return text
  }
}

/** The field that a sentence begins with: `limit must be …`, `unknown field "polices", …`. */
function fieldOf(message: string): string | undefined {
  const [, quoted, word] = /^(?:unknown field ("(?:[^"\\]|\\.)*")|(\w+) )/.exec(message) ?? []
  return quoted === undefined ? word : unquoted(quoted)
}
