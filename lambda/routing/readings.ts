import { decodeNeeded, decodeSegments, decodeWhole, hasEscape } from './escapes'

/** What is known of a request's path. */
export interface RequestTarget {
  /** In upper case. */
  readonly method: string
  /** As it arrived, encoded or decoded once; `$connect` for a WebSocket. */
  readonly path: string
  /** The route that API Gateway matched: `/users/{id}`, `/{proxy+}`, `$default`. */
  readonly resource: string
  /** The values of the matched route's parameters, decoded or not. */
  readonly pathParameters: ReadonlyMap<string, string>
  /** The stage, where the path may begin with it. */
  readonly stage?: string
}

/** The paths as which a backend may read a request's path, each as its segments. */
export interface Readings {
  /** The backend serves one of these: a request is allowed or free only if it is so for all of them. */
  readonly served: readonly (readonly string[])[]
  /**
   * Other names of the same path, such as the one with the base path. Rules for them apply; that there are none for
   * them means nothing.
   */
  readonly aliases: readonly (readonly string[])[]
}

/**
 * Limits for one request. A URL as an encoded parameter has forty readings; a path that exceeds these limits was made
 * on purpose.
 */
const MAX_READINGS = 256
const MAX_CHARACTERS = 65_536

/**
 * A path without a match can be read in one way only: no escape, no separator but `/`, no empty segment, no dot
 * segments, no control characters.
 */
