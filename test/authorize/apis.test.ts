import fc from 'fast-check'
import type { PolicyAnswer, SimpleAnswer } from '../../lambda/responses/answers'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { setFrom } from '../config-table/scoped'
import { policy } from '../policies/issues'
import httpDefault from '../responses/events/http-default-preflight.json'
import webSocket from '../responses/events/websocket-connect.json'
import { runs } from '../runs'
import { Gateway, httpEvent, KEYS, PREFLIGHT, type Request, restEvent } from './gateway'

type Context = Readonly<Record<string, unknown>>

/** A request to a stage of an API. */
const to = (place: string, request: Request = {}) => {
  const [apiId, stage] = place.split('/')
  const event = restEvent(request)
  return { ...event, requestContext: { ...(event.requestContext as Context), apiId, stage } }
}

const isAllowed = (answer: unknown) => {
  const { policyDocument } = answer as PolicyAnswer
  return policyDocument
    ? policyDocument.Statement[0].Effect === 'Allow'
    : (answer as unknown as SimpleAnswer).isAuthorized
}

/** How many of so many requests pass. */
async function passing(gateway: Gateway, count: number, event: unknown): Promise<number> {
  let passed = 0
  for (let i = 0; i < count; i++) if (isAllowed(await gateway.authorize(event))) passed++
  return passed
}

const anonymous = { by: 'ip', policies: [policy({ limit: 3 })] }

describe('limits of one limiter', () => {
  it('are shared by all APIs and stages by default', async () => {
    const gateway = new Gateway({ set: setFrom({ 'tier#anonymous': anonymous }) })
    expect(await passing(gateway, 3, to('shop1/dev'))).toBe(3)
    expect(await passing(gateway, 3, to('cart1/prod'))).toBe(0)
  })

  it('are separate for each API and each stage, where policies count by them', async () => {
    const byApi = new Gateway({ set: setFrom({ 'tier#anonymous': { ...anonymous, by: ['ip', 'api'] } }) })
    for (const [place, count] of [
      ['shop1/dev', 3],
      ['shop1/prod', 0],
      ['cart1/prod', 3],
    ] as const)
      expect(await passing(byApi, 3, to(place))).toBe(count)
    const byStage = new Gateway({ set: setFrom({ 'tier#anonymous': { ...anonymous, by: ['ip', 'stage'] } }) })
    for (const place of ['shop1/dev', 'shop1/prod', 'cart1/prod']) expect(await passing(byStage, 5, to(place))).toBe(3)
  })

  it('may count all callers of an API, or of a stage, together, with leases', async () => {
    const set = setFrom({
      'tier#anonymous': { policies: [] },
      global: {
        policies: [policy({ name: 'api', by: 'api', limit: 20 }), policy({ name: 'stage', by: 'stage', limit: 5 })],
      },
    })
    expect(set.global.map(({ consistency }) => consistency)).toEqual(['leased', 'leased'])
    const store = new MemoryStore()
    const gateway = new Gateway({ set, store })
    expect(await passing(gateway, 9, to('shop1/dev', { ip: '198.51.100.1' }))).toBe(5)
    expect(await passing(gateway, 9, to('shop1/prod', { key: KEYS.free }))).toBe(5)
    for (const stage of 'abcdefg') await passing(gateway, 5, to(`shop1/${stage}`))
    expect(await passing(gateway, 9, to('shop1/z'))).toBe(0)
    expect(await passing(gateway, 9, to('cart1/z'))).toBe(5)
  })

  it('can be tried on one API, and share no units with those of other APIs', async () => {
    const set = setFrom({
      'tier#anonymous': anonymous,
      'tier#anonymous @trial': { apis: ['shop1/prod'], by: 'ip', policies: [policy({ limit: 2 })] },
    })
    const gateway = new Gateway({ set })
    expect(await passing(gateway, 9, to('shop1/prod'))).toBe(2)
    expect(await passing(gateway, 9, to('cart1/prod'))).toBe(3)
    expect(await passing(gateway, 9, to('shop1/prod'))).toBe(0)
  })

  it('of a tier that an API does not have are those of the default tier there, and counted apart', async () => {
    const set = setFrom({
      'tier#anonymous': anonymous,
      'tier#standard': { policies: [policy({ limit: 4 })] },
      'tier#free': { apis: ['shop1'], policies: [policy({ limit: 2 })] },
      settings: { defaultTier: 'standard' },
    })
    const gateway = new Gateway({ set })
    const { free: key } = KEYS
    expect(await passing(gateway, 9, to('cart1/prod', { key }))).toBe(4)
    expect(await passing(gateway, 9, to('shop1/prod', { key }))).toBe(2)
  })

  it('of a route are for the API that has it', async () => {
    const set = setFrom({ 'tier#anonymous': anonymous, 'route#GET /health @shop': { apis: ['shop1'], cost: 0 } })
    const gateway = new Gateway({ set })
    expect(await passing(gateway, 9, to('shop1/prod', { path: '/health' }))).toBe(9)
    expect(await passing(gateway, 9, to('cart1/prod', { path: '/health' }))).toBe(3)
  })

  it('require credentials where the API’s own tier does', async () => {
    const set = setFrom({
      'tier#anonymous': anonymous,
      'tier#anonymous @shop': { apis: ['shop1'], credentials: 'required', policies: [] },
    })
    const gateway = new Gateway({ set })
    expect(await passing(gateway, 1, to('cart1/prod'))).toBe(1)
    await expect(gateway.authorize(to('shop1/prod'))).rejects.toThrow('Unauthorized')
  })
})

