import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { Interrupts } from '../../cli/terminal/io'
import { Plans } from '../../lambda/charge-plans'
import { PolicySets } from '../../lambda/config-table/configuration'
import { rulesOf } from '../../lambda/rules'
import { createLimiter } from '../../limiter'
import { RateLimiter } from '../../limiter/rate-limiter'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { subjectKey } from '../../limiter/subject-key'
import { type Deployment, deploy, TIERS } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }

let at: Deployment
beforeAll(async () => {
  at = await deploy()
  await at.put(
    ...TIERS,
    {
      pk: 'policy-set',
      sk: 'route#GET /search',
      policies: [{ name: 'search', limit: 10, window: '1s', algorithm: 'gcra', burst: 4 }],
    },
    { pk: 'policy-set', sk: 'route#POST /batch', cost: 5 },
    {
      pk: 'policy-set',
      sk: 'tier#routed',
      policies: [{ name: 'each', limit: 8, window: '1m', by: ['client', 'route'] }],
    },
    {
      pk: 'policy-set',
      sk: 'tier#billed',
      policies: [
        {
          name: 'monthly',
          limit: 10,
          window: 'month',
          timezone: 'Europe/Berlin',
          algorithm: 'fixed-window',
          overage: 'allow',
        },
        { name: 'hourly', limit: 100, window: '1h', algorithm: 'fixed-window' },
      ],
    },
    { pk: 'policy-set', sk: 'global', policies: [{ name: 'all', limit: 1000, window: '1s' }] },
  )
  await at.json(['clients', 'create', 'acme', '--tier', 'free', '--override', 'per-minute=90'])
})
afterAll(async () => at?.close())

/** Charges requests as the authorizer would. */
async function spend(
  subject: string,
  tierName: string,
  request: [string, string],
  cost: number,
  when = NOW,
  allowed = true,
): Promise<void> {
  const reading = { calls: sdkCalls(at.client), clock: () => when, log: () => {}, ttlMs: 1000, deadlineMs: 2000 }
  const configuration = (await new PolicySets({ ...reading, tableName: LOCAL_TABLES.config }).current())!
  const { tiers } = configuration.policies
  const plan = new Plans(() => {}).planFor(
    configuration,
    tiers.get(tierName),
    rulesOf(configuration.policies, ...request),
  )
  const policies = plan.groups.filter(({ who }) => who[0] !== 'global').flatMap((group) => group.policies)
  const limiter = new RateLimiter({
    store: new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state }),
    clock: () => when,
  })
  expect((await limiter.decide([{ key: subjectKey(subject), policies, cost }])).allowed).toBe(allowed)
}

const used = async (...args: string[]): Promise<Record<string, number[]>> => {
  const { policies } = await at.json(['usage', ...args], now)
  return Object.fromEntries(
    policies.map((one: { policy: string; route: string | null; used: number; remaining: number }) => [
      [one.policy, one.route].filter(Boolean).join(' '),
      [one.used, one.remaining],
    ]),
  )
}

