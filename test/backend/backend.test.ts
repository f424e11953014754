import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type Middy from '@middy/core' with { 'resolution-mode': 'import' }
import { type BuildOptions, buildSync } from 'esbuild'
import { rateLimit, withRateLimit } from '../../backend'
import { headersFromContext } from '../../lambda/responses/backend-headers'
import { toContext } from '../../lambda/responses/context'
import { functionBundleOptions } from '../../lib/authorizer-bundle'
import { ACCESS_DENIED, render } from '../../provisioning/gateway-response'
import { ALLOWED, DENIED, decisionOf, NOW, SHAPES, standing } from '../responses/decisions'

const { default: middy } = jest.requireActual<{ default: typeof Middy }>('@middy/core')

const FACTS = { shapes: SHAPES, tier: 'free', subject: 'client:abc', now: NOW }
const allowed = toContext({ decision: ALLOWED, ...FACTS })
const denied = toContext({ decision: DENIED, ...FACTS })
const delayed = (delayMs: number) =>
  toContext({ decision: decisionOf('queue', { queue: standing({ delayMs }) }), now: NOW })
const HEADERS = headersFromContext(allowed)

/** As a REST API calls its backend: every value a text. */
const restEvent = (context: object) => ({
  httpMethod: 'GET',
  requestContext: {
    authorizer: Object.fromEntries(Object.entries(context).map(([key, value]) => [key, String(value)])),
  },
})
/** As an HTTP API does with payload 2.0. */
const httpEvent = (context: object) => ({
  version: '2.0',
  requestContext: { http: { method: 'GET' }, authorizer: { lambda: context } },
})
const lambda = (remainingMs: number) => ({ getRemainingTimeInMillis: () => remainingMs })

describe.each([
  ['a REST API', restEvent],
  ['an HTTP API', httpEvent],
])('behind %s', (_, eventOf) => {
  test('a response gets the headers of the decision', async () => {
    const handler = withRateLimit(async (_event: unknown) => ({
      statusCode: 201,
      headers: { 'X-Own': 'a' },
      body: 'made',
      isBase64Encoded: false,
    }))
    expect(await handler(eventOf(allowed))).toEqual({
      statusCode: 201,
      headers: { 'X-Own': 'a', ...HEADERS },
      body: 'made',
      isBase64Encoded: false,
    })
    expect(Object.keys(HEADERS)).toHaveLength(5)
  })

  test('headers that the handler set itself are kept, in any case and of any type', async () => {
    const own = {
      statusCode: 503,
      headers: { 'retry-after': '7', ratelimit: 'mine' },
      multiValueHeaders: { 'X-RateLimit-limit': ['1', '2'] },
    }
    const response = await withRateLimit((_event: unknown) => own)(eventOf(allowed))
    const { RateLimit: _, 'X-RateLimit-Limit': __, ...others } = HEADERS
    expect(response).toEqual({ ...own, headers: { ...own.headers, ...others } })
    expect(own.headers).toEqual({ 'retry-after': '7', ratelimit: 'mine' }) // a response may be a constant of the handler's
  })

  test('a request that did not come by Sluice, or was not counted, is answered as ever', async () => {
    const response = { statusCode: 200, body: '' }
    const handler = withRateLimit((_event: unknown) => response)
    for (const event of [undefined, null, 7, {}, eventOf({}), eventOf(toContext({ reason: 'uncounted', now: NOW }))])
      expect(await handler(event)).toBe(response)
  })

  test('a request over the limit that was let through is answered 429, and the handler not asked', async () => {
    const handler = jest.fn()
    const response = await withRateLimit(handler)(eventOf(denied))
    expect(handler).not.toHaveBeenCalled()
    expect(response).toMatchObject({
      statusCode: 429,
      headers: { 'Content-Type': 'application/problem+json', 'Retry-After': '13', ...headersFromContext(denied) },
    })
  })

  test('an error passes through', async () => {
    const broken = new Error('broken')
    const late = withRateLimit(async (_event: unknown) => Promise.reject(broken))
    const soon = withRateLimit((_event: unknown) => {
      throw broken
    })
    await expect(late(eventOf(allowed))).rejects.toBe(broken)
    await expect(soon(eventOf(allowed))).rejects.toBe(broken)
  })
})

test('the 429 of an HTTP API says what the 429 of a REST API says, and its numbers are numbers', async () => {
  const rest = JSON.parse(render(ACCESS_DENIED.templates['application/json'], denied))
  const numbers = { limit: denied.limit, remaining: denied.remaining, retryAfter: denied.retryAfter }
  expect(rest).toMatchObject(Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, String(value)])))
  for (const event of [httpEvent(denied), restEvent(denied)]) {
    const response = await withRateLimit((_event: unknown) => undefined)(event)
    expect(JSON.parse((response as { body: string }).body)).toEqual({ ...rest, ...numbers })
  }
})