const SPECIAL = /[%\\;?#]|[^!-~\u0080-\uffff]|\/\.{0,2}(?:\/|$)/

/**
 * NUL, overlong UTF-8 (RFC 3629 §3), `%u002e`, and U+FFFD, by which gateways replace invalid UTF-8, at any level of
 * escaping. Some backends read them as other characters, and no legitimate client sends them.
 */
const UNREADABLE =
  /[\0\ufffd]|%(?:25)*(?:00|ef%(?:25)*bf%(?:25)*bd|u[0-9a-f]{4}|(?:c[01]|e0%(?:25)*[89]|f0%(?:25)*8)[0-9a-f]?%(?:25)*[89ab])/i

/**
 * Every path as which a backend may read this request; `undefined` when there are too many, or they cannot be
 * determined.
 *
 * Backends disagree about escapes, dots, slashes, parameters and what ends a path. So a request is held to the rules of
 * all its readings together, and no spelling is cheaper than the one that the backend serves. A plain path has one
 * reading.
 *
 * @param basePaths with a leading slash: what an API's custom domains may put in front.
 */
export function readingsOf(target: RequestTarget, basePaths: readonly string[]): Readings | undefined {
  const { path, stage } = target
  if (UNREADABLE.test(path)) return undefined
  const chosen = chosenPath(target)
  const base = chosen?.told ? basePathOf(path, chosen.path) : ''
  const own = path.slice(base.length) || '/'
  const bases = stage === undefined ? basePaths : [...basePaths, `/${stage}`]
  if (bases.length === 0 && (!chosen || chosen.path === path) && (path === '/' || !SPECIAL.test(path))) {
    return { served: [toSegments(path)], aliases: [] }
  }

  const room: Room = { readings: MAX_READINGS, characters: MAX_CHARACTERS }
  const served = closure(chosen?.told ? [own, chosen.path] : [own], bases, room)
  const aliases = closure(
    [...(base === '' ? [] : [path]), ...(chosen && !chosen.told ? [chosen.path] : [])],
    bases,
    room,
  )
  if (!served || !aliases) return undefined
  return {
    served: [...served].map(toSegments),
    aliases: [...aliases].filter((one) => !served.has(one)).map(toSegments),
  }
}

const toSegments = (path: string): string[] => (path === '/' ? [] : path.slice(1).split('/'))

/**
 * The path of the matched route with its parameters filled in, and whether all of them were known. `undefined` for
 * `$default`, which has no path.
 */
function chosenPath({
  resource,
  pathParameters,
}: RequestTarget): { readonly path: string; readonly told: boolean } | undefined {
  if (!resource.startsWith('/')) return undefined
  if (!resource.includes('{')) return { path: resource, told: true }
  let told = true
  let path = ''
  for (const [i, part] of partsOf(resource).entries()) {
    if (i % 2 === 0) {
      path += part
      continue
    }
    const greedy = part.endsWith('+')
    const value = pathParameters.get(greedy ? part.slice(0, -1) : part)
    if (value === undefined) told = false
    // a slash inside a parameter does not separate segments
    path += value === undefined ? `{${part}}` : greedy ? value : value.replaceAll('/', '%2F')
  }
  return { path, told }
}

const templates = new Map<string, readonly string[]>()

/** The literals of a template, each followed by the name of a parameter. An API has about a hundred templates. */
function partsOf(resource: string): readonly string[] {
  const known = templates.get(resource)
  if (known) return known
  const parts = resource.split(/\{([^{}]+)\}/)
  if (templates.size >= 1000) templates.clear()
  templates.set(resource, parts)
  return parts
}

/** Characters that a base path of a custom domain can have. */
const BASE_PATH = /^(?:\/[\w$.+!*'()~-]+)+$/

/**
 * What precedes the path of the matched route: API Gateway has taken it for a base path or a stage, so the client did
 * not choose it.
 */
function basePathOf(path: string, chosen: string): string {
  const whole = withoutTrailing(path)
  const end = chosen === '/' ? '' : withoutTrailing(chosen)
  if (!whole.endsWith(end)) return ''
  const base = whole.slice(0, whole.length - end.length)
  return BASE_PATH.test(base) && !SPECIAL.test(base) ? base : ''
}

function withoutTrailing(path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end--
  return path.slice(0, end)
}

interface Room {
  readings: number
  characters: number
}

/**
 * All paths that these can become by applying the ways of reading one after another, with escapes decoded twice at
 * most.
 */
function closure(paths: readonly string[], bases: readonly string[], room: Room): ReadonlySet<string> | undefined {
  const found = new Set<string>()
  let fresh = paths.map(decodeNeeded)
  for (let decoded = 0; ; decoded++) {
    const round: string[] = []
    const fits = (path: string): boolean => {
      if (found.has(path)) return true
      found.add(path)
      round.push(path)
      room.readings--
      room.characters -= path.length
      return room.readings >= 0 && room.characters >= 0
    }
    if (!fresh.every(fits)) return undefined
    // those that are found meanwhile are read in their turn
    for (const path of round) if (!waysToRead(path, bases).every(fits)) return undefined
    if (decoded === 2 || round.length === 0) return found
    fresh = round.filter(hasEscape).flatMap((path) => [decodeSegments(path), decodeWhole(path)])
  }
}

/** Other readings of a path, one step each, and the path itself for each step that changes nothing. */
function waysToRead(path: string, bases: readonly string[]): string[] {
  const others = bases.map((base) => withoutBase(path, base))
  if (SPECIAL.test(path))
    others.push(
      // Java frameworks drop `;jsessionid=…` from its segment. Fastify ends the path there.
      path.replace(/;[^/]*/g, ''),
      path.replace(/;.*/s, ''),
      path.replace(/[?#].*/s, ''),
      path.replaceAll('\\', '/'),
      path.replace(/\/{2,}/g, '/'),
      path.replace(/^\/{2,}[^/]*/, ''), // `new URL('//x/y', base)` takes x for a host
      withoutTrailing(path),
      DOTS.test(path) ? withoutDots(path) : path,
      withoutControls(path),
    )
  return others.map((other) => other || '/')
}

function withoutBase(path: string, base: string): string {
  const rest = path.slice(base.length)
  const begins = path.slice(0, base.length).toLowerCase() === base.toLowerCase()
  return begins && (rest === '' || rest.startsWith('/')) ? rest : path
}

const DOTS = /\/(?:\.|%2e){1,2}(?:\/|$)/i

/** RFC 3986 §5.2.4, with `%2e` as a dot as in WHATWG's URLs. */
function withoutDots(path: string): string {
  const kept: string[] = []
  const names = path.split('/')
  for (const [i, name] of names.entries()) {
    const dots = name.replace(/%2e/gi, '.')
    if (dots !== '.' && dots !== '..') kept.push(name)
    else {
      if (dots === '..' && kept.length > 1) kept.pop()
      if (i === names.length - 1) kept.push('')
    }
  }
  return kept.join('/')
}

/** WHATWG's URLs drop tabs and line breaks, and control characters and spaces at the end. */
function withoutControls(path: string): string {
  const text = path.replace(/[\t\n\r]/g, '')
  let end = text.length
  while (text[end - 1]! <= ' ') end--
  return text.slice(0, end)
}