describe('kinds of APIs', () => {
  const set = setFrom({
    'tier#anonymous': anonymous,
    'tier#anonymous @rest': { apis: ['abcdef1234/prod'], by: 'ip', policies: [policy({ limit: 4 })] },
    'tier#anonymous @http': { apis: ['qrstuv5678/$default'], by: 'ip', policies: [policy({ limit: 5 })] },
    'tier#anonymous @live': { apis: ['qrstuv5678/live'], by: 'ip', policies: [policy({ limit: 6 })] },
    'tier#anonymous @socket': { apis: ['wxyzab9012'], by: 'ip', policies: [policy({ limit: 7 })] },
  })
  const { headers: _, ...plain } = httpDefault
  const onDomain = (event: Record<string, unknown>) => ({
    ...event,
    requestContext: { ...(event.requestContext as Context), domainName: 'api.example.com', domainPrefix: 'api' },
  })

  test.each([
    ['a REST API', restEvent(), 4],
    ['a REST API behind a custom domain, which is the same', onDomain(restEvent()), 4],
    ['an HTTP API with a stage', httpEvent(), 6],
    ['an HTTP API with a stage behind a custom domain', onDomain(httpEvent()), 6],
    ['an HTTP API with `$default`', { ...plain, headers: {} }, 5],
    ['a WebSocket API', webSocket, 7],
    [
      'what does not say its API',
      { ...restEvent(), requestContext: { ...(restEvent().requestContext as Context), apiId: undefined } },
      3,
    ],
    [
      'what does not say its stage',
      { ...restEvent(), requestContext: { ...(restEvent().requestContext as Context), stage: 7 } },
      3,
    ],
    [
      'what has a list for its API',
      { ...restEvent(), requestContext: { ...(restEvent().requestContext as Context), apiId: ['abcdef1234'] } },
      3,
    ],
    [
      'what has a path for its API',
      {
        ...restEvent(),
        requestContext: { ...(restEvent().requestContext as Context), apiId: 'abcdef1234/prod', stage: 'prod' },
      },
      3,
    ],
  ])('%s', async (_, event, limit) => {
    expect(await passing(new Gateway({ set }), 9, event)).toBe(limit)
  })
})

