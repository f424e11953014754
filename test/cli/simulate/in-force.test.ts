import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { subjectKey } from '../../../limiter/subject-key'
import { type Deployment, deploy, TIERS } from '../command-line'
import { gatewayBefore } from '../top/denying-gateway'

let deployment: Deployment
beforeAll(async () => {
  deployment = await deploy()
  await deployment.put(
    ...TIERS,
    { pk: 'policy-set', sk: 'block#client#bad' },
    {
      pk: 'client#api-gateway-key:a1b2c3d4e5',
      sk: 'client',
      id: 'acme',
      tier: 'free',
      overrides: { 'per-minute': { limit: 70 } },
    },
    { pk: 'client#api-gateway-key:b1b2c3d4e5', sk: 'client', id: 'bad', tier: 'free' },
  )
})
afterAll(() => deployment.close())

it('compares with what is in force, with clients, their own limits and blocks as the table has them', async () => {
  const T = 1_800_000_000_000
  const [log, tiers] = ['log', 'yaml'].map((end) => join(tmpdir(), `in-force-${process.pid}.${end}`)) as [
    string,
    string,
  ]
  const lines = Array.from({ length: 72 }, (_, i) => ({
    time: T + i,
    subject: subjectKey('client:acme'),
    tier: 'free',
  }))
  const others = [
    { time: T + 100, key: 'b1b2c3d4e5' },
    { time: T + 101, key: 'unknown-key', ip: '198.51.100.1' },
  ]
  writeFileSync(log, [...lines, ...others].map((one) => JSON.stringify(one)).join('\n'))
  writeFileSync(
    tiers,
    `tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free: { policies: [{ name: per-minute, limit: 60, window: 1m }, { name: per-hour, limit: 65, window: 1h }] }
`,
  )
  const report = await deployment.json(['simulate', '--log', log, '--tiers', tiers, '--against', 'current'])
  const { out } = await deployment.sluice(['simulate', '--log', log, '--tiers', tiers])
  expect(out).toContain(
    `\nOf table sluice-config at ${deployment.endpoint}: 2 clients, 1 with overrides, 1 block and 0 allowances count.\n`,
  )
  expect(out).toMatch(/\nclient:bad +1 +0 +- +1 refused\n/)
  expect(report).toMatchObject({
    asked: {
      table: `table sluice-config at ${deployment.endpoint}`,
      clients: 2,
      overridden: 1,
      blocks: 1,
      allowances: 0,
    },
    denied: 7,
    undecided: { blocked: 1 },
    against: { denied: 2, undecided: { blocked: 1 }, rules: `current (table sluice-config at ${deployment.endpoint})` },
    newlyDeniedClients: 0,
    newlyDeniedRequests: 5,
    // as they are configured, though acme's own is 70
    policies: expect.arrayContaining([expect.objectContaining({ tier: 'free', policy: 'per-minute', limit: 60 })]),
    clients: expect.arrayContaining([
      expect.objectContaining({ client: 'client:acme', denied: 7, firstDeniedBy: 'per-hour' }),
      expect.objectContaining({ client: 'client:bad', refused: 1 }),
      expect.objectContaining({ client: 'ip:198.51.100.1', tier: 'anonymous' }),
    ]),
  })
})

