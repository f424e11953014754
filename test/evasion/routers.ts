import { Router as expressRouter } from 'express'
import findMyWay from 'find-my-way'
import { Hono } from 'hono'

/**
 * A backend's router with these patterns, which gives the one that serves a path: `none` for its catch-all, `refused`
 * where it answers that the path is bad.
 */
export type Router = (path: string) => Promise<number | 'none' | 'refused'>

/** A pattern as its segments: a literal, `{}` for a parameter, `*` for the rest. */
export type Segments = readonly string[]

/**
 * Routers that backends behind API Gateway have, as they come and with the options that change what a path is to them.
 */
export const ROUTERS: Readonly<Record<string, (patterns: readonly Segments[]) => Router>> = {
  'WHATWG URL, exact': exactly((path) => new URL(path, 'https://backend.example').pathname),
  'WHATWG URL, decoded': exactly((path) => decodeURIComponent(new URL(path, 'https://backend.example').pathname)),
  'the path decoded, then as a URL': exactly(
    (path) => new URL(decodeURIComponent(path), 'https://backend.example').pathname,
  ),
  'decoded twice, slashes merged': exactly((path) => decodeURIComponent(decodeURIComponent(path)).replace(/\/+/g, '/')),
  'Java: parameters off, decoded, dots resolved': exactly((path) => {
    const decoded = decodeURIComponent(path.replace(/;[^/]*/g, '')).replace(/\/+/g, '/')
    return new URL(`https://backend.example${decoded.replace(/[?#]/g, '_')}`).pathname
  }),
  Express: withExpress({}),
  'Express, strict and case sensitive': withExpress({ strict: true, caseSensitive: true }),
  Hono: withHono(true),
  'Hono, not strict': withHono(false),
  'find-my-way (Fastify)': withFindMyWay({}),
  'find-my-way with semicolons': withFindMyWay({ useSemicolonDelimiter: true } as object),
  'find-my-way, lenient': withFindMyWay({
    caseSensitive: false,
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
  }),
}

/** As backends without a framework do it: segments compared as they are. */
function exactly(pathOf: (path: string) => string): (patterns: readonly Segments[]) => Router {
  return (patterns) => async (path) => {
    const names = attempt(() => pathOf(path).slice(1).split('/'))
    if (!names) return 'refused'
    const matches = (pattern: Segments) =>
      (pattern.at(-1) === '*' ? names.length >= pattern.length : names.length === pattern.length) &&
      pattern.every((segment, i) => segment === '*' || segment === '{}' || segment === names[i])
    const found = patterns.findIndex((pattern) => matches(pattern) && !(names.length === 1 && names[0] === ''))
    return found < 0 ? 'none' : found
  }
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

const written = (pattern: Segments, parameter: (i: number) => string, rest: string): string =>
  `/${pattern.map((segment, i) => (segment === '{}' ? parameter(i) : segment === '*' ? rest : segment)).join('/')}`

function withExpress(options: object): (patterns: readonly Segments[]) => Router {
  return (patterns) => {
    const router = expressRouter(options)
    for (const [index, pattern] of patterns.entries()) {
      router.get(
        written(pattern, (i) => `:p${i}`, '*rest'),
        (_, response) => void (response as unknown as Served).serve(index),
      )
    }
    return (url) =>
      new Promise((resolve) => {
        const next = (error?: unknown) => resolve(error ? 'refused' : 'none')
        router({ method: 'GET', url, headers: {} } as never, { serve: resolve } as never, next)
      })
  }
}

interface Served {
  serve(index: number): void
}

function withHono(strict: boolean): (patterns: readonly Segments[]) => Router {
  return (patterns) => {
    const app = new Hono({ strict })
    for (const [index, pattern] of patterns.entries()) {
      app.get(
        written(pattern, (i) => `:p${i}`, ':rest{.+}'),
        (context) => context.text(String(index)),
      )
    }
    return async (path) => {
      const request = attempt(() => new Request(`https://backend.example${path}`))
      if (!request) return 'refused'
      const response = await app.fetch(request)
      return response.status === 200 ? Number(await response.text()) : 'none'
    }
  }
}

function withFindMyWay(options: findMyWay.Config<findMyWay.HTTPVersion.V1>): (patterns: readonly Segments[]) => Router {
  return (patterns) => {
    const router = findMyWay({ ...options, onBadUrl: () => {} })
    for (const [index, pattern] of patterns.entries()) {
      router.on(
        'GET',
        written(pattern, (i) => `:p${i}`, '*'),
        () => index,
      )
    }
    return async (path) => {
      const found = router.find('GET', path)
      if (!found) return 'none'
      const index = (found.handler as unknown as () => number | undefined)()
      const isRoot = patterns[index ?? 0]!.length === 1 && Object.values(found.params).every((value) => value === '')
      return index === undefined || isRoot ? 'refused' : index // `/*` and `/:id` take `/` for theirs, as API Gateway does not
    }
  }
}
