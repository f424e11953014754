import fc from 'fast-check'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { NO_FACTS, unitsFor } from '../../lambda/cost'
import { bySpecificity, parseRoutePattern, type RoutePattern } from '../../lambda/routing/route-pattern'
import { rulesFor } from '../../lambda/rules'
import { ROUTERS, type Segments } from './routers'

const segment = fc.constantFrom('a', 'b', 'admin', 'Users', '{}')
const pattern: fc.Arbitrary<Segments> = fc
  .tuple(fc.array(segment, { maxLength: 3 }), fc.boolean())
  .filter(([names, rest]) => names.length > 0 || rest)
  .map(([names, rest]) => (rest ? [...names, '*'] : names))

const textOf = (segments: Segments) => `GET /${segments.map((one, i) => (one === '{}' ? `{p${i}}` : one)).join('/')}`
const parsed = (segments: Segments) => parseRoutePattern(textOf(segments)) as RoutePattern

/** Routes of different paths, in the order in which whoever writes a backend has to write them. */
const backend = fc
  .uniqueArray(pattern, {
    minLength: 1,
    maxLength: 5,
    comparator: (a, b) => textOf(a).toLowerCase() === textOf(b).toLowerCase(),
  })
  .map((patterns) => patterns.sort((a, b) => bySpecificity(parsed(a), parsed(b))))

const rule = fc.record({ cost: fc.constantFrom(0, 1, 5), credentials: fc.constantFrom('required', 'optional') })

/** What clients put between and around names. */
const between = fc.oneof(
  { weight: 4, arbitrary: fc.constant('/') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '//',
      '/./',
      '/../',
      '/x/../',
      '/%2e/',
      '/%2e%2E/',
      '/..;/',
      '/;a=b/',
      ';v=1/',
      '\\',
      '%2f',
      '%5C',
      '%252f',
      '/x/%252e%252e/',
      '///',
      '/%2e%2e%2f',
    ),
  },
)
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'admin', 'Users') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '%61',
      '%2561',
      'A',
      'ADMIN',
      'users',
      'adm%69n',
      'b;x',
      'a%3Fb',
      'a%23',
      'admin%09',
      '%41dmin',
      'other',
      '42',
      '',
    ),
  },
)
const path = fc
  .tuple(
    fc.array(fc.tuple(between, name), { minLength: 1, maxLength: 5 }),
    fc.constantFrom('', '', '/', '//', ';', '/.', '/..', '%20'),
  )
  .map(([parts, end]) => {
    const text = parts.map((one) => one.join('')).join('') + end
    return text.startsWith('/') ? text : `/${text}`
  })

/** How a request's path comes in events: as sent, or decoded once and ended by a question mark. */
const delivered: Readonly<Record<string, (sent: string) => string>> = {
  'a REST API': (sent) => sent,
  'an HTTP API': (sent) => decodeURIComponent(sent).split('?', 1)[0]!,
}

export const APIS = Object.keys(delivered)

/**
 * No spelling of a path is cheaper than the one that the backend serves: of random backends by one router, with random
 * rules, behind one kind of API.
 */
export async function holdSpellings(api: string, router: string, runs: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(backend, fc.array(rule, { minLength: 5, maxLength: 5 }), path, async (patterns, rules, sent) => {
      const routes = Object.fromEntries(patterns.map((one, i) => [textOf(one), rules[i]]))
      const set = parseTiersFile({ tiers: { anonymous: { policies: [] } }, routes }, 'f')
      const path = delivered[api]!(sent)
      const held = rulesFor(set, { method: 'GET', path, resource: '$default', pathParameters: new Map() })
      const served = await ROUTERS[router]!(patterns)(path)
      if (held === undefined || served === 'refused') return
      if (served === 'none') return expect(unitsFor(held.costs, NO_FACTS).cost).toBeGreaterThanOrEqual(1)
      const { cost, credentials } = rules[served]!
      expect(held.scopes).toContain(parsed(patterns[served]!).text)
      expect(unitsFor(held.costs, NO_FACTS).cost).toBeGreaterThanOrEqual(cost)
      if (credentials === 'required') expect(held.credentials).toBe('required')
    }),
    { numRuns: runs },
  )
}