describe('one limit is changed with --set', () => {
  const T = 1_800_000_000_000
  const [log, file] = ['set.log', 'set.yaml'].map((end) => join(tmpdir(), `in-force-${process.pid}.${end}`)) as [
    string,
    string,
  ]
  const tiers = (free: string) => `tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free: { policies: [{ name: per-minute, ${free} }, { name: b.c, algorithm: token-bucket, limit: 500, window: 1m }] }
  free.b: { policies: [{ name: c, limit: 1, window: 1m }] }
  lone: { policies: [{ name: d.e, limit: 1, window: 1m }] }
routes: { "GET /a.b": { policies: [{ name: search, limit: 5, window: 1m, by: client }] } }
global: { policies: [{ name: everybody, by: api, limit: 1000, window: 1m, consistency: strict }] }
`
  beforeAll(() => {
    const lines = Array.from({ length: 50 }, (_, i) => ({ time: T + i * 500, client: 'other', tier: 'free' }))
    writeFileSync(log, lines.map((one) => JSON.stringify(one)).join('\n'))
    writeFileSync(file, tiers('limit: 60, window: 1m'))
  })
  afterAll(() => {
    for (const one of [log, file]) rmSync(one)
  })
  const simulated = async (...args: string[]) => deployment.sluice(['simulate', '--log', log, ...args])

  it('says what the file with that number in it says, compared with the file as it is', async () => {
    const { cannotKnow: _, ...set } = await deployment.json([
      ...['simulate', '--log', log, '--tiers', file, '--set', 'free.per-minute=10/20s'],
    ])
    expect(set).toMatchObject({
      rules: `${file} with free.per-minute=10/20s`,
      against: { rules: file, denied: 0 },
      newlyDeniedRequests: set.denied,
      clients: [
        { client: 'client:other', firstDeniedBy: 'per-minute', firstDeniedAt: new Date(T + 5000).toISOString() },
      ],
    })
    const edited = `${file}.edited`
    writeFileSync(edited, tiers('limit: 10, window: 20s'))
    const said = await deployment.json(['simulate', '--log', log, '--tiers', edited, '--against', file])
    rmSync(edited)
    for (const part of ['denied', 'policies', 'clients', 'newlyDenied', 'series'])
      expect([part, set[part]]).toEqual([part, said[part]])
  })

  it('changes what is in force, where no file is named, also of a route and of everybody', async () => {
    const { out, code } = await simulated('--set', 'free.per-minute=30', '--fail-if', 'newly-denied-requests > 0')
    expect(out).toContain(`current (table sluice-config at ${deployment.endpoint}) with free.per-minute=30: 30 allowed`)
    expect(out).toContain(`current (table sluice-config at ${deployment.endpoint}): 50 allowed, 0 denied`)
    expect(code).toBe(3)
    const others = ['lone.d.e=9', 'GET /a.b.search=1', 'global.everybody=7']
    const { rules, denied } = await deployment.json([
      ...['simulate', '--log', log, '--tiers', file, ...others.flatMap((one) => ['--set', one])],
    ])
    expect(rules).toBe(`${file} with ${others.join(', ')}`)
    expect(denied).toBe(43)
  })

  it.each([
    ['fre.per-minute=30', 'has no policy "fre.per-minute", did you mean "free.per-minute"?'],
    ['per-day=3', 'has no policy "per-day", known are anonymous.per-minute, free.per-minute, free.b.c'],
    ['free.b.c=3', '--set: "free.b.c" is 2 policies of'],
    ['free.per-minute', '--set must be a tier, its policy and a limit, such as "free.per-minute=30"'],
    ['free.per-minute=-1', '--set must be a tier'],
    [
      'free.per-minute=0',
      'limit must be a positive integer, got 0 (item "tier#free", tier "free", policy "per-minute")',
    ],
    ['free.per-minute=3/fortnight', 'window must be'],
    ['free.per-minute=3:9', 'burst'],
  ])('refuses %s, and says what there is', async (set, sentence) => {
    const { code, err, out } = await simulated('--tiers', file, '--set', set)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(sentence)
  })

  it('refuses the same policy twice, and no rules at all', async () => {
    const twice = await simulated('--set', 'free.per-minute=3', '--set', 'free.per-minute=4')
    expect([twice.code, twice.err]).toEqual([1, expect.stringContaining('--set names "free.per-minute" twice')])
    const none = await simulated()
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringContaining('name a tiers file with --tiers, or a limit with --set'),
    ])
  })
})

describe('the log of the local gateway', () => {
  it('is what is replayed where no log is named, with the clients of its tables', async () => {
    const gateway = await gatewayBefore(deployment)
    const from = ['simulate', '--gateway', gateway.url, '--set', 'free.per-minute=2']
    const nothing = await deployment.sluice(from)
    expect([nothing.code, nothing.err]).toEqual([1, expect.stringContaining('has had no request since it started')])
    for (let i = 0; i < 5; i++) await (await fetch(`${gateway.url}/hello`)).text()
    await (await fetch(`${gateway.url}/hello`, { headers: { 'x-api-key': 'acme' } })).text()
    await (await fetch(`${gateway.url}/hello`, { headers: { 'x-api-key': 'wrong' } })).text()
    const report = await deployment.json(from)
    expect(report).toMatchObject({
      source: `the local gateway at ${gateway.url}`,
      requests: 7,
      denied: 3,
      undecided: { unauthorized: 1 },
      newlyDeniedRequests: 3,
    })
    await gateway.close()
    const gone = await deployment.sluice(from)
    expect([gone.code, gone.err]).toEqual([2, expect.stringContaining(`no local gateway answers at ${gateway.url}`)])
    const both = await deployment.sluice([...from, '--pattern', '1/s for 1s'])
    expect([both.code, both.err]).toEqual([
      1,
      expect.stringContaining('--gateway and --pattern exclude each other: leave one out'),
    ])
    const nowhere = await deployment.sluice(['simulate', '--set', 'free.per-minute=2'])
    expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('no requests to replay')])
  })
})
