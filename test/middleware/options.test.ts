import { Hono } from 'hono'
import { createLimiter, MemoryStore } from '../../limiter'
import { expressRateLimit, fastifyRateLimit, honoRateLimit, koaRateLimit } from '../../middleware'

const limiter = createLimiter({ store: new MemoryStore(), policies: [{ name: 'a', limit: 1, window: '1m' }] })
const metered = createLimiter({
  store: new MemoryStore(),
  policies: [{ name: 'tokens', limit: 100, window: '1m', cost: 'tokens' }],
})

test.each([
  [undefined, /options must be an object/],
  [{}, /limiter is missing, it must be what createLimiter/],
  [{ limiter: {} }, /limiter must be what createLimiter/],
  [{ limiter, cost: -1 }, /cost must be an integer from 0 or a function of the request, got -1/],
  [{ limiter, cost: 1.5 }, /cost must be/],
  [{ limiter, costs: { tokens: -1 } }, /costs must be an object of integers from 0/],
  [{ limiter, costs: { tokens: 1 } }, /costs must be left out, for no policy has a `cost`, got "tokens"/],
  [{ limiter: metered, costs: { tokns: 1 } }, /costs must be some of tokens, got "tokns"/],
  [
    { limiter: metered, costs: { tokens: 1 }, reserve: '500ms' },
    /reserve must be a duration from "1s" to "24h", got "5/,
  ],
  [{ limiter: metered, costs: { tokens: 1 }, reserve: 300 }, /reserve must be a duration from "1s" to "24h", got 300/],
  [{ limiter, keyBy: 'x-user' }, /keyBy must be a function of the request, got "x-user"/],
  [{ limiter, skip: true }, /skip must be a function/],
  [{ limiter, ipv6Prefix: 0 }, /ipv6Prefix must be an integer from 1 to 128, got 0/],
  [{ limiter, keyby: () => 'a' }, /unknown field "keyby", did you mean "keyBy"/],
])('the options %p are refused when the middleware is made', (options, message) => {
  for (const make of [expressRateLimit, fastifyRateLimit, honoRateLimit, koaRateLimit] as const)
    expect(() => (make as (options: unknown) => unknown)(options)).toThrow(message)
})

test('Hono without bindings of Node has to be told the address, or whom to count', async () => {
  const app = (options: object) => {
    const made = new Hono()
    made.use(honoRateLimit({ limiter, ...options }))
    made.onError((error, c) => c.text(error.message, 500))
    return made.get('/', (c) => c.text('ok'))
  }
  expect(await (await app({}).request('/')).text()).toMatch(/needs the option address, or keyBy/)
  const answers = [{ address: () => '1.2.3.4' }, { keyBy: () => 'user:1' }, { address: () => undefined }]
  for (const options of answers) expect(await (await app(options).request('/')).text()).toBe('ok')
})
