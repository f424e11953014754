import fc from 'fast-check'
import { type RequestTarget, readingsOf } from '../../lambda/routing/readings'
import { runs } from '../runs'

const target = (path: string, more: Partial<RequestTarget> = {}): RequestTarget => ({
  method: 'GET',
  path,
  resource: '$default',
  pathParameters: new Map(),
  ...more,
})
const textOf = (segments: readonly string[]) => `/${segments.join('/')}`
const readings = (path: string, basePaths: string[] = []) =>
  readingsOf(target(path), basePaths)!.served.map(textOf).sort()

describe('a path that can be read in one way only', () => {
  it.each([
    '/',
    '/a',
    '/users/42',
    '/v1/users/a@b.example,c:d',
    '/.well-known/jwks.json',
    '/a.b/...',
    '/café',
    '/a=b&c+d',
    '/$connect',
  ])('%s has one reading', (path) => {
    expect(readings(path)).toEqual([path])
  })

  it.each([
    ['/caf%C3%A9', '/café'],
    ['/caf%c3%a9', '/café'],
    ['/a%20b', '/a b'],
    ['/100%25', '/100%'],
    ['/%7Bid%7D', '/{id}'],
    ['/%ff%FE', '/%FF%FE'],
    ['/100%', '/100%'],
  ])('so does %s, in which nothing is encoded that need not be', (path, read) => {
    expect(readings(path)).toEqual([read])
  })
})

describe('a path that backends read differently has all their readings', () => {
  it.each([
    ['/%61dmin', ['/%61dmin', '/admin'], 'an escape'],
    ['/%2561dmin', ['/%2561dmin', '/%61dmin', '/admin'], 'an escape that is escaped'],
    ['/a%2Fb', ['/a%2Fb', '/a/b'], 'a slash that is escaped'],
    ['/a/', ['/a', '/a/'], 'a slash at the end'],
    ['//x/y', ['//x/y', '/x/y', '/y'], 'two slashes, and what `new URL` takes for a host'],
    ['/a/../b', ['/a/../b', '/b'], 'dots'],
    ['/a/%2e%2E/b', ['/a/%2e%2E/b', '/a/../b', '/b'], 'dots that are escaped'],
    ['/a/..', ['/', '/a/..'], 'dots at the end'],
    ['/a\\b', ['/a/b', '/a\\b'], 'a backslash'],
    [
      '/a%5Cb\\c',
      ['/a%5Cb\\c', '/a%5Cb/c', '/a\\b\\c', '/a\\b/c', '/a/b/c'],
      'a backslash inside a segment, escaped, and one between segments: URLs take the second only for a slash',
    ],
    [
      '/a%3Fb?c/d',
      ['/a%3Fb?c/d', '/a%3Fb', '/a?b?c/d', '/a?b', '/a'],
      'a question mark inside a segment, and one that ends the path',
    ],
    ['/a;v=1/b', ['/a', '/a/b', '/a;v=1/b'], 'parameters of a segment'],
    ['/a?b/c', ['/a', '/a?b/c'], 'a question mark that an HTTP API has decoded'],
    ['/a#b', ['/a', '/a#b'], 'a fragment'],
    ['/ad\tmin \u0001', ['/ad\tmin \u0001', '/admin'], 'controls that URLs leave out'],
  ])('%j is %j: %s', (path, all) => {
    expect(readings(path)).toEqual(expect.arrayContaining(all))
    expect(readings(path).length).toBeLessThanOrEqual(all.length + 1) // and where a slash was left at the end
  })

  it('one after another, as in a chain of backends', () => {
    for (const path of [
      '/public/..;/admin',
      '/public/%252e%252e%252fadmin',
      '/x/..%5c..%2fadmin/',
      '//%2e/public/..//admin;x',
      '/public/.;a=b/..;/admin',
    ]) {
      expect(readings(path)).toContain('/admin')
    }
  })

  it('without what an operator says may stand in front, in any case of letters', () => {
    expect(readings('/v1/admin', ['/v1', '/shop'])).toEqual(['/admin', '/v1/admin'])
    expect(readings('/V1/x', ['/v1'])).toContain('/x')
    expect(readings('/v1', ['/v1'])).toEqual(['/', '/v1'])
    expect(readings('/v10/admin', ['/v1'])).toEqual(['/v10/admin'])
    expect(readingsOf(target('/prod/admin', { stage: 'prod' }), [])!.served.map(textOf)).toEqual([
      '/prod/admin',
      '/admin',
    ])
  })
})

