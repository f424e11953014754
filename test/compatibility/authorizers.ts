import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, EngineName } from '../../local/engines/engine'
import { type KeyServer, keyServer, pair, token } from '../identity/issuer'
import { allowedInTurn, complaintsOf, type Release, type Rollout, rollOut } from './releases'

/** So long that nothing comes back meanwhile: exactly the limit is the right answer. */
const window = '365d'
const LIMIT = 6

export const STRICT: Readonly<Record<string, readonly object[]>> = {
  'fixed-window': [{ name: 'fixed', algorithm: 'fixed-window', limit: LIMIT, window }],
  'calendar-year': [
    { name: 'year', algorithm: 'fixed-window', limit: LIMIT, window: 'year', timezone: 'Asia/Kolkata' },
  ],
  'anchored-window': [{ name: 'anchored', algorithm: 'anchored-window', limit: LIMIT, window }],
  'sliding-window': [{ name: 'sliding', limit: LIMIT, window }],
  'sliding-buckets': [{ name: 'buckets', algorithm: 'sliding-buckets', limit: LIMIT, window, buckets: 30 }],
  'sliding-log': [{ name: 'log', algorithm: 'sliding-log', limit: LIMIT, window }],
  'token-bucket': [{ name: 'tokens', algorithm: 'token-bucket', limit: 1, window, burst: LIMIT }],
  'token-bucket-by-interval': [
    { name: 'interval', algorithm: 'token-bucket', refill: 'interval', limit: LIMIT, window },
  ],
  'leaky-bucket': [{ name: 'meter', algorithm: 'leaky-bucket', limit: 1, window, burst: LIMIT }],
  'leaky-bucket-queue': [
    { name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 1, window, burst: LIMIT, maxDelay: '25s' },
  ],
  gcra: [{ name: 'pace', algorithm: 'gcra', limit: 1, window, burst: LIMIT }],
  'several-policies': [
    { name: 'sliding', limit: LIMIT, window },
    { name: 'roomy', algorithm: 'fixed-window', limit: 1000, window },
    { name: 'billed', algorithm: 'fixed-window', limit: 2, window: 'year', overage: 'allow' },
    { name: 'pace', algorithm: 'gcra', limit: 500, window },
    { name: 'log', algorithm: 'sliding-log', limit: 50, window },
    { name: 'buckets', algorithm: 'sliding-buckets', limit: 40, window },
  ],
}

/** Those that let one request pass, and the next when it is due: in a year. */
const ONE_AT_A_TIME = ['leaky-bucket-queue']

export const dueOf = (tier: string): number => (ONE_AT_A_TIME.includes(tier) ? 1 : LIMIT)

const SHARED = { algorithm: 'fixed-window', limit: 100, window, by: 'route' } as const

/** Who is asked in turn. */
type Order = readonly Release[]

/**
 * Both releases' authorizers on one engine: whatever they decide in turn or at once, they admit together what one of
 * them would admit alone.
 */
