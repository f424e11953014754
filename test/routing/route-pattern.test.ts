import fc from 'fast-check'
import { readingsOf } from '../../lambda/routing/readings'
import { bySpecificity, parseRoutePattern, type RoutePattern } from '../../lambda/routing/route-pattern'
import { RouteTable } from '../../lambda/routing/route-table'
import { runs } from '../runs'

function pattern(text: string): RoutePattern {
  const found = parseRoutePattern(text)
  if ('wrong' in found) throw new Error(found.wrong)
  return found
}

const segmentsOf = (path: string) =>
  readingsOf({ method: 'GET', path, resource: '', pathParameters: new Map() }, [])!.served
const matchesRoute = (one: RoutePattern, method: string, names: readonly string[]): boolean =>
  new RouteTable([{ pattern: one }]).find(method, names)[0]!.length > 0
/** Whether any reading of the path does. */
const matches = (text: string, method: string, path: string): boolean => {
  const table = new RouteTable([{ pattern: pattern(text) }])
  return segmentsOf(path).some((names) => table.find(method, names).some((found) => found.length > 0))
}

describe('a route pattern', () => {
  it.each([
    ['GET /api/search', 'GET /api/search'],
    ['get /api/search', 'GET /api/search'],
    ['  Get   /api/search ', 'GET /api/search'],
    ['/users/{id}', 'ANY /users/{id}'],
    ['any /users/{id}', 'ANY /users/{id}'],
    ['GET /api/search/', 'GET /api/search'],
    ['GET //api//search', 'GET /api/search'],
    ['GET /', 'GET /'],
    ['/', 'ANY /'],
    ['ANY /v1/*', 'ANY /v1/*'],
    ['/{proxy+}', 'ANY /{proxy+}'],
    ['DELETE /a-b_c.d~e/x:y@z', 'DELETE /a-b_c.d~e/x:y@z'],
    ['HEAD /x', 'HEAD /x'],
    ['OPTIONS /x', 'OPTIONS /x'],
    ['PATCH /x', 'PATCH /x'],
    ['POST /x', 'POST /x'],
    ['PUT /x', 'PUT /x'],
    ['GET /caf%C3%A9', 'GET /caf%C3%A9'],
    ['$connect', '$connect'],
    ['  any   $Connect ', '$connect'],
    ['GET $connect', '$connect'],
  ])('%j is %j', (written, text) => {
    expect(pattern(written).text).toBe(text)
  })

  const SHAPE = 'must be a method and a path such as "GET /api/search", "ANY /v1/*" or "/users/{id}"'
  const METHOD = 'method must be one of ANY, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'
  const PARAMETER = 'a parameter is a whole segment: "{id}", or at the end "{proxy+}" or "*"'
  it.each([
    ['', SHAPE],
    ['GET', SHAPE],
    ['GET /a b', SHAPE],
    ['GET/a', SHAPE],
    ['api/search', SHAPE],
    ['GET api', SHAPE],
    ['GET POST /a', SHAPE],
    ['GET,POST /a', SHAPE],
    ['* /a', SHAPE],
    ['https://example.com/a', SHAPE],
    ['FETCH /a', `${METHOD}, got "FETCH"`],
    ['CONNECT /a', `${METHOD}, got "CONNECT"`],
    ['constructor /a', `${METHOD}, got "constructor"`],
    ['GET /a?x=1', 'is a path without a query: "?" and "#" never reach it'],
    ['GET /a#top', 'is a path without a query: "?" and "#" never reach it'],
    ['POST $connect', SHAPE],
    ['a $connect', SHAPE],
    ['$connect a', SHAPE],
    ['GET /a{id}', PARAMETER],
    ['GET /a{id+}', PARAMETER],
    ['GET /{id+}b', PARAMETER],
    ['GET /{id}b', PARAMETER],
    ['GET /{}', PARAMETER],
    ['GET /{+}', PARAMETER],
    ['GET /{{id}}', PARAMETER],
    ['GET /{id', PARAMETER],
    ['GET /id}', PARAMETER],
    ['GET /a*', PARAMETER],
    ['GET /**', PARAMETER],
    ['GET /{a+b}', PARAMETER],
    ['GET /*/a', '"{proxy+}" and "*" may stand at the end only'],
    ['GET /{proxy+}/a', '"{proxy+}" and "*" may stand at the end only'],
    ['GET /*/*', '"{proxy+}" and "*" may stand at the end only'],
    [`GET ${'/a'.repeat(201)}`, 'must have at most 200 segments, got 201'],
  ])('%j is none', (text, wrong) => {
    expect(parseRoutePattern(text)).toEqual({ wrong })
  })

  it('may have two hundred segments', () => {
    expect(pattern(`GET ${'/a'.repeat(200)}`).segments).toHaveLength(200)
  })

  it('is refused in negligible time, with a short message, however long it is', () => {
    for (const text of [
      'x'.repeat(1_000_000),
      `${'G'.repeat(1_000_000)} /a`,
      `/${'{'.repeat(1_000_000)}`,
      `GET${' '.repeat(1_000_000)}a`,
      '/'.repeat(1_000_000),
    ]) {
      const found = parseRoutePattern(text)
      if ('wrong' in found) expect(found.wrong.length).toBeLessThan(200)
      else expect(found.text).toBe('ANY /')
    }
  })

  it('is either valid or invalid, and nothing is thrown', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((path) => `GET /${path}`),
        ),
        (text) => {
          const found = parseRoutePattern(text)
          if ('wrong' in found) expect(found.wrong).not.toBe('')
          else expect(parseRoutePattern(found.text)).toEqual(found)
        },
      ),
    )
  })
})