describe('usage', () => {
  it('shows every policy of a client, with overrides and route policies', async () => {
    expect(await used('acme')).toEqual({ 'per-minute': [0, 90], 'per-day': [0, 1000], 'search GET /search': [0, 4] })
    await spend('client:acme', 'free', ['GET', '/search'], 3)
    await spend('client:acme', 'free', ['GET', '/else'], 7)
    expect(await used('client:acme')).toEqual({
      'per-minute': [10, 80],
      'per-day': [10, 990],
      'search GET /search': [3, 1],
    })
    const { out } = await at.sluice(['usage', 'acme'], now)
    expect(out).toMatch(/^client:acme \(tier free\)\n/)
    expect(out).toMatch(/^search +GET \/search +█{15}░{5} +3 +1 +10 +1 s$/m)
    expect(out).toMatch(/^per-day +█░{19} +10 +990 +1000 +12 h$/m)
  })

  it('shows policies by route once per route', async () => {
    await spend('user:42', 'routed', ['POST', '/batch'], 5)
    await spend('user:42', 'routed', ['GET', '/x'], 2)
    expect(await used('user:42', '--tier', 'routed')).toEqual({
      'each other routes': [2, 6],
      'each GET /search': [0, 8],
      'each POST /batch': [5, 3],
      'search GET /search': [0, 4],
    })
  })

  it('shows the usage of an address in any spelling, and of global policies', async () => {
    await spend('ip:2001:db8:1:200::/56', 'anonymous', ['GET', '/x'], 4)
    expect(await used('ip:2001:0db8:1:02ff::9')).toMatchObject({ 'per-minute': [4, 16] })
    expect(await used('global')).toEqual({ all: [0, 1000] })
  })

  describe('of a quota that allows overage', () => {
    const OCTOBER = Date.parse('2026-10-31T22:59:00Z') // its last minute in Berlin
    beforeAll(async () => {
      await at.json(['clients', 'create', 'metered', '--tier', 'billed'])
      await spend('client:metered', 'billed', ['GET', '/x'], 8, OCTOBER)
      await spend('client:metered', 'billed', ['GET', '/x'], 6)
      await spend('client:metered', 'billed', ['GET', '/x'], 9)
    })

    it('shows recorded periods of its calendar: units used, and overage', async () => {
      const { policies } = await at.json(['usage', 'metered'], now)
      expect(policies.filter(({ policy }: { policy: string }) => policy !== 'search')).toEqual([
        {
          ...{
            policy: 'monthly',
            route: null,
            cost: null,
            limit: 10,
            used: 15,
            remaining: 0,
            resetAfterMs: Date.parse('2026-11-30T23:00:00Z') - NOW,
          },
          periods: [
            { start: '2026-10-31T23:00:00Z', end: '2026-11-30T23:00:00Z', used: 15, overage: 5 },
            { start: '2026-09-30T22:00:00Z', end: '2026-10-31T23:00:00Z', used: 8, overage: 0 },
          ],
        },
        { policy: 'hourly', route: null, cost: null, limit: 100, used: 15, remaining: 85, resetAfterMs: 3_600_000 },
      ])
    })

    it('shows them below the table, also with --watch', async () => {
      const { out } = await at.sluice(['usage', 'metered'], now)
      expect(out).toMatch(
        /^monthly +█{20} +15 +0 +10 +9 d 11 h\nhourly .*\nsearch .*\n\non record +from +to +used +overage\n/m,
      )
      expect(out).toMatch(/^monthly +2026-10-31T23:00:00Z +2026-11-30T23:00:00Z +15 +5$/m)
      expect(out).toMatch(/^monthly +2026-09-30T22:00:00Z +2026-10-31T23:00:00Z +8 +0\n$/m)

      const interrupts = new Interrupts()
      let drawn = 0
      const onOut = (text: string) => void (text.includes('2026-09-30') && ++drawn === 2 && interrupts.press())
      const watched = await at.sluice(['usage', 'metered', '--watch', '--interval', '5ms'], {
        ...now,
        interrupts,
        onOut,
        terminal: true,
      })
      expect(watched.out.split(`\u001b[${out.split('\n').length - 1}A\u001b[J`)).toHaveLength(2)
    })

    it('shows zero for a month without requests, and keeps earlier months', async () => {
      const { policies } = await at.json(['usage', 'metered'], { now: Date.parse('2026-12-24T12:00:00Z') })
      expect(policies[0]).toMatchObject({ used: 0, remaining: 10, periods: [{ used: 15, overage: 5 }, { used: 8 }] })
    })

    it('has no recorded periods for a caller without requests', async () => {
      await at.json(['clients', 'create', 'shy', '--tier', 'billed'])
      expect((await at.json(['usage', 'shy'], now)).policies[0]).toMatchObject({ used: 0, remaining: 10, periods: [] })
      expect((await at.sluice(['usage', 'shy'], now)).out).not.toContain('on record')
    })
  })

  it.each([
    [
      ['usage', 'acmee'],
      'there is no client "acmee": did you mean "acme"?; for a caller without a record give the tier with --tier, for an address write ip:…\n',
    ],
    [
      ['usage', 'user:acme'],
      'no client record has the credential user:acme, so its tier is not known: give it with --tier; there is a client "acme": use client:acme\n',
    ],
    [['usage', 'acme', '--tier', 'prro'], 'there is no valid tier "prro" for client:acme: did you mean "pro"?\n'],
    [
      ['refund', 'acme', '1', '--policy', 'per-dya'],
      'client:acme (tier free) has no policy "per-dya" there: did you mean "per-day"?\n',
    ],
    [
      ['refund', 'acme', '1', '--route', 'GET /serch'],
      'no route is configured for "GET /serch": did you mean "GET /search"?; for requests without a configured route, omit --route\n',
    ],
    [
      ['peek', 'acme', '--route', 'GET /nope'],
      'no route is configured for "GET /nope": known are GET /search, POST /batch; for requests without a configured route, omit --route\n',
    ],
    [
      ['usage', 'acme', '--tier', 'gold'],
      'there is no valid tier "gold" for client:acme: known are anonymous, billed, free, pro, routed\n',
    ],
    [['usage', 'ip:here'], 'an address must look like ip:203.0.113.7, got "ip:here"\n'],
    [
      ['usage', 'user:'],
      'a subject must be a client\'s id, client:…, user:…, ip:…, global, api:…, stage:<api>/<stage>, route:…, header:<name>=<value> or claim:<name>=<value>, got "user:"\n',
    ],
    [['usage', 'ip:1.2.3.4', '--tier', 'pro'], null],
    [
      ['refund', 'acme', '1', '--policy', 'x'],
      'client:acme (tier free) has no policy "x" there: known are per-minute, per-day\n',
    ],
    [
      ['peek', 'acme', '--route', 'search'],
      '--route must be a method and a path such as "GET /search", got "search"\n',
    ],
  ])('%j is rejected', async (args, err) => {
    expect(await at.sluice(args)).toEqual({
      code: 1,
      out: '',
      err: err ?? 'ip:1.2.3.4 (tier pro) has no policies\n',
    })
  })

  it('--watch refreshes until Ctrl-C, which ends with exit code 0', async () => {
    const interrupts = new Interrupts()
    let drawn = 0
    const onOut = (text: string) => {
      if (text.includes('per-day') && ++drawn === 3) interrupts.press()
    }
    const { code, out, err } = await at.sluice(['usage', 'acme', '--watch', '--interval', '5ms'], {
      ...now,
      interrupts,
      onOut,
      terminal: true,
    })
    expect([code, err, drawn]).toEqual([0, '', 3])
    expect(out.split('\u001b[5A\u001b[J')).toHaveLength(3)
  })

  it('--watch without a terminal prints one line of JSON per refresh', async () => {
    const interrupts = new Interrupts()
    let lines = 0
    const onOut = () => void (++lines === 2 && interrupts.press())
    const { code, out } = await at.sluice(['usage', 'acme', '--watch', '--interval', '5ms', '--json'], {
      interrupts,
      onOut,
    })
    expect([
      code,
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).subject),
    ]).toEqual([0, ['client:acme', 'client:acme']])
  })
})

