import { bySpecificity, CONNECT, type RoutePattern } from './route-pattern'

interface Routed {
  readonly pattern: RoutePattern
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>
  /** Where a parameter leads, which any segment matches. */
  one?: Node<R>
  /** Routes that end at this node. */
  readonly here: R[]
  /** Routes that match this node's path with anything behind it. */
  readonly rest: R[]
}

const newNode = <R>(): Node<R> => ({ literals: new Map(), here: [], rest: [] })

/**
 * Routes by path, found in one walk along a request's segments, however many routes there are.
 *
 * Of several that match, the most specific one: segment by segment a literal before a parameter before the rest, then
 * the method. Paths are matched both with and without regard to case, since some backends distinguish case and others
 * do not.
 */
export class RouteTable<R extends Routed> {
  private readonly exact: Node<R>
  private folded: Node<R> | undefined
  /** Whether no literal has letters with case: then a path without them finds the same routes either way. */
  private readonly lowerCase: boolean
  private readonly connect: readonly R[]

  constructor(private readonly routes: readonly R[]) {
    this.exact = treeOf(routes, (literal) => literal)
    this.lowerCase = routes.every(({ pattern }) =>
      pattern.segments.every((one) => typeof one === 'string' || !hasCase(one.literal)),
    )
    this.connect = routes.filter(({ pattern }) => pattern.text === CONNECT)
  }

  /**
   * The routes for a path, usually one or none: for backends that distinguish case and those that do not, and for those
   * that take an empty segment as a parameter's value and those that do not.
   */
  find(method: string, segments: readonly string[]): readonly (readonly R[])[] {
    const methods = method === 'HEAD' ? HEAD : [method, 'ANY']
    const find = (root: Node<R>, names: readonly string[]): readonly (readonly R[])[] => {
      const found = search(root, names, 0, methods, true) ?? []
      return names.includes('') ? [found, search(root, names, 0, methods, false) ?? []] : [found]
    }
    const exact = find(this.exact, segments)
    if (this.lowerCase && !segments.some(hasCase)) return exact
    this.folded ??= treeOf(this.routes, fold)
    return [...exact, ...find(this.folded, segments.map(fold))]
  }

  ofConnect(): readonly R[] {
    return this.connect
  }
}

/** A backend without a HEAD handler answers HEAD by GET. */
const HEAD = ['HEAD', 'GET', 'ANY']

const hasCase = (text: string): boolean => /[A-Z\u0080-\uffff]/.test(text)

/**
 * The same text for letters that some case-insensitive comparison takes for equal: ECMAScript's uses upper case, Java's
 * uses both. The Kelvin sign is in upper case already, and equals K only by its lower case.
 */
const fold = (text: string): string => text.toLowerCase().toUpperCase()

function treeOf<R extends Routed>(routes: readonly R[], keyOf: (literal: string) => string): Node<R> {
  const root = newNode<R>()
  for (const route of [...routes].sort((a, b) => bySpecificity(a.pattern, b.pattern))) {
    if (route.pattern.text === CONNECT) continue
    let node = root
    for (const segment of route.pattern.segments) {
      if (typeof segment === 'object') {
        const key = keyOf(segment.literal)
        const next = node.literals.get(key) ?? newNode<R>()
        node.literals.set(key, next)
        node = next
      } else if (segment === 'one') {
        node.one ??= newNode()
        node = node.one
      }
    }
    const list = route.pattern.segments.at(-1) === 'rest' ? node.rest : node.here
    list.push(route)
  }
  return root
}

/**
 * Visits each node once at most, since no two paths through a tree lead to the same node.
 *
 * @param empty whether a parameter, or the rest, may be empty. Where not, some segment is empty, and none before `at`.
 */
function search<R extends Routed>(
  node: Node<R>,
  segments: readonly string[],
  at: number,
  methods: readonly string[],
  empty: boolean,
): R[] | undefined {
  if (at === segments.length) return ofMethod(node.here, methods)
  const name = segments[at]!
  const literal = node.literals.get(name)
  const one = empty || name !== '' ? node.one : undefined
  const rest = empty || at + 1 < segments.length ? node.rest : []
  return (
    (literal && search(literal, segments, at + 1, methods, empty)) ??
    (one && search(one, segments, at + 1, methods, empty)) ??
    ofMethod(rest, methods)
  )
}

/**
 * The routes of the first method that has any. There are several where their paths differ only in case, and all of them
 * apply.
 */
function ofMethod<R extends Routed>(routes: readonly R[], methods: readonly string[]): R[] | undefined {
  for (const method of methods) {
    const those = routes.filter(({ pattern }) => pattern.method === method)
    if (those.length > 0) return those
  }
  return undefined
}