export function describeAuthorizers(
  name: string,
  start: () => Promise<EngineName | Engine>,
  orders: readonly Order[],
): void {
  describe(`old authorizers beside new ones on ${name}`, () => {
    const keys = pair('one')
    let at: Rollout
    let issuer: KeyServer
    let clients = 0
    let unwelcome = ''

    beforeAll(async () => {
      at = await rollOut(await start())
      issuer = await keyServer([keys])
      const put = (sk: string, item: object) => at.put({ pk: 'policy-set', sk, ...item })
      await put('tier#anonymous', { policies: [] })
      for (const [tier, policies] of Object.entries(STRICT)) await put(`tier#${tier}`, { policies })
      for (let i = 0; i < orders.length; i++) {
        await put(`route#GET /leased/${i}`, { policies: [{ name: 'leased', ...SHARED }] }) // by default
        await put(`route#GET /eventual/${i}`, {
          policies: [{ name: 'eventual', ...SHARED, consistency: 'eventual', syncMs: 50 }],
        })
      }
      await put('block#ip#203.0.113.0/24', {})
      await put('block#client#unwelcome', {})
      await put('allow#ip#192.0.2.7', {})
      await put('settings', {
        identity: [
          'api-key',
          {
            source: 'jwt',
            issuer: 'https://issuer.example',
            audience: 'api',
            jwksUri: issuer.url,
            clientClaim: 'client',
            tierClaim: 'tier',
          },
          { source: 'header', name: 'x-user', as: 'user', tier: 'sliding-window', trusted: true },
        ],
        defaultTier: 'sliding-window',
      })
      unwelcome = (await at.cli('old', 'clients', 'create', 'unwelcome', '--tier', 'gcra', '--json')).apiKey
    }, 120_000)
    afterAll(async () => {
      await at?.close()
      await issuer?.close()
    })

    const client = async (tier: string, ...options: string[]): Promise<string> =>
      (await at.cli('new', 'clients', 'create', `client-${clients++}`, '--tier', tier, ...options, '--json')).apiKey
    const open = (order: Order) => order.map((release) => at.authorizer(release))
    const bearer = (claims: object) => ({
      headers: {
        Authorization: `Bearer ${token({ iss: 'https://issuer.example', aud: 'api', exp: 9_999_999_999, ...claims }, keys)}`,
      },
    })

    describe.each(orders.map((order) => [order.join(', '), order] as const))('asked in turn: %s', (_, order) => {
      it.each(Object.keys(STRICT))('admit exactly the limit by %s, one after another and at once', async (tier) => {
        const due = dueOf(tier)
        const authorizers = open(order)
        expect(await allowedInTurn(authorizers, 2 * LIMIT, { key: await client(tier) })).toBe(due)
        const key = await client(tier)
        const atOnce = Array.from({ length: 3 * LIMIT }, (_, i) => authorizers[i % order.length]!.ask({ key }))
        expect((await Promise.all(atOnce)).filter(({ effect }) => effect === 'Allow')).toHaveLength(due)
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('hold a client to its own numbers', async () => {
        const key = await client('several-policies', '--override', 'sliding=9')
        expect(await allowedInTurn(open(order), 20, { key })).toBe(9)
      })

      it('never admit more than a leased limit, and use most of it', async () => {
        const authorizers = [...open(order), ...open(order)]
        const allowed = await allowedInTurn(authorizers, 300, { path: `/leased/${orders.indexOf(order)}` })
        expect(allowed).toBeLessThanOrEqual(100)
        expect(allowed).toBeGreaterThanOrEqual(80)
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('admit by eventual counts what they have not told each other, and no more', async () => {
        const authorizers = open(order)
        const path = `/eventual/${orders.indexOf(order)}`
        const round = 5 * order.length
        let allowed = 0
        for (let i = 0; i < 40 / order.length + 4; i++) {
          allowed += await allowedInTurn(authorizers, round, { path })
          await sleep(80) // the next request tells, and the one after it knows
        }
        expect(allowed).toBeGreaterThanOrEqual(100)
        expect(allowed).toBeLessThanOrEqual(100 + 2 * round)
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('turn the same away, and let the same pass', async () => {
        for (const authorizer of open(order)) {
          expect(await authorizer.ask({ ip: '203.0.113.9' })).toMatchObject({ effect: 'Deny', reason: 'blocked' })
          expect(await authorizer.ask({ key: unwelcome })).toMatchObject({ effect: 'Deny', reason: 'blocked' })
          expect(await authorizer.ask({ ip: '192.0.2.7', key: await client('gcra') })).toMatchObject({
            effect: 'Allow',
            reason: 'exempt',
          })
          expect(await authorizer.ask({ headers: { Authorization: 'Bearer a.b.c' } })).toMatchObject({ effect: '401' })
        }
      })

      it('count the users of a token together, and those that a trusted header names', async () => {
        const user = `${order.join('-')}-${clients++}`
        const authorizers = open(order)
        expect(await allowedInTurn(authorizers, 2 * LIMIT, bearer({ sub: user, tier: 'gcra' }))).toBe(LIMIT)
        expect(await allowedInTurn(authorizers, 2 * LIMIT, { headers: { 'x-user': user } })).toBe(LIMIT)
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('count whom a token names as a client together', async () => {
        const claims = { sub: 'service', client: `${order.join('-')}-${clients++}`, tier: 'sliding-window' }
        expect(await allowedInTurn(open(order), 4 * LIMIT, bearer(claims))).toBe(LIMIT)
      })
    })
  })
}