describe('peek', () => {
  const NOW_IN = { now: Date.parse('2026-11-21T12:00:00Z') }
  const peek = async (who: string) => {
    const { allowed, reason } = await at.json(['peek', who], NOW_IN)
    return [allowed, reason, (await at.sluice(['peek', who], NOW_IN)).out]
  }

  it('reports blocked and exempt callers, whatever the limits', async () => {
    for (const id of ['is-blocked', 'is-disabled', 'is-expired', 'is-exempt', 'is-good'])
      await at.json(['clients', 'create', id, '--tier', 'free'])
    await at.sluice(['block', 'add', 'client:is-blocked'])
    await at.sluice(['clients', 'disable', 'is-disabled'])
    await at.sluice(['clients', 'set', 'is-expired', '--expires', '2026-01-01'])
    await at.sluice(['block', 'add', 'client:is-exempt', '--allow', '--yes'])
    await at.sluice(['block', 'add', '203.0.113.0/24'])
    expect(await peek('is-blocked')).toEqual([
      false,
      'blocked',
      'client:is-blocked (tier free, blocked): a request of cost 1 would be denied, it is blocked by client:is-blocked without an end\n',
    ])
    expect(await peek('is-disabled')).toEqual([
      false,
      'unauthorized',
      'client:is-disabled (tier free, disabled): a request of cost 1 would be denied with 401\n',
    ])
    expect((await peek('is-expired')).slice(0, 2)).toEqual([false, 'unauthorized'])
    expect((await peek('is-exempt')).slice(0, 2)).toEqual([true, 'exempt'])
    expect((await peek('ip:203.0.113.7')).slice(0, 2)).toEqual([false, 'blocked'])
    expect((await peek('is-good')).slice(0, 2)).toEqual([true, null])
    expect((await at.sluice(['usage', 'is-blocked'], NOW_IN)).out).toContain('client:is-blocked (tier free, blocked)')
    for (const who of ['client:is-blocked', '203.0.113.0/24'])
      expect((await at.sluice(['block', 'remove', who, '--yes'])).code).toBe(0)
  })

  it('names the entry that decides, the narrowest, with its end and note; so do usage and block remove', async () => {
    const entry = { list: 'block', who: 'ip:192.0.2.0/24', expiresAt: '2026-11-22T12:00:00Z', note: 'scraper' }
    const text = 'ip:192.0.2.0/24 until 2026-11-22T12:00:00Z, note "scraper"'
    await at.sluice(['block', 'add', '192.0.2.0/24', '--expires', '24h', '--note', 'scraper'], NOW_IN)
    await at.sluice(['block', 'add', '192.0.0.0/16'], NOW_IN)
    await at.sluice(['block', 'add', '192.0.2.7', '--expires', '1h'], { now: NOW_IN.now - 7_200_000 })
    expect((await peek('ip:192.0.2.7'))[2]).toContain(`would be denied, it is blocked by ${text}\n`)
    expect(await at.json(['peek', 'ip:192.0.2.7'], NOW_IN)).toMatchObject({ reason: 'blocked', entry })
    const { out } = await at.sluice(['usage', 'ip:192.0.2.7'], NOW_IN)
    expect(out).toContain(`blocked)\nblocked by ${text}\n`)
    expect(await at.json(['usage', 'ip:192.0.2.7'], NOW_IN)).toMatchObject({ reason: 'blocked', entry })
    const removed = await at.sluice(['block', 'remove', '192.0.2.7', '--yes'], NOW_IN)
    expect(removed.out).toBe(`ip:192.0.2.7 was removed from the block list; it is still blocked by ${text}\n`)
    await at.sluice(['block', 'add', '192.0.2.9', '--allow', '--yes'], NOW_IN)
    expect((await peek('ip:192.0.2.9'))[2]).toContain('on the allow list: ip:192.0.2.9 without an end\n')
    expect(await at.json(['peek', 'ip:198.18.0.1'], NOW_IN)).not.toHaveProperty('entry')
    // a block with a mistake stays in force, without an end
    await at.put({ pk: 'policy-set', sk: 'block#ip#192.0.2.8', expiresAt: 'soon' })
    expect((await peek('ip:192.0.2.8'))[2]).toContain('blocked by ip:192.0.2.8 without an end\n')
    for (const who of ['192.0.2.0/24', '192.0.0.0/16', '192.0.2.8']) await at.sluice(['block', 'remove', who, '--yes'])
    await at.sluice(['block', 'remove', '192.0.2.9', '--allow', '--yes'])
  })

  it('treats a client as valid while one of its keys is', async () => {
    await at.json(['clients', 'create', 'two-keys', '--tier', 'free'])
    await at.json(['clients', 'rotate-key', 'two-keys', '--grace', '1h'], { now: NOW_IN.now - 7_200_000 })
    expect((await peek('two-keys')).slice(0, 2)).toEqual([true, null])
  })
})