describe('a mode for some APIs', () => {
  const items = {
    'tier#anonymous': anonymous,
    settings: { preflight: { limit: 2, window: '1m' } },
    'settings @dev': { apis: ['*/dev'], mode: 'observe' },
    'settings @off': { apis: ['old1'], mode: 'off' },
  }

  it('admits requests there that are denied elsewhere, in either order', async () => {
    const gateway = new Gateway({ set: setFrom(items) })
    expect(await passing(gateway, 9, to('shop1/prod'))).toBe(3)
    expect(await passing(gateway, 9, to('shop1/dev'))).toBe(9)
    expect(await passing(gateway, 9, to('shop1/prod'))).toBe(0)
    const other = new Gateway({ set: setFrom(items) })
    expect(await passing(other, 9, to('shop1/dev'))).toBe(9)
    expect(await passing(other, 9, to('shop1/prod'))).toBe(0)
  })

  it('applies to preflights', async () => {
    const gateway = new Gateway({ set: setFrom(items) })
    const preflight = { method: 'OPTIONS', headers: PREFLIGHT }
    expect(await passing(gateway, 9, to('shop1/prod', preflight))).toBe(2)
    expect(await passing(gateway, 9, to('shop1/dev', preflight))).toBe(9)
    expect(await passing(gateway, 9, to('old1/prod', preflight))).toBe(9)
    expect(await passing(gateway, 9, to('shop1/prod', preflight))).toBe(0)
  })

  it('counts nothing where it is off', async () => {
    const gateway = new Gateway({ set: setFrom(items) })
    expect(await passing(gateway, 9, to('old1/prod'))).toBe(9)
    expect(await passing(gateway, 9, to('shop1/prod'))).toBe(3)
  })

  it('admits requests where it observes, while the same instance denies requests elsewhere for lack of units', async () => {
    const everybody = policy({ name: 'all', algorithm: 'gcra', limit: 10, window: '1s', burst: 2, by: 'global' })
    const set = setFrom({
      'tier#anonymous': { policies: [] },
      global: { policies: [everybody] },
      'settings @dev': { apis: ['*/dev'], mode: 'observe' },
    })
    const store = new MemoryStore()
    const [here, there] = [new Gateway({ set, store }), new Gateway({ set, store })]
    await passing(here, 1, to('shop1/prod'))
    await passing(there, 9, to('shop1/prod'))
    expect(await passing(here, 1, to('shop1/prod'))).toBe(0)
    expect(await passing(here, 9, to('shop1/dev'))).toBe(9)
  })
})

describe('a request', () => {
  it('is logged with the label of its API', async () => {
    const origins: unknown[] = []
    const set = setFrom({ 'tier#anonymous': anonymous, 'api#shop1': { label: 'shop' } })
    const gateway = new Gateway({ set, telemetry: { answered: (_told, _decision, { api }) => void origins.push(api) } })
    for (const place of ['shop1/prod', 'cart1/prod']) await gateway.authorize(to(place))
    await gateway.authorize({})
    expect(origins).toEqual(['shop', 'cart1', undefined])
  })

  test('shares a counter with one to another API only where both are held to the same item and count the same subject', async () => {
    const PLACES = ['a1/dev', 'a1/prod', 'b2/dev', 'b2/prod']
    const apis = fc.uniqueArray(fc.constantFrom('a1', 'b2', 'a1/dev', 'b2/prod', '*/dev', '*/prod'), {
      minLength: 1,
      maxLength: 3,
    })
    const by = fc.constantFrom('ip', ['ip', 'api'], ['ip', 'stage'], 'api', 'stage', 'global', ['client', 'route'])
    const item = fc.record({ by, limit: fc.integer({ min: 1, max: 4 }) })
    const scoped = fc.uniqueArray(fc.record({ word: fc.constantFrom('x', 'y', 'z'), apis, item }), {
      selector: ({ word }) => word,
    })
    await fc.assert(
      fc.asyncProperty(
        item,
        scoped,
        fc.array(fc.constantFrom(...PLACES), { maxLength: 40 }),
        async (plain, variants, places) => {
          const policies = ({ by, limit }: { by: unknown; limit: number }) => [
            policy({ by, limit, window: 'day', algorithm: 'fixed-window', consistency: 'strict' }),
          ]
          const taken = new Set<string>()
          const apart = variants
            .map((one) => ({ ...one, apis: one.apis.filter((text) => !taken.has(text) && taken.add(text)) }))
            .filter((one) => one.apis.length > 0)
          const set = setFrom({
            'tier#anonymous': { policies: policies(plain) },
            ...Object.fromEntries(
              apart.map(({ word, apis, item }) => [`tier#anonymous @${word}`, { apis, policies: policies(item) }]),
            ),
          })
          const gateway = new Gateway({ set })
          const counts = new Map<string, number>()
          for (const place of places) {
            const [api, stage] = place.split('/')
            const held = [`${api}/${stage}`, api, `*/${stage}`]
              .map((text) => apart.find((one) => (one.apis as string[]).includes(text!)))
              .find((one) => one !== undefined)
            const { by, limit } = held?.item ?? plain
            const words = [by].flat()
            const subject = [
              held?.word,
              ...words.map((word) => (word === 'api' ? api : word === 'stage' ? place : word)),
            ].join()
            const id = `${JSON.stringify(words)} ${subject}`
            const count = counts.get(id) ?? 0
            expect(isAllowed(await gateway.authorize(to(place)))).toBe(count < limit)
            if (count < limit) counts.set(id, count + 1)
          }
        },
      ),
      { numRuns: runs(60, 300) },
    )
  })
})
