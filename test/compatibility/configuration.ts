import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, EngineName } from '../../local/engines/engine'
import {
  type Answered,
  type Asked,
  type Authorizer,
  allowedInTurn,
  complaintsOf,
  type Release,
  type Rollout,
  rollOut,
} from './releases'

const window = '365d'

/** Of the API that authorizers are asked for. */
const API_ID = 'abcdef1234'

const TIERS = {
  tiers: {
    anonymous: { by: 'ip', policies: [{ name: 'per-year', limit: 20, window }] },
    free: {
      policies: [
        { name: 'sliding', limit: 6, window },
        { name: 'fixed', algorithm: 'fixed-window', limit: 8, window: 'year', timezone: 'Europe/Berlin' },
        { name: 'pace', algorithm: 'gcra', limit: 100, window, burst: 50, by: ['client', 'route'] },
      ],
    },
    gold: {
      onStoreError: 'deny',
      policies: [
        { name: 'buckets', algorithm: 'sliding-buckets', limit: 500, window, buckets: 40 },
        { name: 'month', algorithm: 'fixed-window', limit: 1000, window: 'month', overage: 'allow' },
      ],
    },
  },
  routes: {
    'GET /search': { policies: [{ name: 'search', algorithm: 'leaky-bucket', limit: 40, window }] },
    'POST /batch': { cost: 3 },
    'GET /shared': {
      by: 'route',
      policies: [{ name: 'all', limit: 1000, window, consistency: 'eventual', syncMs: 500 }],
    },
  },
  global: { policies: [{ name: 'everybody', algorithm: 'fixed-window', limit: 100_000, window }] },
  settings: { defaultTier: 'free', trustedHeaders: ['x-tenant'], localShare: 0.5, mode: 'enforce' },
}

/** All that both releases know. */
const EVERYTHING = {
  ...TIERS,
  tiers: {
    ...TIERS.tiers,
    login: {
      policies: [{ name: 'tries', algorithm: 'fixed-window', limit: 5, window: '1m', blockFor: '15m' }],
    },
    model: {
      policies: [
        { name: 'tokens', algorithm: 'fixed-window', limit: 100, window: 'year', cost: 'tokens' },
        { name: 'streams', algorithm: 'concurrency', limit: 3, timeout: '10m' },
      ],
    },
    'anonymous @shop': { by: 'ip', apis: ['shop'], policies: [{ name: 'per-year', limit: 3, window }] },
  },
  routes: {
    ...TIERS.routes,
    'POST /batch': { cost: 3, costs: { tokens: 5 }, settle: true },
    'GET /rows': { cost: { query: 'rows', default: 1, max: 50 } },
    $connect: { cost: 2 },
  },
  settings: {
    ...TIERS.settings,
    identity: [
      'api-key',
      { source: 'jwt', issuer: 'https://issuer.example', audience: 'api', namespace: 'shop' },
      { source: 'header', name: 'x-user', as: 'user', tier: 'gold', trusted: true },
    ],
    preflight: { limit: 1200, window: '1m' },
    basePaths: ['/v1'],
    failedCredentials: 60,
  },
  'settings @dev': { apis: ['*/dev'], mode: 'observe' },
}

const PAIRS: readonly (readonly [writer: Release, reader: Release])[] = [
  ['new', 'old'],
  ['old', 'new'],
]

/**
 * What one release's command line writes, the other's command line and authorizers read; and what the old one does with
 * what only the new one knows.
 */