describe('peek, for what decides beside the limits of the caller', () => {
  const NOT_KNOWN = 'because these values of the request are unknown'
  const put = (sk: string, fields: object) => at.put({ pk: 'policy-set', sk, ...fields })
  const everybodys = { name: 'all', limit: 1000, window: '1s' }
  afterAll(() => put('global', { policies: [everybodys] }))

  it('is denied by a policy of everybody that is used up', async () => {
    await at.json(['clients', 'create', 'one-of-many', '--tier', 'free'])
    await put('global', { policies: [{ name: 'shared', limit: 1, window: '1h', by: 'global' }] })
    expect(await at.json(['peek', 'one-of-many'], now)).toMatchObject({ allowed: true, policy: 'shared', remaining: 0 })
    expect(await at.json(['peek', 'one-of-many', '--cost', '2'], now)).toMatchObject({
      allowed: false,
      policy: 'shared',
    })
  })

  it('names the policies by values that are not known of the request', async () => {
    await put('global', { policies: [{ ...everybodys, name: 'near', by: 'ip' }] })
    const { notConsidered, policy } = await at.json(['peek', 'one-of-many'], now)
    expect([notConsidered, policy]).toEqual([[{ policy: 'near', by: ['ip'] }], 'per-minute'])
    expect((await at.sluice(['peek', 'one-of-many'], now)).out).toContain(
      `\nnot considered: near (by ip), ${NOT_KNOWN}\n`,
    )
    await put('tier#bare', { policies: [] })
    expect((await at.sluice(['peek', 'one-of-many', '--tier', 'bare'], now)).err).toBe(
      `client:one-of-many (tier bare) has no policies there: near (by ip), ${NOT_KNOWN}\n`,
    )
  })

  it('denies an anonymous caller a route that requires credentials, and counts none whose cost is 0', async () => {
    await put('route#GET /mine', { credentials: 'required' })
    await put('route#GET /free', { cost: 0 })
    const { out } = await at.sluice(['peek', 'ip:198.51.100.4', '--route', 'GET /mine'], now)
    expect(out).toBe('ip:198.51.100.4 (tier anonymous): a request of cost 1 would be denied with 401\n')
    expect(await at.json(['peek', 'one-of-many', '--route', 'GET /free'], now)).toMatchObject({
      ...{ allowed: true, reason: 'uncounted', retryAfterMs: 0 },
    })
  })

  it('takes the cost from the query, and from the route where the request is denied before', async () => {
    await put('route#GET /rows', { cost: { query: 'rows', default: 3, max: 50 } })
    const costOf = async (who: string, route: string) => (await at.json(['peek', who, '--route', route], now)).cost
    expect(await costOf('one-of-many', 'GET /rows?rows=7')).toBe(7)
    expect(await costOf('one-of-many', 'GET /rows?rows=7&rows=8')).toBe(50)
    expect(await costOf('one-of-many', 'GET /rows')).toBe(3)
    await at.sluice(['block', 'add', '198.51.100.9'])
    expect(await costOf('ip:198.51.100.9', 'POST /batch')).toBe(5)
    await at.sluice(['block', 'remove', '198.51.100.9', '--yes'])
  })

  it('holds a caller to the tier of the source that names it, and a record with a tier that is gone to the default', async () => {
    const identity = [{ source: 'header', name: 'x-partner', as: 'client', tier: 'pro', trusted: true, lookup: true }]
    await put('settings', { identity, defaultTier: 'free' })
    expect(await at.json(['peek', 'client:partner'], now)).toMatchObject({ tier: 'pro', limit: 600 })
    await at.put({ pk: 'client#client:lost', sk: 'client', id: 'lost', tier: 'gone' })
    expect((await at.sluice(['peek', 'lost'], now)).out).toMatch(
      /^client:lost \(tier free, its tier "gone" does not exist\): a request of cost 1 would be allowed\n/,
    )
    const { code, err } = await at.sluice(['peek', 'one-of-many'], now)
    expect([code, err]).toEqual([1, expect.stringContaining('requests with them are anonymous\n')])
    await put('settings', {})
  })

  it('says where the record of a client is invalid, since its requests are anonymous then', async () => {
    await at.put({ pk: 'client#client:odd', sk: 'client', id: 'odd', tier: 'free', disabled: 'no' })
    const identity = [{ source: 'header', name: 'x-partner', as: 'client', trusted: true, lookup: true }]
    await put('settings', { identity })
    expect((await at.sluice(['usage', 'odd'], now)).out).toMatch(/^client:odd \(tier free\)\n/)
    const named = await at.sluice(['peek', 'odd'], now)
    expect([named.code, named.err]).toEqual([1, expect.stringContaining('client_invalid: ')])
    expect(named.err).toContain('client:odd (tier anonymous) has no policies there: near, per-minute (by ip)')
    await put('settings', {})
    await at.put({ pk: `client#${'0'.repeat(64)}`, sk: 'client', id: 'odd-key', tier: 'free', disabled: 'no' })
    const { code, err } = await at.sluice(['peek', 'odd-key'], now)
    expect([code, err]).toEqual([1, expect.stringMatching(/client_invalid: .*\n.* would be anonymous, so peek at/)])
  })
})