describe('the route that API Gateway chose', () => {
  const chosen = (path: string, resource: string, parameters: Record<string, string> = {}) => {
    const { served, aliases } = readingsOf(
      target(path, { resource, pathParameters: new Map(Object.entries(parameters)) }),
      [],
    )!
    return { served: served.map(textOf).sort(), aliases: aliases.map(textOf).sort() }
  }

  it('adds no reading where it equals the path', () => {
    expect(chosen('/users/42', '/users/{id}', { id: '42' })).toEqual({ served: ['/users/42'], aliases: [] })
    expect(chosen('/a/b', '/{proxy+}', { proxy: 'a/b' })).toEqual({ served: ['/a/b'], aliases: [] })
    expect(chosen('/hello', '/hello')).toEqual({ served: ['/hello'], aliases: [] })
    expect(chosen('/', '/')).toEqual({ served: ['/'], aliases: [] })
  })

  it('adds a reading where the path disguises it', () => {
    expect(chosen('/files/a', '/files/{name}/export', { name: 'a?' }).served).toContain('/files/a?/export')
    expect(chosen('/files/a/b/export', '/files/{name}/export', { name: 'a/b' }).served).toContain('/files/a%2Fb/export')
  })

  it('shows the base path: the path without it is then served, and the path with it is an alias', () => {
    expect(chosen('/v1/users/42', '/users/{id}', { id: '42' })).toEqual({
      served: ['/users/42'],
      aliases: ['/v1/users/42'],
    })
    expect(chosen('/shop/v1/a/b', '/{proxy+}', { proxy: 'a/b' })).toEqual({
      served: ['/a/b'],
      aliases: ['/shop/v1/a/b'],
    })
    expect(chosen('/v1', '/')).toEqual({ served: ['/'], aliases: ['/v1'] })
  })

  it('shows no base path that a client could have made up', () => {
    expect(chosen('/public/../users/42', '/users/{id}', { id: '42' }).served).toContain('/public/../users/42')
    expect(chosen('//users/42', '/users/{id}', { id: '42' }).served).toContain('//users/42')
  })

  it('is an alias where its parameters are unknown: its rules apply, and having none means nothing', () => {
    expect(chosen('/files/a', '/files/{name}/export')).toEqual({
      served: ['/files/a'],
      aliases: ['/files/{name}/export'],
    })
  })
})

describe('whatever the path', () => {
  const part = fc.constantFrom(
    'a',
    'B',
    '/',
    '//',
    '.',
    '..',
    '%2e',
    '%2F',
    '%5c',
    '\\',
    ';',
    ';x',
    '%',
    '%25',
    '%2561',
    '?',
    '#',
    ' ',
    '%00',
    '\t',
    '%ff',
    'é',
  )

  it.each([
    '/a\u0000',
    '/a%00b',
    '/a%2500',
    '/%c0%ae',
    '/%25c1%25AE',
    '/%e0%80%ae',
    '/%f0%82%82%ac',
    '/%u002e',
    '/a/%25u2215b',
    '/a/\ufffd',
    '/a/%ef%bf%BD',
    '/%25EF%25bf%25bd',
  ])('it is not read where it says what no client means: %p', (path) =>
    expect(readingsOf(target(path), [])).toBeUndefined(),
  )

  it.each(['/a%C3%80', '/%c3%a9%e2%82%ac%f0%9f%99%82', '/%e0la', '/%c0%20la', '/100%users', '/%ff'])(
    'it is read where somebody may mean it: %p',
    (path) => expect(readingsOf(target(path), [])).toBeDefined(),
  )

  it('it is read in at most 256 ways, or not at all', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.array(fc.constantFrom('/a', '/a/B')), (parts, bases) => {
        const found = readingsOf(target(`/${parts.join('')}`), bases)
        if (found) expect(found.served.length).toBeLessThanOrEqual(256)
      }),
      { numRuns: runs(200, 2000) },
    )
  })

  it('it is read in milliseconds, however long', () => {
    for (const unit of [
      '%25',
      '%2525',
      '/..',
      '/%2e%2e',
      '//',
      ';/',
      '\\',
      '/;a',
      '%2f..',
      'a/',
      '%5c..%5c',
      '?#',
      '/a;b\\..%2f',
      '%',
      '%zz',
      'é',
    ]) {
      const path = `/${unit.repeat(10_240 / unit.length)}`
      const before = process.cpuUsage() // computing time: the machine's own pauses do not count
      readingsOf(target(path), ['/a', '/b'])
      const { user, system } = process.cpuUsage(before)
      expect(user + system).toBeLessThan(250_000) // microseconds; 50,000 at most
    }
  })

  it('it is read where real clients send it: a URL as a parameter, encoded, in an API behind a base path', () => {
    const url = encodeURIComponent('https://example.com/A%2Fb;x=1/../q/?x=1&y=a%20b#fragment')
    expect(readingsOf(target(`/v1/fetch/${url}/`), ['/v1', '/v2'])).toBeDefined()
  })

  it('it is always read in the same way', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const path = `/${parts.join('')}`
        expect(readingsOf(target(path), [])).toEqual(readingsOf(target(path), []))
      }),
    )
  })
})
