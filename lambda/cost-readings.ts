import type { GatewayRequest } from './responses/request'
import { decodeWhole } from './routing/escapes'

/** The parts of a request that its cost may depend on. */
export interface CostFacts
  extends Pick<GatewayRequest, 'method' | 'path' | 'headers' | 'query' | 'pathParameters' | 'isCut'> {
  /** Of a verified token. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** What backends may read as a value: `undefined` where they read none, and `ambiguous` for values that differ. */
export type Readings = readonly (string | undefined)[] | 'ambiguous'

/**
 * Express (qs), Koa (`node:querystring`) and PHP read so many parameters and ignore the others. An event may have the
 * values of one in a list with commas.
 */
const MAX_PARAMETERS = 1000

/** Where a parameter may begin: at a `;` in Rack 2; and in Fastify 4, a `;` or `#` of the path begins the query. */
const SEPARATOR = /[&;?#]/

/** What may end the query before its parameters, or begin it so that they are parts of others. */
const HIDING = /#|^[^?]*;/

/**
 * The values of a parameter of the query.
 *
 * A gateway may have decoded the query or not, and a backend may decode it again: so parameters are looked for in the
 * path and query as they came, decoded once, and decoded twice.
 */
export function queryReadings({ path, query }: CostFacts, name: string): Readings {
  const value = query.get(name)
  const own = value === undefined ? undefined : `${name}=${value}`
  let text = `${path}?${[...query].map((pair) => pair.join('=')).join('&')}`
  let isHidden = false
  const isLike = namesLike(name)
  for (let decoded = 0; decoded <= 2; decoded++) {
    if (text.split(/[&;?#,]/, MAX_PARAMETERS + 2).length > MAX_PARAMETERS + 1) return 'ambiguous'
    const [, ...parameters] = text.split(SEPARATOR)
    const found = parameters.filter((one) => isLike(one.split('=', 1)[0]!))
    if (found.length > 1 || found[0] !== own) return 'ambiguous'
    isHidden ||= HIDING.test(text)
    const before = text
    text = decodeWhole(text.replace(/%u00([0-9a-f]{2})/gi, '%$1')) // as .NET's HttpUtility does
    if (text === before) break
  }
  return isHidden ? [value, undefined] : [value]
}

/** The value of a header. CGI, WSGI and PHP take `x_rows` for `x-rows`. */
export function headerReadings({ headers }: CostFacts, name: string): Readings {
  const isLike = namesLike(name)
  const isAmbiguous = [...headers.keys()].some((other) => other !== name && isLike(other))
  return isAmbiguous ? 'ambiguous' : [headers.get(name)]
}

/** Methods whose requests usually have no body (RFC 9110 §9.3): all others may have one of unknown length. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

/** Of the length of a body that is not known beforehand. */
const UNKNOWN_LENGTH: Readings = ['']

/**
 * The length of the body in bytes. It is not known beforehand where the body comes in chunks (RFC 9112 §6.1), or in
 * HTTP/2 without the header (RFC 9113 §8.1.1).
 */
export function lengthReadings(facts: CostFacts): Readings {
  const { method, headers } = facts
  const length = headers.get('content-length')
  if (headers.has('transfer-encoding')) return UNKNOWN_LENGTH
  if (length === undefined && !WITHOUT_BODY.has(method)) return UNKNOWN_LENGTH
  return length === '0' ? ['1'] : headerReadings(facts, 'content-length') // no bytes are few, not all
}

/**
 * Tells whether some backend may take a name for this one: by its letters and digits alone, in any case, with any index
 * and prefix. So `Rows`, `[rows]`, `rows[]`, `rows.x`, `x.rows` and `rows\0x` may be `rows`, and `page_size` may be
 * `page[size]`. So may `page`, which replaces it.
 */
function namesLike(name: string): (written: string) => boolean {
  const parts = plain(name).split('.').slice(1, -1)
  const whole = parts.join('')
  const begins = new Set(parts.map((_, i) => parts.slice(0, i + 1).join('')))
  const inside = new RegExp(`\\.${[...whole].join('\\.?')}\\.`)
  const isLike = (text: string) => whole === '' || inside.test(text) || begins.has(text.replaceAll('.', ''))
  return (written) => isLike(plain(written)) || (written.includes('\0') && isLike(plain(written.split('\0', 1)[0]!)))
}

/** A name's letters and digits in upper case, its parts between dots: `.PAGE.SIZE.` of `page[size]`. */
const plain = (name: string): string =>
  `.${name.normalize('NFKC').toUpperCase()}.`
    .replace(/[[\]]/g, '.')
    .replace(/[^\p{L}\p{N}.]/gu, '')
    .replace(/\.+/g, '.')