describe('a request matches by one of its readings', () => {
  it.each([
    ['GET /search', 'GET', '/search', true],
    ['GET /search', 'POST', '/search', false],
    ['GET /search', 'HEAD', '/search', true],
    ['POST /search', 'HEAD', '/search', false],
    ['ANY /search', 'DELETE', '/search', true],
    ['ANY /search', 'PROPFIND', '/search', true],
    ['GET /search', 'GET', '/Search', true],
    ['GET /search', 'GET', '/search/', true],
    ['GET /search/', 'GET', '/search', true],
    ['GET /search', 'GET', '//search', true],
    ['GET /search', 'GET', '/search//', true],
    ['GET /search', 'GET', '/search/more', false],
    ['GET /search/more', 'GET', '/search', false],
    ['GET /search', 'GET', '/', false],
    ['GET /', 'GET', '/', true],
    ['GET /', 'GET', '//', true],
    ['GET /', 'GET', '/x', false],
    ['GET /users/{id}', 'GET', '/users/42', true],
    ['GET /users/{id}', 'GET', '/users/a%2Fb', true],
    ['GET /users/{id}', 'GET', '/users/{id}', true],
    ['GET /users/{id}', 'GET', '/users', false],
    ['GET /users/{id}', 'GET', '/users/', true],
    ['GET /users/{id}', 'GET', '/users/42/posts', false],
    ['GET /users/{id}/posts', 'GET', '/users/42/posts', true],
    ['GET /users/{id}/posts', 'GET', '/users/42/likes', false],
    ['GET /files/{path+}', 'GET', '/files/a/b/c', true],
    ['GET /files/{path+}', 'GET', '/files/a', true],
    ['GET /files/{path+}', 'GET', '/files', false],
    ['GET /files/{path+}', 'GET', '/files/', true],
    ['GET /files/*', 'GET', '/files/a/b', true],
    ['GET /files/*', 'GET', '/file/a/b', false],
    ['/{proxy+}', 'GET', '/anything/at/all', true],
    ['/{proxy+}', 'GET', '/', false],
    ['*', 'GET', '/', undefined],
    ['GET /search', 'GET', '/se%61rch', true],
    ['GET /search', 'GET', '/%73%65%61%72%63%68', true],
    ['GET /café', 'GET', '/caf%C3%A9', true],
    ['GET /café', 'GET', '/caf%c3%a9', true],
    ['GET /caf%C3%A9', 'GET', '/café', true],
    ['GET /search', 'GET', '/se%2561rch', true],
    ['GET /search', 'GET', '/se%252561rch', false],
    ['GET /a/b', 'GET', '/a%2Fb', true],
    ['GET /a%2Fb', 'GET', '/a%2fb', true],
    ['GET /a%2Fb', 'GET', '/a/b', false],
    ['GET /search', 'GET', '/search%ff', false],
    ['GET /search%ff', 'GET', '/search%ff', true],
    ['GET /100%', 'GET', '/100%', true],
    ['GET /100%', 'GET', '/100%25', true],
    ['GET /{id}', 'GET', '/%', true],
  ])('%s: %s %s %s', (text, method, path, expected) => {
    if (expected === undefined) expect(parseRoutePattern(text)).toHaveProperty('wrong')
    else expect(matches(text, method, path)).toBe(expected)
  })

  it('with names of Object.prototype like any other text', () => {
    expect(matches('GET /constructor', 'GET', '/constructor')).toBe(true)
    expect(matches('GET /__proto__', 'GET', '/__proto__')).toBe(true)
    expect(matches('GET /users', 'GET', '/__proto__')).toBe(false)
  })

  it('in negligible time, however deep its path is', () => {
    const [deep] = segmentsOf('/a'.repeat(16_000)) as [string[]]
    expect(matchesRoute(pattern('GET /a/b'), 'GET', deep)).toBe(false)
    expect(matchesRoute(pattern(`GET ${'/a'.repeat(200)}`), 'GET', deep)).toBe(false)
    expect(matchesRoute(pattern('GET /a/*'), 'GET', deep)).toBe(true)
  })

  it('or not, whatever the path holds, and nothing is thrown', () => {
    const patterns = ['GET /', 'GET /{id}', 'ANY /a/*', 'GET /%41/{x}', 'POST /a'].map(pattern)
    const parts = fc.array(
      fc.constantFrom('a', '/', '%', '%4', '%41', '%ff', '%2F', '{', '}', '*', '?', '.', ' ', 'é', '\ud800', '\u0000'),
    )
    const anyPath = fc.oneof(
      fc.string(),
      parts.map((some) => some.join('')),
    )
    fc.assert(
      fc.property(fc.string(), anyPath, (method, path) => {
        for (const one of patterns) expect(typeof matchesRoute(one, method, path.split('/'))).toBe('boolean')
      }),
    )
  })
})

