/** What is known of the path that a request is for. */
export interface RequestTarget {
  /** In upper case. */
  readonly method: string
  /** As it came, encoded or decoded once; `$connect` for a WebSocket. */
  readonly path: string
  /** The route that API Gateway chose: `/users/{id}`, `/{proxy+}`, `$default`. */
  readonly resource: string
  /** What the chosen route's parameters stand for, decoded or not. */
  readonly pathParameters: ReadonlyMap<string, string>
  /** The stage, where the path may begin with it. */
  readonly stage?: string
}

/** The paths for which a backend may take a request, each as its segments. */
export interface Readings {
  /** One of these is what the backend serves: whatever is allowed or free must be so for all of them. */
  readonly served: readonly (readonly string[])[]
  /**
   * Other names of the same path, such as the one with the base path in front: their rules count, and that they have
   * none does not.
   */
  readonly aliases: readonly (readonly string[])[]
}

/**
 * Bounds of what one request may ask for. A URL as a parameter, encoded, has forty readings; a path that exceeds these
 * was made to be read in many ways.
 */
const MOST_READINGS = 256
const MOST_CHARACTERS = 65_536

/**
 * A path that contains nothing of this can be read in one way only: no escape, no separator but `/`, no empty segment,
 * no dots, no controls.
 */
const SPECIAL = /[%\\;?#]|[^!-~\u0080-\uffff]|\/\.{0,2}(?:\/|$)/

/**
 * NUL, overlong UTF-8 (RFC 3629 §3), `%u002e`, and U+FFFD, by which gateways replace what is no UTF-8, however often
 * escaped: some backends read them as what they are not, and no client means them.
 */
const UNREADABLE =
  /[\0\ufffd]|%(?:25)*(?:00|ef%(?:25)*bf%(?:25)*bd|u[0-9a-f]{4}|(?:c[01]|e0%(?:25)*[89]|f0%(?:25)*8)[0-9a-f]?%(?:25)*[89ab])/i

/**
 * Every path for which a backend may take this request; `undefined` when they are too many to look at, or cannot be
 * told.
 *
 * Backends disagree about escapes, dots, slashes, parameters and what ends a path. So the rules of a request are those
 * of all its readings together, and no spelling is cheaper than the one that the backend serves. A plain path has one
 * reading.
 *
 * @param basePaths with a leading slash: what an API's custom domains may put in front.
 */
export function readingsOf(target: RequestTarget, basePaths: readonly string[] = []): Readings | undefined {
  const { path, stage } = target
  if (UNREADABLE.test(path)) return undefined
  const chosen = chosenPath(target)
  const base = chosen?.told ? basePathOf(path, chosen.path) : ''
  const own = path.slice(base.length) || '/'
  const bases = stage === undefined ? basePaths : [...basePaths, `/${stage}`]
  if (base === '' && bases.length === 0 && (!chosen || chosen.path === path) && (path === '/' || !SPECIAL.test(path))) {
    return { served: [toSegments(path)], aliases: [] }
  }

  const room: Room = { readings: MOST_READINGS, characters: MOST_CHARACTERS }
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
 * The path of the chosen route with its parameters filled in, and whether all of them were told. `undefined` for
 * `$default`, which says nothing.
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
    // a slash inside a parameter divides nothing
    path += value === undefined ? `{${part}}` : greedy ? value : value.replaceAll('/', '%2F')
  }
  return { path, told }
}

const templates = new Map<string, readonly string[]>()

/** The texts of a template and, after each, the name of a parameter. An API has some hundred of them. */
function partsOf(resource: string): readonly string[] {
  const known = templates.get(resource)
  if (known) return known
  const parts = resource.split(/\{([^{}]+)\}/)
  if (templates.size >= 1000) templates.clear()
  templates.set(resource, parts)
  return parts
}

