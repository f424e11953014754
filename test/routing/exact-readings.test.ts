import { type RequestTarget, readingsOf } from '../../lambda/routing/readings'

const textOf = (segments: readonly string[]) => `/${segments.join('/')}`

function readings(path: string, more: Partial<RequestTarget> = {}, basePaths: string[] = []) {
  const found = readingsOf({ method: 'GET', path, resource: '$default', pathParameters: new Map(), ...more }, basePaths)
  return found && { served: found.served.map(textOf), aliases: found.aliases.map(textOf) }
}

describe('a path has these readings and no other', () => {
  it.each([
    ['///a', ['///a', '/a', '/']],
    ['//', ['//', '/']],
    ['/a///b', ['/a///b', '/a/b']],
    ['/.', ['/.', '/']],
    ['/..', ['/..', '/']],
    ['/../a', ['/../a', '/a']],
    ['/a/.', ['/a/.', '/a/', '/a']],
    ['/a/./', ['/a/./', '/a/.', '/a/', '/a']],
    ['/a/b/../c', ['/a/b/../c', '/a/c']],
    ['/a/.../b', ['/a/.../b']],
    ['/a/%2E/b', ['/a/%2E/b', '/a/b', '/a/./b']],
    ['/a/%2eb', ['/a/%2eb', '/a/.b']],
    ['/a/.%2e', ['/a/.%2e', '/', '/a/..']],
    ['/;a', ['/;a', '/']],
    ['/a;b', ['/a;b', '/a']],
    ['/a#b?c', ['/a#b?c', '/a']],
    ['/a?b#c', ['/a?b#c', '/a']],
    ['/a\\b\\c', ['/a\\b\\c', '/a/b/c']],
    ['/ a', ['/ a']],
    ['/a b\t', ['/a b\t', '/a b']],
    ['/a\r\n/b ', ['/a\r\n/b ', '/a/b']],
    ['/a%0A', ['/a\n', '/a']],
    ['/a%3bb%2fc', ['/a%3bb%2Fc', '/a;b%2Fc', '/a;b/c', '/a', '/a/c']],
    ['/%2525', ['/%2525', '/%25', '/%']],
    ['/%252525', ['/%252525', '/%2525', '/%25']],
    ['/%c3%a9%2f', ['/é%2F', '/é/', '/é']],
    ['/%80%2f', ['/%80%2F', '/%80/', '/%80']],
    ['/a%ffb%fe', ['/a%FFb%FE']],
    ['/a%20bc', ['/a bc']],
    ['/%25az', ['/%az']],
    ['//ab/c', ['//ab/c', '/ab/c', '/c']],
    ['/undefined/a', ['/undefined/a']],
    ['/a/../../b', ['/a/../../b', '/b']],
    ['/a/%2e%2e/b', ['/a/%2e%2e/b', '/b', '/a/../b']],
  ])('%j', (path, served) => {
    expect(readings(path)).toEqual({ served, aliases: [] })
  })
})

it('the path `/` has no segment, also where it is what is left of another', () => {
  const segments = (path: string, basePaths: string[]) =>
    readingsOf({ method: 'GET', path, resource: '$default', pathParameters: new Map() }, basePaths)!.served
  expect(segments('/', [])).toEqual([[]])
  expect(segments('/', ['/v1'])).toEqual([[]])
  expect(segments('//', [])).toEqual([['', ''], []])
  expect(segments('/v1', ['/v1'])).toEqual([['v1'], []])
  expect(segments('/v1/', ['/v1'])).toEqual([['v1', ''], [], ['v1']])
})