describe('what is no response', () => {
  test.each([
    ['a text', 'Hello', 'Hello'],
    ['an object', { a: 1 }, '{"a":1}'],
    ['a list', [1, 2], '[1,2]'],
    ['a number', 7, '7'],
  ])('%s becomes on an HTTP API what API Gateway would make of it, with headers', async (_, result, body) => {
    const response = await withRateLimit((_event: unknown): unknown => result)(httpEvent(allowed))
    expect(response).toEqual({ statusCode: 200, headers: { 'content-type': 'application/json', ...HEADERS }, body })
  })

  test.each([['Hello'], [{ a: 1 }], [undefined], [null]])('%j is left to a REST API as it is', async (result) => {
    expect(await withRateLimit((_event: unknown): unknown => result)(restEvent(allowed))).toBe(result)
  })

  test.each([[undefined], [null]])('%j is left to an HTTP API as well', async (result) => {
    expect(await withRateLimit((_event: unknown): unknown => result)(httpEvent(allowed))).toBe(result)
  })
})

test('a handler gets everything that Lambda gives it', async () => {
  const handler = jest.fn((..._: unknown[]) => 'done')
  const [event, stream, context] = [restEvent(allowed), {}, lambda(1000)]
  expect(await withRateLimit(handler)(event, stream, context)).toBe('done')
  expect(handler).toHaveBeenCalledWith(event, stream, context)
})

describe('a request that has to wait for its turn', () => {
  beforeEach(() => jest.useFakeTimers())
  afterEach(() => jest.useRealTimers())

  test.each([
    ['as long as it was told', 250, 30_000, undefined, 250],
    ['at most ten seconds', 60_000, 30_000, undefined, 10_000],
    ['at most what the backend says', 60_000, 30_000, 500, 500],
    ['not into the last second of the function', 5000, 3000, undefined, 2000],
  ])('waits %s', async (_, delayMs, remainingMs, maxDelayMs, waitsMs) => {
    const handler = jest.fn(async (_event: unknown, _context: unknown) => ({ statusCode: 200 }))
    const answer = withRateLimit(handler, { maxDelayMs })(restEvent(delayed(delayMs)), lambda(remainingMs))
    await jest.advanceTimersByTimeAsync(waitsMs - 1)
    expect(handler).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(1)
    expect(handler).toHaveBeenCalledTimes(1)
    expect(await answer).toMatchObject({ statusCode: 200 })
  })

  test.each([
    ['has no turn to wait for', allowed, 30_000],
    ['has no time to wait', delayed(5000), 900],
  ])('does not when it %s', async (_, context, remainingMs) => {
    const handler = withRateLimit(async (_event: unknown, _context: unknown) => ({ statusCode: 200 }))
    expect(await handler(restEvent(context), lambda(remainingMs))).toMatchObject({ statusCode: 200 })
    expect(jest.getTimerCount()).toBe(0)
  })
})

test('a request of low priority is served by the handler for those, where there is one', async () => {
  const handler = (_event: unknown) => ({ statusCode: 200 })
  const lowPriority = (_event: unknown) => ({ statusCode: 202 })
  const low = restEvent({ ...allowed, priority: 'low' })
  expect(await withRateLimit(handler, { lowPriority })(low)).toMatchObject({ statusCode: 202, headers: HEADERS })
  expect(await withRateLimit(handler, { lowPriority })(restEvent(allowed))).toMatchObject({ statusCode: 200 })
  expect(await withRateLimit(handler)(low)).toMatchObject({ statusCode: 200 })
})

describe('as a middleware of middy', () => {
  const ok = () => ({ statusCode: 200, body: '' })
  const call = (handler: () => unknown, event: object, ...others: Middy.MiddlewareObj[]) =>
    middy(handler).use([rateLimit(), ...others])(event, { ...lambda(30_000) } as never)

  test('adds the headers', async () => {
    expect(await call(ok, restEvent(allowed))).toEqual({ ...ok(), headers: HEADERS })
  })

  test('answers 429 by itself', async () => {
    const handler = jest.fn()
    expect(await call(handler, httpEvent(denied))).toMatchObject({ statusCode: 429, headers: { 'Retry-After': '13' } })
    expect(handler).not.toHaveBeenCalled()
  })

  const broken = () => {
    throw new Error('broken')
  }
  test('adds the headers to what others make of an error', async () => {
    const toResponse: Middy.MiddlewareObj = {
      onError(request) {
        request.response = { statusCode: 500 }
      },
    }
    expect(await call(broken, restEvent(allowed), toResponse)).toEqual({ statusCode: 500, headers: HEADERS })
  })

  test('lets an error pass that nobody handles', async () => {
    await expect(call(broken, restEvent(allowed))).rejects.toThrow('broken')
  })
})

/** The size of the wrapper as somebody else's function has it, in bytes. */
function bundledSize(options: BuildOptions): number {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  const outfile = join(folder, 'backend.js')
  try {
    const entry = join(__dirname, '../../backend/index.ts')
    buildSync({ entryPoints: [entry], bundle: true, minify: true, outfile, ...options })
    return statSync(outfile).size
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('bundled, it is smaller than 8.5 KB and needs nothing else, but for what settles', () => {
  expect(bundledSize({ platform: 'neutral', external: ['./settler.ts'] })).toBeLessThan(8500)
  const withSettler = bundledSize({ ...functionBundleOptions, format: 'cjs' })
  expect(withSettler).toBeLessThan(120_000)
})