/** Letters and marks that a base path of a custom domain can have. */
const BASE_PATH = /^(?:\/[\w$.+!*'()~-]+)+$/

/**
 * What stands before the chosen path: API Gateway has taken it for a base path or a stage, so it is none of the
 * client's choice.
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
 * All that these paths can become by any of the ways of reading, one after another, and escapes taken for what they
 * stand for twice at most.
 */
function closure(paths: readonly string[], bases: readonly string[], room: Room): ReadonlySet<string> | undefined {
  const found = new Set<string>()
  const fits = (path: string): boolean => {
    if (found.has(path)) return true
    found.add(path)
    room.readings--
    room.characters -= path.length
    return room.readings >= 0 && room.characters >= 0
  }
  let fresh = paths.map(necessary)
  for (let decoded = 0; decoded <= 2; decoded++) {
    const begun = found.size
    if (!fresh.every(fits)) return undefined
    const all = [...found]
    for (let i = begun; i < all.length; i++) {
      for (const other of waysToRead(all[i]!, bases)) {
        const before = found.size
        if (!fits(other)) return undefined
        if (found.size > before) all.push(other)
      }
    }
    fresh =
      decoded === 2
        ? []
        : all
            .slice(begun)
            .filter(hasEscape)
            .flatMap((path) => [withinSegments(path), whole(path)])
    if (fresh.length === 0) break
  }
  return found
}

/** What a path becomes to those who read it otherwise, one step each. */
function waysToRead(path: string, bases: readonly string[]): string[] {
  const others = bases.flatMap((base) => withoutBase(path, base))
  if (!SPECIAL.test(path)) return others
  // Java: `;jsessionid=…` belongs to its segment, and is dropped. Fastify: it ends the path.
  if (path.includes(';')) others.push(path.replace(/;[^/]*/g, ''), path.slice(0, path.indexOf(';')))
  if (/[?#]/.test(path)) others.push(path.slice(0, path.search(/[?#]/)))
  if (path.includes('\\')) others.push(path.replaceAll('\\', '/'))
  if (path.includes('//')) others.push(path.replace(/\/{2,}/g, '/'))
  if (path.startsWith('//')) others.push(path.replace(/^\/+[^/]*/, '')) // `new URL('//x/y', base)` takes x for a host
  if (path.endsWith('/')) others.push(withoutTrailing(path))
  if (DOTS.test(path)) others.push(withoutDots(path))
  if (CONTROLS.test(path)) others.push(withoutControls(path))
  return others.map((other) => other || '/')
}

function withoutBase(path: string, base: string): string[] {
  const begins = path.slice(0, base.length).toLowerCase() === base.toLowerCase()
  if (begins && path.length === base.length) return ['/']
  return begins && path[base.length] === '/' ? [path.slice(base.length)] : []
}

const DOTS = /\/(?:\.|%2e){1,2}(?:\/|$)/i

/** RFC 3986 §5.2.4, and `%2e` as a dot like WHATWG's URLs. */
function withoutDots(path: string): string {
  const kept: string[] = []
  const names = path.slice(1).split('/')
  for (const [i, name] of names.entries()) {
    const dots = name[0] === '.' || (name[0] === '%' && name.length <= 6) ? name.replace(/%2e/gi, '.') : name
    if (dots !== '.' && dots !== '..') kept.push(name)
    else {
      if (dots === '..') kept.pop()
      if (i === names.length - 1) kept.push('')
    }
  }
  return `/${kept.join('/')}`
}

const CONTROLS = /[^!-~\u0080-\uffff]/

/** WHATWG's URLs have no tabs and line breaks, and no controls and spaces at the end. */
function withoutControls(path: string): string {
  const text = path.replace(/[\t\n\r]/g, '')
  let end = text.length
  while (end > 0 && text[end - 1]! <= ' ') end--
  return text.slice(0, end)
}

const hasEscape = (path: string): boolean => /%[0-9a-f]{2}/i.test(path)

/**
 * Escapes without which a path cannot be written are no other spelling of it, so they are taken for what they stand
 * for: `%20`, `%C3%A9`. A slash stays encoded, since it divides nothing as long as it is, and so do `\`, `?` and `#`,
 * and a `%` that would begin an escape.
 */
const necessary = (path: string): string =>
  unescaped(path, (character, written, after) => {
    if (character === '/') return '%2F'
    return /[\w.~!$&'()*+,;=:@\\?#-]/.test(character) || (character === '%' && /^[0-9a-f]{2}/i.test(after))
      ? written
      : character
  })

/** As who splits at slashes first. */
const withinSegments = (path: string): string => unescaped(path, (character) => (character === '/' ? '%2F' : character))

/** As who splits at slashes afterwards. */
const whole = (path: string): string => unescaped(path, (character) => character)

type Unescape = (character: string, written: string, after: string) => string

/** Once: what comes out is not looked at again. Bytes that are no UTF-8 stay as they are. */
function unescaped(path: string, one: Unescape): string {
  if (!path.includes('%')) return path
  return path.replace(/%([0-7][0-9a-f])|(?:%[89a-f][0-9a-f])+/gi, (written, ascii: string | undefined, at: number) => {
    if (ascii === undefined) return decodedOr(written)
    return one(String.fromCharCode(Number.parseInt(ascii, 16)), written, path.slice(at + 3, at + 5))
  })
}

/** What is no UTF-8 stays, in one spelling. */
function decodedOr(written: string): string {
  try {
    return decodeURIComponent(written)
  } catch {
    return written.toUpperCase()
  }
}

/** A pattern's literal as paths are compared with it: escapes are what they stand for, but for a slash. */
export const literalOf = (name: string): string => withinSegments(name)
