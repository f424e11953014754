import { addressNames, MAX_ADDRESSES } from '../../cli/callers/address-names'
import { rangeOf } from '../../cli/callers/block-entries'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { createLimiter, DynamoDbStore } from '../../limiter'
import { subjectKey } from '../../limiter/subject-key'
import { newAuthorizer } from './authorizer'
import { type Deployment, deploy, TIERS } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }
const SECRET = Buffer.alloc(32, 7)
const FORMER = Buffer.alloc(32, 9)
const hashOf = (name: string, secret: Uint8Array | undefined = SECRET) => subjectKey(name, secret)
const USED = [{ name: 'per-minute', limit: 20, window: '1m' }] as const

/** Counts requests of a subject under a secret, as the authorizer does. */
async function spend(at: Deployment, name: string, cost: number, hmacKey?: Uint8Array): Promise<void> {
  const store = new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state })
  const limiter = createLimiter({ store, policies: USED, clock: () => NOW, hmacKey })
  expect((await limiter.take(name, { cost })).allowed).toBe(true)
}

let at: Deployment
beforeEach(async () => {
  at = await deploy()
  await at.put(...TIERS, keyRingItem(HMAC_RING, [{ secret: SECRET, activeFrom: 0 }]))
  await at.json(['clients', 'create', 'acme', '--tier', 'free'])
  await at.json(['clients', 'create', 'ann', '--tier', 'pro', '--user', '42'])
})
afterEach(async () => at?.close())

const whois = (...args: string[]) => at.sluice(['whois', ...args], now)

describe('whois', () => {
  it('finds clients, users of credentials, routes, APIs and listed addresses by their hash', async () => {
    await at.put(
      { pk: 'policy-set', sk: 'route#GET /search', policies: [{ name: 's', limit: 1, window: '1s', by: 'route' }] },
      { pk: 'policy-set', sk: 'api#a1b2c3d4e5', label: 'shop' },
      { pk: 'policy-set', sk: 'block#ip#203.0.113.0/24' },
      { pk: 'policy-set', sk: 'allow#ip#2001:db8:1:2ff::9' },
      { pk: 'policy-set', sk: 'block#client#gone' },
    )
    const names = {
      'client:acme': 'client record',
      'user:42': 'credential of client ann',
      'client:gone': 'block list',
      'ip:203.0.113.99': 'block or allow list',
      'ip:2001:db8:1:200::/56': 'block or allow list',
      'preflight:ip:203.0.113.99': 'block or allow list',
      'route:GET /search': 'policies by "route"',
      'api:a1b2c3d4e5': 'label of an API',
      global: 'policies by "global"',
    }
    for (const [name, source] of Object.entries(names))
      expect(await whois(hashOf(name))).toEqual({ code: 0, err: '', out: `${hashOf(name)} is ${name} (${source})\n` })
  })

  it('finds whom the authorizer counts by several values at once', async () => {
    const policies = [{ name: 'both', limit: 5, window: '1h', by: ['client', 'ip'] }]
    await at.put({ pk: 'policy-set', sk: 'tier#both', policies })
    const hash = hashOf('several:["client:acme","ip:203.0.113.7"]')
    expect((await whois(hash)).code).toBe(1)
    expect((await whois(hash, '--address', '203.0.113.0/29')).out).toContain('several:["client:acme","ip:203.0.113.7"]')
  })

  it('finds the hash that the authorizer itself answers with', async () => {
    const { apiKey } = await at.json(['clients', 'create', 'shop', '--tier', 'free'])
    // This authorizer knows no secret, like those of versions without them.
    const answer = (await newAuthorizer(
      at,
      NOW,
    )({
      type: 'REQUEST',
      methodArn: 'arn:aws:execute-api:us-east-1:123456789012:a1b2c3d4e5/prod/GET/x',
      resource: '/x',
      path: '/x',
      httpMethod: 'GET',
      headers: { 'X-Api-Key': apiKey },
      requestContext: { path: '/prod/x', stage: 'prod', identity: { sourceIp: '198.51.100.1' } },
    })) as { readonly context: { readonly subject: string } }
    const { out } = await whois(answer.context.subject)
    expect(out).toBe(`${answer.context.subject} is client:shop (client record); hashed without a secret\n`)
  })

  it('tells hashes of a former secret, and of one to come', async () => {
    const keys = [
      { secret: FORMER, activeFrom: 0 },
      { secret: SECRET, activeFrom: NOW - 1000 },
      { secret: Buffer.alloc(32, 1), activeFrom: NOW + 1000 },
    ]
    await at.put(keyRingItem(HMAC_RING, keys))
    const secret = async (one: Uint8Array) => (await at.json(['whois', hashOf('client:acme', one)], now)).secret
    expect(await Promise.all(keys.map((key) => secret(key.secret)))).toEqual(['former', 'active', 'to come'])
    expect((await whois(hashOf('client:acme', FORMER))).out).toContain('; hashed with a former secret')
  })

  it('says why an address is not known, and finds it among those that are suspected', async () => {
    const hash = hashOf('ip:198.51.77.8')
    const unknown = await whois(hash)
    expect([unknown.code, unknown.out]).toEqual([1, ''])
    expect(unknown.err).toBe(
      `${hash} cannot be resolved: addresses are in no table, only their hashes; none was tried; ` +
        'try suspected addresses with sluice whois HASH --address 203.0.113.0/24; under the only secret\n',
    )
    expect((await whois(hash, '--address', '203.0.113.0/24')).err).toContain('tried: 256 addresses')
    expect(await at.json(['whois', hash, '--address', '198.51.64.0/20'], now)).toEqual({
      hash,
      subject: 'ip:198.51.77.8',
      client: null,
      source: '--address',
      secret: 'active',
    })
    const ipv6 = hashOf('ip:2001:db8:0:fe00::/56')
    expect((await whois(ipv6, '--address', '2001:db8::/48')).out).toContain('ip:2001:db8:0:fe00::/56')
    expect((await whois(hash, '--address', '198.0.0.0/8')).err).toContain(
      'not tried, because only 65536 addresses are tried at once: 198.0.0.0/8',
    )
  })

  it.each([
    ['client', 'no client record has an id with this hash'],
    ['user', 'users of tokens are stored as hashes only'],
    ['header', 'values of headers are in no table'],
    ['order', 'subjects of the kind "order" are defined by a program'],
  ])('says why a hash of the kind %s is not known', async (scope, why) => {
    const { code, err } = await whois(hashOf(`${scope}:nobody`))
    expect([code, err]).toEqual([1, expect.stringContaining(why)])
  })

  it.each([
    [['acme'], 'a hash is a word, "~" or "#" and 43 characters, as in "subject" of the log, got "acme"\n'],
    [[hashOf('ip:1.2.3.4'), '--address', '203.0.113.7/24'], '203.0.113.7/24 is not a network: use 203.0.113.0/24'],
    [[hashOf('ip:1.2.3.4'), '--address', 'acme'], 'an address must look like 203.0.113.7'],
  ])('%j is refused', async (args, err) => {
    expect(await whois(...args)).toEqual({ code: 1, out: '', err: expect.stringContaining(err) })
  })

  it('says that a keyed hash is of another table where there is no secret', async () => {
    const other = await deploy()
    await other.put(...TIERS)
    const { code, err } = await other.sluice(['whois', hashOf('client:acme')])
    await other.close()
    expect([code, err]).toEqual([1, expect.stringContaining('this deployment has none: is this the right table?')])
  })
})

