import { printed } from '../../limiter/errors'
import { literalOf } from './escapes'

/**
 * A route as an operator writes it: `GET /api/search`, `ANY /v1/*`, `/users/{id}`, `GET /files/{proxy+}`, `$connect`.
 */
export interface RoutePattern {
  /** As it was written, with one spelling for equal patterns. */
  readonly text: string
  /** `ANY` matches all methods. */
  readonly method: string
  readonly segments: readonly Segment[]
}

/**
 * A literal, one segment of any text, or the rest of the path, at least one segment; or a WebSocket's connection, which
 * has no path.
 */
type Segment = { readonly literal: string } | 'one' | 'rest' | typeof CONNECT

/** The path of a WebSocket's connection. No HTTP path equals it, and no pattern of paths matches it. */
export const CONNECT = '$connect'
const CONNECTION: RoutePattern = { text: CONNECT, method: 'ANY', segments: [CONNECT] }

const METHODS = ['ANY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']

/** Far more segments than operators write. */
const MAX_SEGMENTS = 200

/** A pattern, or a sentence about what is invalid in it. Without a method it is `ANY`. */
export function parseRoutePattern(text: string): RoutePattern | { readonly wrong: string } {
  if (/^(?:(?:ANY|GET) +)?\$connect$/i.test(text.trim())) return CONNECTION
  const [, method = 'ANY', path] = /^(?:([A-Za-z]+) +)?(\/\S*)$/.exec(text.trim()) ?? []
  if (path === undefined)
    return { wrong: 'must be a method and a path such as "GET /api/search", "ANY /v1/*" or "/users/{id}"' }
  if (!METHODS.includes(method.toUpperCase()))
    return { wrong: `method must be one of ${METHODS.join(', ')}, got ${printed(method)}` }
  if (/[?#]/.test(path)) return { wrong: 'is a path without a query: "?" and "#" never reach it' }
  const names = namesOf(path)
  if (names.length > MAX_SEGMENTS) return { wrong: `must have at most ${MAX_SEGMENTS} segments, got ${names.length}` }
  const segments = names.map(toSegment)
  if (segments.includes(undefined))
    return { wrong: 'a parameter is a whole segment: "{id}", or at the end "{proxy+}" or "*"' }
  if (segments.slice(0, -1).includes('rest')) return { wrong: '"{proxy+}" and "*" may stand at the end only' }
  return {
    text: `${method.toUpperCase()} /${names.join('/')}`,
    method: method.toUpperCase(),
    segments: segments as Segment[],
  }
}

/**
 * Orders patterns so that the most specific comes first: segment by segment a literal before a parameter before the
 * rest, then a method before `ANY`. 0 only for patterns that match the same requests.
 */
export function bySpecificity(a: RoutePattern, b: RoutePattern): number {
  for (let i = 0; i < Math.max(a.segments.length, b.segments.length); i++) {
    const order = rank(a.segments[i]) - rank(b.segments[i])
    if (order !== 0) return order
    const [one, other] = [a.segments[i], b.segments[i]]
    if (typeof one === 'object' && typeof other === 'object' && one.literal !== other.literal)
      return one.literal < other.literal ? -1 : 1
  }
  if (a.method === b.method) return 0
  if (a.method === 'ANY' || b.method === 'ANY') return a.method === 'ANY' ? 1 : -1
  return a.method < b.method ? -1 : 1
}

function rank(segment: Segment | undefined): number {
  if (segment === undefined) return 3 // shorter; never matches the same path as a longer one without a rest
  if (segment === CONNECT) return 4
  return segment === 'rest' ? 2 : segment === 'one' ? 1 : 0
}

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '')

function toSegment(name: string): Segment | undefined {
  if (name === '*' || /^\{[^{}]+\+\}$/.test(name)) return 'rest'
  if (/^\{[^{}+]+\}$/.test(name)) return 'one'
  return /[{}*]/.test(name) ? undefined : { literal: literalOf(name) }
}