export function describeConfiguration(name: string, start: () => Promise<EngineName | Engine>): void {
  describe(`one config table for two releases on ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-two-releases-'))
    let at: Rollout
    let files = 0

    beforeAll(async () => {
      at = await rollOut(await start())
    }, 120_000)
    afterEach(() => at.clear())
    afterAll(async () => {
      await at?.close()
      rmSync(folder, { recursive: true })
    })

    function file(content: object): string {
      const path = join(folder, `tiers-${files++}.yaml`)
      writeFileSync(path, JSON.stringify(content))
      return path
    }
    /** The former release asks nothing here. */
    const yes = (release: Release) => (release === 'new' ? ['--yes'] : [])
    const apply = (release: Release, content: object) => at.cli(release, 'tiers', 'apply', file(content), '--yes')
    /** Without the comment above it, which each release words in its own way. */
    const exported = async (release: Release) => (await at.cli(release, 'tiers', 'export')).replace(/^#.*\n/gm, '')
    /** An instance that reads the config table anew with every request. */
    const watchful = (release: Release) =>
      at.authorizer(release, { SLUICE_CONFIG_TTL_MS: '1', SLUICE_NEGATIVE_TTL_MS: '1' })

    describe.each(PAIRS)('the %s command line writes, the %s one reads', (writer, reader) => {
      it('tiers, routes and settings, for some APIs too', async () => {
        await at.cli(writer, 'apis', 'label', API_ID, 'shop')
        await apply(writer, EVERYTHING)
        expect(withoutTime(await exported(reader))).toBe(withoutTime(await exported(writer)))
        const again = await at.said(reader, 'tiers', 'apply', file(EVERYTHING), '--yes')
        expect(again).toMatchObject({ code: 0, out: 'no changes\n' })
        for (const release of [writer, reader]) {
          const authorizer = at.authorizer(release)
          expect(await authorizer.ask({ ip: '198.51.100.1' })).toMatchObject({
            tier: 'anonymous',
            policy: 'per-year',
            limit: 3,
          })
          expect(await authorizer.ask({ headers: { 'x-user': 'jane' } })).toMatchObject({ tier: 'gold' })
          expect(complaintsOf([authorizer])).toEqual([])
        }
      })

      it('a raised limit, by authorizers that are at work', async () => {
        await apply(writer, TIERS)
        const authorizers = [watchful('old'), watchful('new')]
        expect(await allowedInTurn(authorizers, 24, {})).toBe(20)
        const { tiers } = TIERS
        await apply(reader, {
          ...TIERS,
          tiers: { ...tiers, anonymous: { by: 'ip', policies: [{ name: 'per-year', limit: 25, window }] } },
        })
        for (const authorizer of authorizers)
          await until(authorizer, { ip: '198.51.100.99' }, ({ limit }) => limit === 25)
        expect(await allowedInTurn(authorizers, 12, {})).toBe(5)
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('clients, their keys, their own numbers and whether they are let in', async () => {
        await apply(writer, TIERS)
        const { apiKey } = await at.cli(
          writer,
          'clients',
          'create',
          'acme',
          '--tier',
          'gold',
          '--name',
          'Acme',
          '--json',
        )
        const authorizers = [watchful('old'), watchful('new')]
        for (const authorizer of authorizers)
          expect(await authorizer.ask({ key: apiKey })).toMatchObject({ effect: 'Allow', tier: 'gold' })
        for (const shown of [['get', 'acme'], ['list']]) {
          const said = await Promise.all([reader, writer].map((one) => at.cli(one, 'clients', ...shown, '--json')))
          const [one, other] = said.map(withoutSignatures)
          expect(one).toEqual(other)
        }

        await at.cli(reader, 'clients', 'set', 'acme', '--tier', 'free', '--override', 'sliding=4', ...yes(reader))
        for (const authorizer of authorizers)
          await until(authorizer, { key: apiKey }, ({ limit, tier }) => tier === 'free' && limit === 4)
        const second = (await at.cli(reader, 'clients', 'rotate-key', 'acme', '--grace', '24h', '--json')).apiKey
        for (const key of [apiKey, second]) {
          for (const authorizer of authorizers)
            expect(await authorizer.ask({ key })).toMatchObject({ tier: 'free', limit: 4 })
        }
        await at.cli(writer, 'clients', 'disable', 'acme')
        for (const authorizer of authorizers) await until(authorizer, { key: second }, ({ effect }) => effect === '401')
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('the block list', async () => {
        await apply(writer, TIERS)
        await at.cli(writer, 'block', 'add', '203.0.113.0/24', '--note', 'scraper', '--expires', '24h')
        const authorizers = [watchful('old'), watchful('new')]
        for (const authorizer of authorizers)
          expect(await authorizer.ask({ ip: '203.0.113.4' })).toMatchObject({ reason: 'blocked' })
        expect(await at.cli(reader, 'block', 'list', '--json')).toEqual(await at.cli(writer, 'block', 'list', '--json'))
        await at.cli(reader, 'block', 'remove', '203.0.113.0/24', ...yes(reader))
        for (const authorizer of authorizers)
          await until(authorizer, { ip: '203.0.113.4' }, ({ effect }) => effect === 'Allow')
        expect(complaintsOf(authorizers)).toEqual([])
      })

      it('what a client has used, what it is given back, and that it begins anew', async () => {
        await apply(writer, TIERS)
        const { apiKey: key } = await at.cli(writer, 'clients', 'create', 'spender', '--tier', 'free', '--json')
        const authorizers = [at.authorizer(writer), at.authorizer(reader)]
        expect(await allowedInTurn(authorizers, 4, { key })).toBe(4)
        const used = async (release: Release) =>
          (await at.cli(release, 'usage', 'spender', '--json')).policies.map(
            (one: { policy: string; used: number }) => [one.policy, one.used],
          )
        expect(await used(writer)).toEqual(await used(reader))
        expect(Object.fromEntries(await used(reader))).toMatchObject({ sliding: 4, fixed: 4 })

        await at.cli(writer, 'refund', 'spender', '3')
        expect(Object.fromEntries(await used(reader))).toMatchObject({ sliding: 1, fixed: 1 })
        expect(await allowedInTurn(authorizers, 12, { key })).toBe(5)
        await at.cli(reader, 'refund', 'spender', '2')
        expect(await allowedInTurn([at.authorizer(reader), at.authorizer(writer)], 12, { key })).toBe(2)
        await at.cli(writer, 'reset', 'spender')
        expect(await used(reader)).toEqual(await used(writer))
        expect(Object.fromEntries(await used(reader))).toMatchObject({ sliding: 0, fixed: 0 })
        expect(await allowedInTurn([at.authorizer(reader), at.authorizer(writer)], 12, { key })).toBe(6)
      })
    })

    it('a cost with a field that only the new release knows: old authorizers at work keep the route as it was, and say so', async () => {
      const rows = { path: '/rows', headers: {} }
      const routeWith = (cost: object) => ({ ...TIERS, routes: { 'GET /rows': { cost } } })
      const cost = { query: 'rows', default: 1, max: 4 }
      await apply('new', routeWith(cost))
      const [old, recent] = [watchful('old'), watchful('new')]
      expect(await allowedInTurn([old, recent], 2, rows)).toBe(2)
      await apply('new', routeWith({ ...cost, unbounded: 2 }))
      await sleep(10)
      for (const authorizer of [old, recent]) expect(await authorizer.ask(rows)).toMatchObject({ effect: 'Allow' })
      expect(complaintsOf([recent])).toEqual([])
      expect(complaintsOf([old])).toEqual(['config_item_invalid'])
    })

    it('keys that prove themselves: old authorizers look them up as any others, and the old command line keeps their ring', async () => {
      await apply('new', TIERS)
      const { apiKey: key } = await at.cli('new', 'clients', 'create', 'acme', '--tier', 'gold', '--json')
      expect(key).toMatch(/^slcs_/)
      await apply('old', EVERYTHING)
      const authorizers = [at.authorizer('old'), at.authorizer('new')]
      for (const authorizer of authorizers) expect(await authorizer.ask({ key })).toMatchObject({ tier: 'gold' })
      expect(complaintsOf(authorizers)).toEqual([])
      for (const release of ['old', 'new'] as const) expect(await at.said(release, 'doctor')).toMatchObject({ code: 0 })
    })

    it('a secret for subjects: both count under it', async () => {
      await apply('new', TIERS)
      await at.put({
        pk: 'hmac-key',
        sk: 'hmac-key',
        keys: [{ key: Buffer.alloc(32, 7).toString('base64'), activeFrom: 0 }],
      })
      const authorizers = [at.authorizer('old'), at.authorizer('new')]
      expect(await allowedInTurn(authorizers, 50, {})).toBe(20)
      expect(complaintsOf(authorizers)).toEqual([])
    })

    it('the switch that turns limits off', async () => {
      await apply('new', TIERS)
      for (const [writer, reader] of PAIRS) {
        const authorizers = [watchful('old'), watchful('new')]
        await at.cli(writer, 'off', ...yes(writer))
        for (const authorizer of authorizers) await until(authorizer, {}, ({ reason }) => reason === 'uncounted')
        await at.cli(reader, 'on')
        for (const authorizer of authorizers) await until(authorizer, {}, ({ reason }) => reason !== 'uncounted')
        expect(complaintsOf(authorizers)).toEqual([])
      }
    })

    it('copies of last valid items: the old command line does not see them', async () => {
      await apply('new', TIERS)
      const before = [await exported('old'), await at.cli('old', 'clients', 'list', '--json')].map(withoutTime)
      const recent = watchful('new')
      for (let i = 0; i < 5; i++) {
        await recent.ask({})
        await sleep(20)
      }
      const old = at.authorizer('old')
      expect(await old.ask({ ip: '198.51.100.44' })).toMatchObject({ effect: 'Allow', limit: 20, remaining: 19 })
      expect(complaintsOf([old, recent])).toEqual([])
      expect([await exported('old'), await at.cli('old', 'clients', 'list', '--json')].map(withoutTime)).toEqual(before)
      for (const release of ['old', 'new'] as const) expect(await at.said(release, 'doctor')).toMatchObject({ code: 0 })
    })
  })
}

/** An export says when it was made. */
const withoutTime = (said: unknown): string => JSON.stringify(said).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')

/** The old release knows of no signing keys. */
const withoutSignatures = (said: unknown): unknown =>
  JSON.parse(JSON.stringify(said), (name, value) => (name === 'signedBy' ? undefined : value))

/** Asks until an instance has heard of a change, for ten seconds at most; fails with its last answer. */
async function until(authorizer: Authorizer, asked: Asked, heard: (answered: Answered) => boolean): Promise<void> {
  const endsAt = performance.now() + 10_000
  let answered = await authorizer.ask(asked)
  while (!heard(answered)) {
    if (performance.now() > endsAt)
      throw new Error(`the ${authorizer.release} authorizer still answers ${JSON.stringify(answered)}`)
    await sleep(10)
    answered = await authorizer.ask(asked)
  }
}
