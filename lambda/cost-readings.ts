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

/** Express (qs), Koa (`node:querystring`) and PHP read so many parameters and ignore the others. */
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
  let isHidden = text.split(/[&;?#,]/, MAX_PARAMETERS + 2).length > MAX_PARAMETERS + 1
  for (let decoded = 0; decoded <= 2; decoded++) {
    const [, ...parameters] = text.split(SEPARATOR)
    const found = parameters.filter((one) => mayBe(one.split('=', 1)[0]!, name))
    if (found.length > 1 || found[0] !== own) return 'ambiguous'
    isHidden ||= HIDING.test(text)
    if (!text.includes('%')) break
    text = decodeWhole(text.replace(/%u00([0-9a-f]{2})/gi, '%$1')) // as .NET's HttpUtility does
  }
  return isHidden ? [value, undefined] : [value]
}

/** The value of a header. CGI, WSGI and PHP take `x_rows` for `x-rows`. */
export function headerReadings({ headers }: CostFacts, name: string): Readings {
  const isAmbiguous = [...headers.keys()].some((other) => other !== name && mayBe(other, name))
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

/** More parts than names of parameters have: such a name was made on purpose. */
const MAX_PARTS = 10

/**
 * Whether some backend may take a name for this one: by its letters and digits alone, in any case, with any index and
 * prefix. So `Rows`, `[rows]`, `rows[]`, `rows.x`, `x.rows` and `rows\0x` may be `rows`, and `page_size` may be
 * `page[size]`. So may `page`, which replaces it.
 */
function mayBe(written: string, name: string): boolean {
  const wanted = partsOf(name)
  return [written, written.split('\0', 1)[0]!].map(partsOf).some((parts) => {
    if (parts.length > MAX_PARTS || wanted.length === 0) return true
    const whole = parts.join('')
    const runs = parts.flatMap((_, from) => beginsOf(parts.slice(from)))
    return runs.includes(wanted.join('')) || beginsOf(wanted).includes(whole)
  })
}

/** What a list of parts begins with: `['PAGE', 'PAGESIZE']`. */
const beginsOf = (parts: readonly string[]): string[] => parts.map((_, i) => parts.slice(0, i + 1).join(''))

/** The parts of a name, each in upper case: `['PAGE', 'SIZE']` of `page[size]`. */
const partsOf = (name: string): string[] =>
  name
    .normalize('NFKC')
    .toLowerCase() // of the Kelvin sign, whose upper case is itself
    .toUpperCase()
    .split(/[[\].]/)
    .map((part) => part.replace(/[^\p{L}\p{N}]/gu, ''))
    .filter((part) => part !== '')