const segment = fc.constantFrom('a', 'b', 'c', '%61', '{id}', '{name}')
const anyPattern = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'ANY'),
    fc.array(segment, { maxLength: 4 }),
    fc.constantFrom('', '/*', '/{proxy+}'),
  )
  .map(([method, names, rest]) => pattern(`${method} /${names.join('/')}${rest}`))
const anyRequest = fc.tuple(
  fc.constantFrom('GET', 'POST', 'PUT'),
  fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 5 }),
)

describe('the most specific pattern wins', () => {
  it.each([
    ['GET /users/me', 'GET /users/{id}'],
    ['GET /users/{id}', 'GET /users/*'],
    ['GET /users/{id}', 'GET /{kind}/me'],
    ['GET /users/me/*', 'GET /users/{id}/posts'],
    ['GET /users/{id}/posts', 'GET /users/*'],
    ['GET /users/*', 'GET /*'],
    ['GET /users', 'ANY /users'],
    ['GET /users', 'GET /*'],
    ['ANY /users/me', 'GET /users/{id}'], // the path decides before the method
    ['GET /users/{id}', 'ANY /users/{id}'],
    // and where neither is more specific, in an order all the same
    ['GET /a', 'GET /b'],
    ['GET /a', 'POST /a'],
    ['GET /users/{id}/posts', 'GET /users/{id}'],
    ['ANY /*', '$connect'],
    ['ANY /', '$connect'],
  ])('%s before %s', (first, second) => {
    expect(bySpecificity(pattern(first), pattern(second))).toBeLessThan(0)
    expect(bySpecificity(pattern(second), pattern(first))).toBeGreaterThan(0)
  })

  it('and only patterns that match the same requests are equal', () => {
    fc.assert(
      fc.property(anyPattern, anyPattern, fc.array(anyRequest, { minLength: 20, maxLength: 20 }), (a, b, requests) => {
        if (bySpecificity(a, b) !== 0) return
        for (const [method, names] of requests)
          expect(matchesRoute(a, method, names)).toBe(matchesRoute(b, method, names))
      }),
      { numRuns: runs(200, 2000) },
    )
  })

  it('equal however they are written', () => {
    for (const [a, b] of [
      ['GET /users/{id}', 'get /users/{name}/'],
      ['/files/*', 'ANY //files/{proxy+}'],
      ['GET /a', 'GET /%61'],
    ] as const) {
      expect(bySpecificity(pattern(a), pattern(b))).toBe(0)
    }
  })

  it('in an order that is total: of two one comes first, and what comes before the first comes before the second', () => {
    fc.assert(
      fc.property(anyPattern, anyPattern, anyPattern, (a, b, c) => {
        const [ab, ba, bc, ac] = [bySpecificity(a, b), bySpecificity(b, a), bySpecificity(b, c), bySpecificity(a, c)]
        const isReflexive = bySpecificity(a, a) === 0
        const isAntisymmetric = Math.sign(ab) + Math.sign(ba) === 0
        const isTransitive = ab > 0 || bc > 0 || (ab < 0 || bc < 0 ? ac < 0 : ac <= 0)
        // two thousand times: an expect for each would take seconds
        return isReflexive && isAntisymmetric && isTransitive
      }),
      { numRuns: runs(200, 2000) },
    )
  })

  it('so that one that matches less never comes after one that matches more', () => {
    const longer = (paths: string[][]) => paths.flatMap((path) => ['a', 'b', 'c', 'd'].map((name) => [...path, name]))
    let paths: string[][] = [[]]
    const universe = [...paths]
    for (let length = 1; length <= 5; length++) {
      paths = longer(paths)
      universe.push(...paths)
    }
    fc.assert(
      fc.property(anyPattern, anyPattern, (a, b) => {
        const inA = universe.filter((names) => matchesRoute(a, a.method, names))
        const inB = universe.filter((names) => matchesRoute(b, b.method, names))
        const narrower = inA.length < inB.length && inA.length > 0 && inA.every((names) => inB.includes(names))
        if (narrower) expect(bySpecificity(a, b)).toBeLessThan(0)
      }),
      { numRuns: runs(60, 300) },
    )
  })
})