describe('behind a base path', () => {
  const parameters = (values: Record<string, string>) => new Map(Object.entries(values))

  it('the path of the route is served, and the whole path is an alias, both with and without a slash at the end', () => {
    expect(readings('/v1/users/', { resource: '/users' })).toEqual({
      served: ['/users/', '/users'],
      aliases: ['/v1/users/', '/v1/users'],
    })
    expect(readings('/v1/', { resource: '/' })).toEqual({ served: ['/'], aliases: ['/v1/', '/v1'] })
    expect(readings('/v1/users', { resource: '/users/' })).toEqual({
      served: ['/users', '/users/'],
      aliases: ['/v1/users'],
    })
  })

  it('each parameter of the route is filled in', () => {
    const resource = '/users/{id}/posts/{post}'
    expect(readings('/v1/users/42/posts/7', { resource, pathParameters: parameters({ id: '42', post: '7' }) })).toEqual(
      {
        served: ['/users/42/posts/7'],
        aliases: ['/v1/users/42/posts/7'],
      },
    )
  })

  it('slashes separate segments inside a greedy parameter, and inside no other', () => {
    expect(readings('/v1/a/b/c', { resource: '/{x}/{y+}', pathParameters: parameters({ x: 'a', y: 'b/c' }) })).toEqual({
      served: ['/a/b/c'],
      aliases: ['/v1/a/b/c'],
    })
    expect(readings('/x', { resource: '/{a}', pathParameters: parameters({ a: 'b/c/d' }) })).toEqual({
      served: ['/x', '/b%2Fc%2Fd', '/b/c/d'],
      aliases: [],
    })
  })

  it('a route with an unknown parameter says nothing about the base path', () => {
    expect(readings('/v1/a/{proxy+}', { resource: '/a/{proxy+}' })).toEqual({
      served: ['/v1/a/{proxy+}'],
      aliases: ['/a/{proxy+}'],
    })
    expect(readings('/x/y', { resource: '/a/{proxy+}' })).toEqual({ served: ['/x/y'], aliases: ['/a/{proxy+}'] })
    expect(readings('/a/{id}', { resource: '/a/{id}' })).toEqual({ served: ['/a/{id}'], aliases: [] })
  })

  it('an alias that is served as well is named once', () => {
    expect(readings('/v1/users', { resource: '/users' }, ['/v1'])).toEqual({
      served: ['/users'],
      aliases: ['/v1/users'],
    })
  })

  it('a route whose parameters are only slashes shows none', () => {
    expect(readings('/v1//', { resource: '/{proxy+}', pathParameters: parameters({ proxy: '/' }) })).toEqual({
      served: ['/v1//', '//', '/v1/', '/v1', '/'],
      aliases: [],
    })
  })

  it('a path that does not end like its route is served as both', () => {
    expect(readings('/v1/other', { resource: '/users' })).toEqual({ served: ['/v1/other', '/users'], aliases: [] })
  })

  it.each(['/v1/../users', '/v1//users', '/v%31/users', '/v1;a/users', '/v 1/users', '/v1/./users', 'v1/users'])(
    '%j shows no base path: a client may have made it up',
    (path) => {
      const { served, aliases } = readings(path, { resource: '/users' })!
      expect(served).toEqual(expect.arrayContaining(['/users']))
      expect(served.length).toBeGreaterThan(1)
      expect(aliases).toEqual([])
    },
  )

  it('the stage may be in front of the base path', () => {
    expect(readings('/prod/v1/x', { stage: 'prod' }, ['/v1'])).toEqual({
      served: ['/prod/v1/x', '/v1/x', '/x'],
      aliases: [],
    })
    expect(readings('/x', { stage: 'prod' })).toEqual({ served: ['/x'], aliases: [] })
  })
})

describe('a request is held to no path where its path has too many readings', () => {
  it('more than 256', () => {
    expect(readings('/a'.repeat(255), {}, ['/a'])!.served).toHaveLength(256)
    expect(readings('/a'.repeat(256), {}, ['/a'])).toBeUndefined()
  })

  it('or readings of more than 65,536 characters', () => {
    const ofLength = (length: number) => `/v10/${'a'.repeat(length - 5)}` // and one of four less
    expect(readings(ofLength(32_770), {}, ['/v10'])!.served).toHaveLength(2)
    expect(readings(ofLength(32_771), {}, ['/v10'])).toBeUndefined()
  })

  it('served and aliases together', () => {
    const route = { resource: '/{proxy+}', pathParameters: new Map([['proxy', `${'a/'.repeat(127)}a`]]) }
    const bases = ['/a']
    const found = readings(`/b${'/a'.repeat(128)}`, route, bases)!
    expect([found.served.length, found.aliases.length]).toEqual([129, 1])
    const longer = { resource: '/{proxy+}', pathParameters: new Map([['proxy', `${'a/'.repeat(254)}a`]]) }
    expect(readings(`/b${'/a'.repeat(255)}`, longer, bases)).toBeUndefined()
  })
})
