import type { Attack } from '../attack'
import { limit } from '../rules'

const PATH = { path: '/anything' }
const ADDRESS = { by: 'ip', policies: [limit('per-hour', 10)] }

/** Requests in turn to the first of these and the second, `api/stage` each, as API Gateway says it. */
const inTurn = (...places: readonly string[]): NonNullable<Attack['event']> => {
  let count = 0
  return (event) => {
    const [apiId, stage] = places[count++ % places.length]!.split('/')
    return { ...event, requestContext: { ...(event.requestContext as object), apiId, stage } }
  }
}

/** An API that is called `shop`, one that has a tier of its own, and a stage that is only observed. */
const SCOPED = {
  tiers: {
    anonymous: ADDRESS,
    'anonymous @partner': { apis: ['partner001'], by: 'ip', policies: [limit('per-hour', 1000)] },
  },
  routes: { 'GET /health @partner': { apis: ['partner001'], cost: 0 } },
  'settings @dev': { apis: ['*/dev'], mode: 'observe' },
}

const attack = (tried: string, passes: number, now: string, more: Partial<Attack>): Attack => ({
  about: 'APIs and stages of one limiter',
  tried,
  sends: PATH,
  passes,
  now,
  ...more,
})

const HOSTS = [
  'partner001.execute-api.us-east-1.amazonaws.com',
  'PARTNER001.EXECUTE-API.US-EAST-1.AMAZONAWS.COM.',
  'dev.example.com',
]

export const APIS: readonly Attack[] = [
  attack(
    '`dev` of one API used up before `prod` of another is asked',
    10,
    'pooled by default, as [documented](limitations.md)',
    {
      event: inTurn('shop000001/dev', 'cart000001/prod'),
    },
  ),
  attack('the same with `by: [ip, api]`', 20, 'each API counts apart', {
    event: inTurn('shop000001/dev', 'cart000001/prod'),
    rules: { tiers: { anonymous: { ...ADDRESS, by: ['ip', 'api'] } } },
  }),
  attack('the same with `by: [ip, stage]`, at two stages of one API', 20, 'each stage counts apart', {
    event: inTurn('shop000001/dev', 'shop000001/prod'),
    rules: { tiers: { anonymous: { ...ADDRESS, by: ['ip', 'stage'] } } },
  }),
  attack('the same where one API has a tier of 4 by `apis`', 14, 'an item with `apis` counts apart', {
    event: inTurn('shop000001/dev', 'cart000001/prod'),
    rules: {
      tiers: {
        anonymous: ADDRESS,
        'anonymous @shop': { apis: ['shop000001'], by: 'ip', policies: [limit('per-hour', 4)] },
      },
    },
  }),
  attack('another API’s larger tier, by headers that proxies set', 10, 'the API is what API Gateway says', {
    sends: (n) => {
      const host = HOSTS[n % HOSTS.length]!
      return {
        ...PATH,
        headers: {
          Host: host,
          'X-Forwarded-Host': host,
          Forwarded: `host=${host}`,
          'X-Amzn-Apigateway-Api-Id': 'partner001',
        },
      }
    },
    event: inTurn('shop000001/prod'),
    rules: SCOPED,
  }),
  attack('by other spellings of these headers', 10, 'the API is what API Gateway says', {
    sends: (n) => ({
      ...PATH,
      headers: { [['apiid', 'apiId', 'API-ID', 'x-api-id'][n % 4]!]: 'partner001', 'X-Stage': 'dev', Stage: 'dev' },
    }),
    event: inTurn('shop000001/prod'),
    rules: SCOPED,
  }),
  attack('an observed stage, by its name in the path', 10, 'the stage is what API Gateway says', {
    sends: (n) => ({ path: ['/dev/anything', '/dev', '//dev/anything', '/%64ev/anything'][n % 4]! }),
    event: inTurn('shop000001/prod'),
    rules: SCOPED,
  }),
  attack('another API’s free route', 10, 'a route with `apis` is not there', {
    sends: { path: '/health' },
    event: inTurn('shop000001/prod'),
    rules: SCOPED,
  }),
  attack('names of API and stage that run together as another’s do', 10, 'compared one by one', {
    event: inTurn('partner001x/prod', 'partner00/1prod', 'PARTNER001/prod'),
    rules: SCOPED,
  }),
  attack('an API named as another’s label or id', 10, 'a word is an id, else a label, else a name', {
    event: inTurn('shop000001/prod'),
    rules: {
      tiers: {
        anonymous: ADDRESS,
        'anonymous @p': { apis: ['partner', 'partner001'], by: 'ip', policies: [limit('per-hour', 1000)] },
      },
    },
    apis: [
      { id: 'partner001', label: 'partner' },
      { id: 'shop000001', name: 'partner', label: 'shop' },
      { id: 'shop000002', name: 'partner001' },
    ],
  }),
]