describe('refund', () => {
  const refund = async (...args: string[]) => (await at.sluice(['refund', ...args], now)).out

  it('says what each policy got back, no more than was charged', async () => {
    await at.json(['clients', 'create', 'part', '--tier', 'free'])
    expect(await refund('part', '100')).toBe(
      'client:part (tier free): nothing returned: no units charged then are left in a window that still counts, in per-minute, per-day\n',
    )
    expect(await at.json(['refund', 'part', '100'], now)).toEqual({
      subject: 'client:part',
      units: 100,
      policies: ['per-minute', 'per-day'],
      returned: [
        { policy: 'per-minute', units: 0 },
        { policy: 'per-day', units: 0 },
      ],
    })
    await spend('client:part', 'free', ['GET', '/x'], 7, NOW - 300_000)
    await spend('client:part', 'free', ['GET', '/x'], 3)
    expect(await refund('part', '1', '--policy', 'per-day')).toBe(
      'client:part (tier free): 1 unit returned to per-day\n',
    )
    expect(await refund('part', '100')).toBe(
      'client:part (tier free): 3 of 100 units returned to per-minute, 9 of 100 units returned to per-day\n',
    )
    expect(await used('part')).toMatchObject({ 'per-minute': [0, 60], 'per-day': [0, 1000] })
    await spend('client:part', 'free', ['GET', '/x'], 2)
    expect(await refund('part', '2', '--charged-at', '2026-11-21T11:00:00Z')).toBe(
      'client:part (tier free): nothing returned to per-minute, 2 units returned to per-day\n',
    )
  })

  it('says what a policy by pace got back, to the part of a unit that time had not', async () => {
    await at.json(['clients', 'create', 'paced', '--tier', 'free'])
    await spend('client:paced', 'free', ['GET', '/search'], 3, NOW - 150)
    const args = ['paced', '3', '--route', 'GET /search', '--policy', 'search']
    expect(await refund(...args)).toBe('client:paced (tier free): 1.5 of 3 units returned to search\n')
  })
})

