import fc from 'fast-check'
import { bySpecificity, parseRoutePattern, type RoutePattern } from '../../lambda/routing/route-pattern'
import { RouteTable } from '../../lambda/routing/route-table'

const routesOf = (texts: readonly string[]) =>
  texts.map((text) => ({ pattern: parseRoutePattern(text) as RoutePattern }))
const segmentsOf = (path: string) => path.split('/').slice(1)
const find = (texts: readonly string[], path: string, method = 'GET') =>
  new RouteTable(routesOf(texts))
    .find(method, segmentsOf(path))
    .map((found) => found.map(({ pattern }) => pattern.text))

describe('a table of routes finds for a path', () => {
  it('the most specific route, segment by segment, in whichever order they are given', () => {
    const texts = ['ANY /*', 'ANY /{kind}/me', 'ANY /users/*', 'ANY /users/{id}', 'ANY /users/me']
    for (const all of [texts, texts.toReversed()]) {
      expect(find(all, '/users/me')).toEqual([['ANY /users/me']])
      expect(find(all, '/users/42')).toEqual([['ANY /users/{id}']])
      expect(find(all, '/users/42/posts')).toEqual([['ANY /users/*']])
      expect(find(all, '/groups/me')).toEqual([['ANY /{kind}/me']])
      expect(find(all, '/groups/me/too')).toEqual([['ANY /*']])
    }
  })

  it('a less specific route where the more specific ones lead nowhere or have another method', () => {
    const texts = ['GET /a/b/c', 'POST /a/{x}', 'GET /{x}/b', 'ANY /a/*']
    expect(find(texts, '/a/b')).toEqual([['ANY /a/*']])
    expect(find(texts, '/a/b', 'POST')).toEqual([['POST /a/{x}']])
    expect(find(texts, '/z/b')).toEqual([['GET /{x}/b']])
    expect(find(texts, '/z/b', 'POST')).toEqual([[]])
  })

  it('one answer where case makes no difference, else one for either kind of backend', () => {
    expect(find(['GET /a/{Id}/*'], '/a/b/c')).toEqual([['GET /a/{Id}/*']])
    expect(find(['GET /a/{Id}/*'], '/a/B/c')).toEqual([['GET /a/{Id}/*'], ['GET /a/{Id}/*']])
    expect(find(['GET /a/B', 'GET /a/{x}'], '/a/b')).toEqual([['GET /a/{x}'], ['GET /a/B']])
    expect(find(['GET /a/b', 'GET /a/{x}'], '/A/b')).toEqual([[], ['GET /a/b']])
  })

  it('all routes whose paths differ in case only, for a backend that does not distinguish it', () => {
    expect(find(['GET /b/a', 'GET /B/A', 'POST /b/A', 'ANY /b/a'], '/b/a')).toEqual([
      ['GET /b/a'],
      ['GET /B/A', 'GET /b/a'],
    ])
  })

  it.each([
    ['k', '\u212a', 'the Kelvin sign, whose lower case is that of K'],
    ['s', '\u017f', 'a long s, whose upper case is S'],
    ['ss', 'ß', 'ß, whose upper case is SS'],
    ['ß', 'ẞ', 'ẞ, whose lower case is ß'],
    ['σ', 'ς', 'a sigma at the end'],
    ['é', 'É', 'letters with accents'],
  ])('%s by %s: %3$s', (name, spelling) => {
    expect(find([`GET /${name}`], `/${spelling}`)).toEqual([[], [`GET /${name}`]])
    expect(find([`GET /${spelling}`], `/${name}`)).toEqual([[], [`GET /${spelling}`]])
  })

  it('with an empty segment, what a backend finds that takes it for a value, and one that does not', () => {
    expect(find(['GET /a/{x}', 'GET /a/*'], '/a/')).toEqual([['GET /a/{x}'], []])
    expect(find(['GET /a/{x}/b', 'GET /a/*'], '/a//b')).toEqual([['GET /a/{x}/b'], ['GET /a/*']])
    expect(find(['GET /a/*'], '/a/')).toEqual([['GET /a/*'], []])
    expect(find(['GET /a/*'], '/a//')).toEqual([['GET /a/*'], ['GET /a/*']])
    expect(find(['GET /{x}/*'], '/a//')).toEqual([['GET /{x}/*'], ['GET /{x}/*']])
    expect(find(['GET /*'], '/')).toEqual([['GET /*'], []])
  })

  it('routes of $connect for no path, and for a connection those only', () => {
    const texts = ['GET /$connect', '$connect', 'GET /']
    expect(find(texts, '/$connect')).toEqual([['GET /$connect']])
    expect(new RouteTable(routesOf(texts)).ofConnect().map(({ pattern }) => pattern.text)).toEqual(['$connect'])
    expect(new RouteTable(routesOf(['$connect'])).find('GET', [])).toEqual([[]])
  })
})

