import type Middy from '@middy/core' with { 'resolution-mode': 'import' }
import { handOn, rateLimit, reportCost, withRateLimit } from '../../backend'
import type * as Scene from './settled-scene'
import { scene, TOKENS, warnings } from './settled-scene'

const { default: middy } = jest.requireActual<{ default: typeof Middy }>('@middy/core')

jest.mock('../../backend/settler', () => ({
  ...jest.requireActual('../../backend/settler'),
  settlerFor: () => jest.requireActual<typeof Scene>('./settled-scene').settlerOfScene,
}))

const logged = warnings()
const OPEN = { name: 'open', algorithm: 'concurrency', limit: 2, timeout: '2h' }
const OK = { statusCode: 200 }

/** The events of a connection, of which each has the context that the authorizer has given the connection. */
async function connected() {
  const { event, open, used } = scene([OPEN, TOKENS])
  const { requestContext } = await event()
  const of = (eventType: string, more: object = {}) => ({ requestContext: { ...requestContext, eventType, ...more } })
  return {
    opened: of('CONNECT'),
    message: of('MESSAGE', { messageId: 'm1' }),
    /** Decided by `withMessageLimit`, which has reserved something for it. */
    decided: of('MESSAGE', { messageId: 'm1', authorizer: { ...requestContext.authorizer, messageId: 'm1' } }),
    ended: of('DISCONNECT'),
    open,
    used,
  }
}
type Handle = (event: object) => Promise<unknown>

describe.each<[string, (handler: Handle, cost?: () => number) => Handle]>([
  ['withRateLimit', (handler, cost) => withRateLimit(handler, cost ? { cost } : {})],
  [
    'rateLimit',
    (handler, cost) => {
      const wrapped = middy(handler as never).use(rateLimit(cost ? { cost } : {}) as never)
      return (event) => (wrapped as unknown as (event: object, context: object) => Promise<unknown>)(event, {})
    },
  ],
])('%s around the routes of a WebSocket', (_, wrap) => {
  it('settles what a connection holds when that ends, and not before', async () => {
    const { opened, message, ended, open, used } = await connected()
    await wrap(async () => OK)(opened)
    expect(await open()).toBe(2)
    const handler: Handle = async (event) => {
      await reportCost(event, 1)
      expect(handOn(event)).toBeUndefined()
      return OK
    }
    await wrap(handler, () => 2)(message)
    expect([await open(), logged]).toEqual([2, []])
    await wrap(
      async () => OK,
      () => 30,
    )(ended)
    expect([await open(), await used()]).toEqual([0, 30])
  })

  it.each([
    ['403', async () => ({ statusCode: 403 })],
    ['500 as text', async () => ({ statusCode: '500' })],
    ['an error', async () => Promise.reject(new Error('broken'))],
  ])('settles at once where $connect answers %s', async (_name, handler) => {
    const { opened, open } = await connected()
    await wrap(handler)(opened).catch(() => {})
    expect(await open()).toBe(0)
  })

  it('settles a message whose own decision the context is', async () => {
    const { decided, open, used } = await connected()
    await wrap(
      async () => OK,
      () => 7,
    )(decided)
    expect([await open(), await used()]).toEqual([0, 7])
  })

  it('does not delay, deny or put back a message for what was decided about the connection', async () => {
    const authorizer = { allowed: 'false', rateLimited: 'true', delayMs: '5000', priority: 'low' }
    const message = (more: object) => ({ requestContext: { eventType: 'MESSAGE', ...more, authorizer } })
    const startedAt = performance.now()
    for (const more of [{ messageId: 'm1' }, {}]) expect(await wrap(async () => OK)(message(more))).toEqual(OK)
    expect(performance.now() - startedAt).toBeLessThan(1000)
  })
})

it('keeps a connection that one of nested wrappers has left open', async () => {
  const { opened, ended, open } = await connected()
  const handler = withRateLimit(withRateLimit(async (_: object) => OK))
  await handler(opened)
  expect(await open()).toBe(2)
  await handler(ended)
  expect(await open()).toBe(0)
})

it('logs a report about a connection that is open, which settles nothing', async () => {
  const { opened, open } = await connected()
  await withRateLimit(async (event: object) => reportCost(event, 5))(opened)
  expect([await open(), logged]).toEqual([2, ['connection_open']])
})