describe('the addresses of ranges', () => {
  const names = (...texts: string[]) => addressNames(texts.map(rangeOf), 56)

  it('are each counted subject once', () => {
    expect(names('203.0.113.6/31', '203.0.113.7', '2001:db8:1:2ff::9', '2001:db8:1:200::/63')).toEqual({
      names: ['ip:203.0.113.7', 'ip:2001:db8:1:200::/56', 'ip:203.0.113.6'],
      tooLarge: [],
    })
    expect(names('2001:db8::/55').names).toEqual(['ip:2001:db8::/56', 'ip:2001:db8:0:100::/56'])
    expect(names('10.255.255.254/31').names).toEqual(['ip:10.255.255.254', 'ip:10.255.255.255'])
  })

  it('are 65,536 at most: of what is too large the narrower ranges are kept', () => {
    expect(names('10.0.0.0/16').names).toHaveLength(MAX_ADDRESSES)
    const { names: kept, tooLarge } = names('10.0.0.0/16', '203.0.113.7')
    expect([kept, tooLarge]).toEqual([['ip:203.0.113.7'], ['10.0.0.0/16']])
  })
})

describe('a hash of the log', () => {
  it('is taken for whom it stands by usage, peek, refund and reset, which say so', async () => {
    await spend(at, 'client:acme', 5, SECRET)
    const hash = hashOf('client:acme')
    const said = `${hash} is client:acme (client record)\n`
    const usage = await at.sluice(['usage', hash], now)
    expect([usage.code, usage.err, usage.out]).toEqual([0, said, expect.stringMatching(/^client:acme \(tier free\)\n/)])
    expect((await at.sluice(['peek', hash], now)).err).toBe(said)
    expect((await at.sluice(['refund', hash, '2', '--policy', 'per-minute'], now)).out).toBe(
      'client:acme (tier free): 2 units returned to per-minute\n',
    )
    expect((await at.sluice(['reset', hash], now)).out).toBe('client:acme (tier free): all limits are reset\n')
  })

  it('of an IPv6 network on a list is taken for that network', async () => {
    await at.put({ pk: 'policy-set', sk: 'allow#ip#2001:db8:1:2ff::9' })
    const hash = hashOf('ip:2001:db8:1:200::/56')
    await spend(at, 'ip:2001:db8:1:200::/56', 3, SECRET)
    const { code, err, out } = await at.sluice(['usage', hash], now)
    expect([code, err]).toEqual([0, `${hash} is ip:2001:db8:1:200::/56 (block or allow list)\n`])
    expect(out).toMatch(/^ip:2001:db8:1:200::\/56 \(tier anonymous/)
    expect((await at.sluice(['peek', hash], now)).code).toBe(0)
  })

  it('of a former secret leads to the counters of today', async () => {
    await at.put(
      keyRingItem(HMAC_RING, [
        { secret: FORMER, activeFrom: 0 },
        { secret: SECRET, activeFrom: NOW - 60_000 },
      ]),
    )
    await spend(at, 'client:acme', 5, SECRET)
    const { policies } = await at.json(['usage', hashOf('client:acme', FORMER)], now)
    expect(policies[0]).toMatchObject({ policy: 'per-minute', used: 5 })
  })

  it('of an address that nobody knows shows, returns and resets what is counted under it', async () => {
    await spend(at, 'ip:198.51.100.8', 7, SECRET)
    const hash = hashOf('ip:198.51.100.8')
    const { subject, tier, policies } = await at.json(['usage', hash], now)
    expect([subject, tier, policies[0].used]).toEqual([hash, 'anonymous', 7])
    expect((await at.sluice(['refund', hash, '9'], now)).out).toBe(
      `${hash} (tier anonymous): 7 of 9 units returned to per-minute\n`,
    )
    await spend(at, 'ip:198.51.100.8', 4, SECRET)
    expect((await at.sluice(['reset', hash], now)).out).toBe(`${hash} (tier anonymous): all limits are reset\n`)
    const gone = await at.sluice(['usage', hash], now)
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining(`nothing is stored under ${hash}`)])
  })

  it('made without a secret leads to where the secret has the state now', async () => {
    await spend(at, 'ip:198.51.100.8', 7, SECRET)
    const plain = subjectKey('ip:198.51.100.8')
    expect((await at.json(['usage', plain], now)).policies[0]).toMatchObject({ used: 7 })
    expect((await at.sluice(['reset', plain], now)).code).toBe(0)
    expect((await at.json(['usage', 'ip:198.51.100.8'], now)).policies[0]).toMatchObject({ used: 0 })
  })

  it('that nobody knows is refused where the name is needed', async () => {
    await spend(at, 'ip:198.51.100.8', 7, SECRET)
    await spend(at, 'user:7', 7, SECRET)
    await spend(at, 'header:x=1', 7, SECRET)
    const refused = async (...args: string[]) => {
      const { code, out, err } = await at.sluice(args, now)
      expect([code, out]).toEqual([1, ''])
      return err
    }
    const [address, user, header] = ['ip:198.51.100.8', 'user:7', 'header:x=1'].map((name) => hashOf(name)) as [
      string,
      string,
      string,
    ]
    expect(await refused('peek', address)).toContain('peek needs its name')
    expect(await refused('usage', address, '--api', 'shop')).toContain('Without the name, --api cannot be used')
    expect(await refused('usage', user)).toContain('give it with --tier')
    expect((await at.json(['usage', user, '--tier', 'pro'], now)).policies[0]).toMatchObject({ used: 7 })
    expect(await refused('usage', header)).toContain('only reset and forget take it')
    expect((await at.sluice(['reset', header], now)).code).toBe(0)
    expect(await refused('block', 'add', address)).toContain('a list names clients and addresses')
    expect(await at.json(['block', 'list'])).toEqual([])
    await at.put(
      keyRingItem(HMAC_RING, [
        { secret: FORMER, activeFrom: 0 },
        { secret: SECRET, activeFrom: NOW - 60_000 },
      ]),
    )
    for (const command of ['usage', 'reset'])
      expect(await refused(command, address)).toContain('Which of the secrets made it is not known')
    expect(await refused('refund', address, '1')).toContain('Which of the secrets made it is not known')
  })

  it('blocks and unblocks whom it stands for', async () => {
    const blocked = await at.sluice(['block', 'add', hashOf('user:42')], now)
    expect([blocked.err, blocked.out]).toEqual([
      `${hashOf('user:42')} is user:42 (credential of client ann)\nwritten: table sluice-config at ${at.endpoint}\n`,
      'client:ann is blocked\n',
    ])
    expect((await at.sluice(['block', 'remove', hashOf('client:ann'), '--yes'], now)).out).toBe(
      'client:ann was removed from the block list\n',
    )
  })

  it('is forgotten: the caller where it is known, else the counters under the hash', async () => {
    await spend(at, 'client:acme', 5, SECRET)
    await spend(at, 'user:7', 5, SECRET)
    await spend(at, 'user:7', 5)
    const known = await at.json(['forget', hashOf('client:acme'), '--yes'], now)
    expect(known.erased).toEqual([
      expect.stringContaining('client acme'),
      'what 1 record of the audit trail says',
      'counters of client:acme',
    ])
    const unknown = await at.sluice(['forget', hashOf('user:7'), '--yes'], now)
    expect(unknown.err).toContain('cannot be resolved, so only counters under this hash are erased')
    expect(unknown.out).toContain(`erased: counters of ${hashOf('user:7')}`)
    const plain = await at.json(['forget', subjectKey('user:7'), '--yes', '--raw'], now)
    expect(plain.erased).toEqual([`counters of ${subjectKey('user:7')}`])
    const nothing = await at.sluice(['forget', hashOf('user:7'), '--yes'], now)
    expect(nothing.out).toContain('nothing is stored')
  })
})