describe('the user of a credential', () => {
  it('is held to the tier of its record, and is counted as its client', async () => {
    await at.json(['clients', 'create', 'ann', '--tier', 'pro', '--user', '77'])
    await at.put({
      pk: 'policy-set',
      sk: 'tier#pro',
      policies: [
        { name: 'per-minute', limit: 600, window: '1m' },
        { name: 'own', limit: 30, window: '1m', by: 'user' },
      ],
    })
    await spend('user:77', 'pro', ['GET', '/x'], 4)
    expect(await used('user:77')).toEqual({ own: [4, 26] })
    await at.put(TIERS[2])
    const { err } = await at.sluice(['refund', 'user:77', '1'], now)
    expect(err).toContain('has no policies there: it is a credential of a client and counted as client:ann')
  })
})

describe('peek, refund and reset', () => {
  it('show how a request would be decided, without charging it', async () => {
    await at.json(['clients', 'create', 'peeker', '--tier', 'free'])
    const { out } = await at.sluice(['peek', 'peeker'], now)
    expect(out).toBe(
      'client:peeker (tier free): a request of cost 1 would be allowed\npolicy per-minute: 59 of 60 left after it\n',
    )
    expect(await at.json(['peek', 'peeker', '--route', 'post /batch'], now)).toMatchObject({
      allowed: true,
      cost: 5,
      policy: 'per-minute',
      remaining: 55,
    })
    expect(await at.json(['peek', 'peeker', '--route', 'GET /search', '--cost', '5'], now)).toMatchObject({
      allowed: false,
      policy: 'search',
    })
    const never = await at.sluice(['peek', 'peeker', '--cost', '61'], now)
    expect([never.code, never.out]).toEqual([
      0,
      expect.stringContaining('would be denied\npolicy per-minute: 60 of 60 left, it can never be allowed\n'),
    ])
    expect(await used('peeker')).toMatchObject({ 'per-minute': [0, 60], 'per-day': [0, 1000] })
  })

  it('show what a caller holds: how many reservations are open, and for how long', async () => {
    await at.json(['clients', 'create', 'holder', '--tier', 'free'])
    const policies = [{ name: 'per-minute', limit: 60, window: '1m', algorithm: 'fixed-window' }] as const
    const own = createLimiter({
      store: new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state }),
      policies,
      clock: () => NOW - 60_000,
    })
    expect(await at.json(['usage', 'holder'], now)).not.toHaveProperty('reservations')
    const [first] = await Promise.all(
      ['3m', '2m'].map((reserve) => own.take('client:holder', { reserve: reserve as '2m' })),
    )
    expect((await at.json(['usage', 'holder'], now)).reservations).toEqual({ open: 2, limit: 1000, lastMs: 120_000 })
    expect((await at.sluice(['usage', 'holder'], now)).out).toContain(
      '\n2 of 1000 reservations are open, the last for 2 min: their requests are not settled\n',
    )
    await own.settle(first!.reservation!, 1)
    expect((await at.json(['usage', 'holder'], now)).reservations).toEqual({ open: 1, limit: 1000, lastMs: 60_000 })
  })

  it('show which requests are running, which a refund leaves alone, and a reset frees', async () => {
    await at.put({
      pk: 'policy-set',
      sk: 'tier#slow',
      policies: [
        { name: 'minute', limit: 60, window: '1m', algorithm: 'fixed-window' },
        { name: 'running', algorithm: 'concurrency', limit: 12, timeout: '5m' },
      ],
    })
    await at.json(['clients', 'create', 'patient', '--tier', 'slow'])
    const policies = [{ name: 'running', algorithm: 'concurrency', limit: 12, timeout: '5m' }] as const
    const time = { now: NOW - 60_000 }
    const own = createLimiter({
      store: new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state }),
      policies,
      clock: () => time.now,
    })
    await own.acquire('client:patient')
    time.now = NOW - 30_000
    const slots = await Promise.all(Array.from({ length: 11 }, () => own.acquire('client:patient')))
    const { running, ...usage } = (await at.json(['usage', 'patient'], now)).policies[1]
    expect(usage).toEqual({
      ...{ policy: 'running', route: null, cost: null, limit: 12, used: 12, remaining: 0, resetAfterMs: 270_000 },
    })
    expect(running).toHaveLength(12)
    expect(running.slice(0, 2)).toEqual([
      { since: '2026-11-21T11:59:00Z', leftMs: 240_000 },
      { since: '2026-11-21T11:59:30Z', leftMs: 270_000 },
    ])
    expect((await at.sluice(['usage', 'patient'], now)).out).toMatch(
      /\nrunning +since +free again in\nrunning +2026-11-21T11:59:00Z +4 min\n(running .*\n){9}running +and 2 more\n/,
    )
    expect(await at.json(['peek', 'patient'], now)).toMatchObject({
      allowed: false,
      policy: 'running',
      cost: 1,
      costs: {},
    })
    await at.json(['refund', 'patient', '5'], now)
    await expect(at.json(['refund', 'patient', '5', '--policy', 'running'], now)).rejects.toThrow(
      'running counts running requests, which have no units: sluice reset frees them',
    )
    expect(await slots[0]!.release()).toBe(true)
    expect((await at.json(['usage', 'patient'], now)).policies[1]).toMatchObject({ used: 11, remaining: 1 })
    await at.sluice(['reset', 'patient'], now)
    expect((await at.json(['usage', 'patient'], now)).policies[1]).toMatchObject({ used: 0, running: [] })
    expect(await slots[1]!.release()).toBe(false)
  })

  it('show who is locked out, whom a refund does not let in, and a reset does', async () => {
    await at.put({
      pk: 'policy-set',
      sk: 'tier#guarded',
      policies: [{ name: 'login', limit: 2, window: '1m', algorithm: 'fixed-window', blockFor: '15m' }],
    })
    await at.json(['clients', 'create', 'guesser', '--tier', 'guarded'])
    await spend('client:guesser', 'guarded', ['GET', '/x'], 2)
    const before = await at.sluice(['peek', 'guesser'], now)
    expect(before.out).toBe(
      'client:guesser (tier guarded): a request of cost 1 would be denied: policy login locks it out\n' +
        'policy login: 0 of 2 left, it would be allowed in 15 min\n',
    )
    expect((await at.json(['usage', 'guesser'], now)).policies[0].lockedOutMs).toBeUndefined()
    await spend('client:guesser', 'guarded', ['GET', '/x'], 1, NOW, false)
    await at.json(['refund', 'guesser', '1'], now)
    const later = { now: NOW + 60_000 }
    expect((await at.json(['usage', 'guesser'], later)).policies).toContainEqual({
      policy: 'login',
      route: null,
      cost: null,
      limit: 2,
      used: 0,
      remaining: 2,
      resetAfterMs: 0,
      lockedOutMs: 840_000,
    })
    expect((await at.sluice(['usage', 'guesser'], later)).out).toMatch(
      /full again in +locked out for\nlogin.* 14 min\n/,
    )
    expect(await at.json(['peek', 'guesser'], later)).toMatchObject({
      ...{ allowed: false, lockedOut: true, retryAfterMs: 840_000, remaining: 0 },
    })
    await at.sluice(['reset', 'guesser'], later)
    expect((await at.json(['usage', 'guesser'], later)).policies[0].lockedOutMs).toBeUndefined()
    expect(await at.json(['peek', 'guesser'], later)).toMatchObject({ allowed: true })
  })

  it('refund units to all or some policies, and reset all', async () => {
    await at.json(['clients', 'create', 'back', '--tier', 'free'])
    await spend('client:back', 'free', ['GET', '/x'], 20)
    expect((await at.sluice(['refund', 'back', '5'], now)).out).toBe(
      'client:back (tier free): 5 units returned to per-minute, per-day\n',
    )
    await at.json(['refund', 'back', '3', '--policy', 'per-day'], now)
    expect(await used('back')).toMatchObject({ 'per-minute': [15, 45], 'per-day': [12, 988] })
    expect((await at.sluice(['refund', 'back', '0'])).err).toContain('the units must be 1 or more')
    const charged = (chargedAt: string) => at.sluice(['refund', 'back', '5', '--charged-at', chargedAt], now)
    await charged(new Date(now.now - 2 * 86_400_000).toISOString()) // the units of that day are not those of today
    expect(await used('back')).toMatchObject({ 'per-minute': [15, 45], 'per-day': [12, 988] })
    expect((await charged('yesterday')).err).toContain('It must be a time such as')
    expect((await charged(new Date(now.now + 3_600_000).toISOString())).err).toContain(
      'chargedAt must be epoch milliseconds, at most 60 s ahead of now',
    )
    expect((await at.sluice(['reset', 'back'], now)).out).toBe('client:back (tier free): all limits are reset\n')
    expect(await used('back')).toMatchObject({ 'per-minute': [0, 60], 'per-day': [0, 1000] })
  })
})