/** The same, by a look at each route. */
function defined(routes: readonly { readonly pattern: RoutePattern }[], method: string, names: readonly string[]) {
  const methods = method === 'HEAD' ? ['HEAD', 'GET', 'ANY'] : [method, 'ANY']
  const foundBy = (fold: (text: string) => string, empty: boolean) => {
    const isValue = (name: string) => empty || name !== ''
    const matches = ({ segments }: RoutePattern) => {
      const hasRest = segments.at(-1) === 'rest'
      const fixed = hasRest ? segments.slice(0, -1) : segments
      const rest = names.slice(fixed.length)
      return (
        (hasRest ? rest.length > 1 || rest.some(isValue) : rest.length === 0) &&
        fixed.every((one, i) => {
          const name = names[i]
          if (name === undefined) return false
          return typeof one === 'object' ? fold(one.literal) === fold(name) : isValue(name)
        })
      )
    }
    const order = ({ segments }: RoutePattern) =>
      segments.map((one) => (typeof one === 'object' ? 0 : one === 'one' ? 1 : 2)).join('')
    const matching = routes
      .filter(({ pattern }) => methods.includes(pattern.method) && matches(pattern))
      .sort((a, b) => bySpecificity(a.pattern, b.pattern))
    const first = matching.map(({ pattern }) => order(pattern)).sort()[0]
    const best = matching.filter(({ pattern }) => order(pattern) === first)
    const found = methods.find((one) => best.some(({ pattern }) => pattern.method === one))
    return best.filter(({ pattern }) => pattern.method === found)
  }
  return [(text: string) => text, (text: string) => text.toLowerCase()].map((fold) =>
    names.includes('') ? [foundBy(fold, true), foundBy(fold, false)] : [foundBy(fold, true)],
  )
}

describe('a table of routes finds, whatever they are and whatever the path,', () => {
  const anyRoute = fc
    .tuple(
      fc.constantFrom('GET', 'POST', 'HEAD', 'ANY'),
      fc.array(fc.constantFrom('a', 'A', 'b', '{x}'), { maxLength: 3 }),
      fc.constantFrom('', '/*'),
    )
    .map(([method, names, rest]) => `${method} /${names.join('/')}${rest}`)
  const anyPath = fc.array(fc.constantFrom('a', 'b', 'B', 'c', ''), { maxLength: 4 })

  it('what a look at each route finds', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(anyRoute, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'),
        anyPath,
        (texts, method, names) => {
          const routes = routesOf(texts)
          const [exact, folded] = defined(routes, method, names)
          const hasCase = [...names, ...texts.map((text) => text.slice(text.indexOf('/')))].some((one) =>
            /[A-Z]/.test(one),
          )
          expect(new RouteTable(routes).find(method, names)).toEqual(hasCase ? [...exact!, ...folded!] : exact)
        },
      ),
      { numRuns: 300 },
    )
  })
})
