import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { DeleteItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { type Deployment, deploy, TIERS } from './command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-history-'))
const START = Date.parse('2026-11-23T08:00:00Z')
const HOUR = 3_600_000
const limit = (count: number) => ({ policies: [{ name: 'per-minute', limit: count, window: '1m' }] })
const me = `${userInfo().username}@${hostname()}`

let at: Deployment
/** An hour passes between any two commands. */
let now: number
beforeAll(async () => {
  at = await deploy()
})
afterAll(async () => {
  await at?.close()
  rmSync(folder, { recursive: true })
})
beforeEach(async () => {
  const { Items = [] } = await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES.config }))
  for (const { pk, sk } of Items)
    await at.client.send(new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: { pk: pk!, sk: sk! } }))
  await at.put(...TIERS)
  now = START
})

const later = () => {
  now += HOUR
  return { now }
}
const run = (...args: string[]) => at.sluice(args, later())
async function done(...args: string[]) {
  const said = await run(...args)
  if (said.code !== 0) throw new Error(said.err)
  return said
}
const history = (...args: string[]) => at.json(['history', ...args], later())
async function apply(tiers: object, ...options: string[]) {
  const path = join(folder, 'tiers.json')
  writeFileSync(path, JSON.stringify({ tiers: { anonymous: { by: 'ip', ...limit(20) }, ...tiers } }))
  await done('tiers', 'apply', path, '--yes', ...options)
}
const tiers = async () => (await at.json(['tiers', 'export'])).tiers
const tier = (name: string, count: number) => ({ pk: 'policy-set', sk: `tier#${name}`, ...limit(count) })

describe('sluice history', () => {
  it('has every change of a command, the latest first: who, when, by which command, before and after', async () => {
    await apply({ free: limit(30) })
    await done('off', '--note', 'incident 7', '--yes')
    await done('block', 'add', '198.51.100.1')
    const { changes, unrecorded, withoutRecord } = await history()
    expect(changes).toMatchObject([
      { how: 'sluice block add', entries: [{ item: 'block#ip#198.51.100.1' }] },
      { how: 'sluice off', entries: [{ item: 'switch', after: { mode: 'off', note: 'incident 7' } }] },
      {
        by: me,
        how: 'sluice tiers apply',
        at: '2026-11-23T09:00:00.000Z',
        entries: [{ item: 'tier#free', before: { policies: TIERS[1].policies }, after: limit(30) }],
      },
    ])
    expect(new Set(changes.map(({ change }: { change: string }) => change)).size).toBe(3)
    expect([unrecorded, withoutRecord]).toEqual([[], ['tier#anonymous', 'tier#pro']])
    const { out } = await done('history', '--item', 'tier#free')
    expect(out).toContain(`${changes[2].change}: sluice tiers apply, by ${me}\n~ tier free\n`)
    expect(out).toContain('    + { name: per-minute, limit: 30, window: 1m }')
    expect(out).not.toContain('switch')
    expect((await history('--since', '2h')).changes).toEqual([])
  })

  it('says what something else changed, added back or deleted, and between which moments', async () => {
    await apply({ free: limit(30), pro: limit(31), more: limit(32) })
    await at.put(tier('free', 5)) // a console
    await apply({ free: limit(40) })
    await at.put(tier('free', 6))
    await at.client.send(
      new DeleteItemCommand({
        TableName: LOCAL_TABLES.config,
        Key: { pk: { S: 'policy-set' }, sk: { S: 'tier#more' } },
      }),
    )
    const { unrecorded } = await history()
    expect(unrecorded).toHaveLength(3)
    expect(unrecorded).toEqual(
      expect.arrayContaining([
        {
          item: 'tier#free',
          from: '2026-11-23T10:00:00.000Z',
          until: '2026-11-23T11:00:00.000Z',
          left: limit(40),
          found: limit(6),
        },
        { item: 'tier#more', from: '2026-11-23T09:00:00.000Z', until: '2026-11-23T11:00:00.000Z', left: limit(32) },
        {
          item: 'tier#free',
          from: '2026-11-23T09:00:00.000Z',
          until: '2026-11-23T10:00:00.000Z',
          left: limit(30),
          found: limit(5),
        },
      ]),
    )
    expect((await done('history')).out).toContain(
      'changed by another program between 2026-11-23T10:00:00.000Z and 2026-11-23T12:00:00.000Z\n~ tier free',
    )
  })

  it('does not take two writers whose clocks differ for a change without a record', async () => {
    await apply({ free: limit(30) })
    now -= HOUR + 60_000 // another machine, a minute behind
    await apply({ free: limit(31) })
    now = START + 3 * HOUR
    expect((await history()).unrecorded).toEqual([])
  })

  it('knows clients by their ids, and shows neither their keys nor the hashes of them', async () => {
    const made = await at.json(['clients', 'create', 'acme', '--tier', 'free'], later())
    await done('clients', 'set', 'acme', '--tier', 'pro', '--yes')
    await done('clients', 'disable', 'acme')
    const { Items = [] } = await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES.config }))
    const hash = Items.flatMap(({ pk }) => /^client#(.*)/.exec(pk!.S!)?.[1] ?? [])[0]!
    const trail = JSON.stringify(Items.filter(({ pk }) => pk!.S === 'audit'))
    expect(trail).toContain('client#acme')
    expect(trail).not.toContain(hash)
    expect(trail).not.toContain(made.key ?? made.apiKey)
    const edit = Items.find(({ pk }) => pk!.S === `client#${hash}`)!
    await at.client.send(new PutItemCommand({ TableName: LOCAL_TABLES.config, Item: { ...edit, tier: { S: 'free' } } }))
    const { changes, unrecorded } = await history('--item', 'client#acme', '--since', '400d')
    expect(changes).toMatchObject([
      { how: 'sluice clients disable' },
      { how: 'sluice clients set' },
      { how: 'sluice clients create' },
    ])
    expect(unrecorded).toMatchObject([{ item: 'client#acme' }])
  })

  it('has nothing left of who was forgotten, not in the record of that either', async () => {
    await at.json(['clients', 'create', 'acme', '--tier', 'free'], later())
    await done('block', 'add', 'client:acme')
    await done('block', 'add', '198.51.100.1')
    await done('block', 'add', '198.51.100.2')
    const deleted = await run('clients', 'delete', 'acme', '--yes')
    expect(deleted.code).toBe(0)
    await done('forget', 'client:acme', 'ip:198.51.100.1', '--yes')
    const { Items = [] } = await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES.config }))
    expect(JSON.stringify(Items)).not.toMatch(/acme|198\.51\.100\.1"/)
    const { changes } = await history()
    expect(changes[0]).toMatchObject({
      how: 'sluice forget',
      by: me,
      entries: expect.arrayContaining([{ forgotten: true }]),
    })
    expect(JSON.stringify(changes)).toContain('198.51.100.2')
    expect((await done('history')).out).toContain('an item about an erased person')
  })

  it('leaves out what is no record', async () => {
    await at.put(
      { pk: 'audit', sk: 'x', entries: 7 },
      { pk: 'audit', sk: 'y', change: 'a', by: 'b', how: 'c', at: 'never', entries: [] },
    )
    expect((await history()).changes).toEqual([])
  })
})

describe('sluice tiers rollback', () => {
  const changeOf = async (index = 0) => (await history()).changes[index].change as string

  it('makes tiers what they were before a change, added ones as well as removed ones, and is recorded itself', async () => {
    const before = await tiers()
    await apply({ free: limit(30), new: limit(1) }, '--prune')
    const change = await changeOf()
    expect((await run('tiers', 'rollback', change)).err).toContain('no terminal for the question, use --yes')
    const { out } = await done('tiers', 'rollback', change, '--yes')
    expect(out).toContain('undone: 1 added, 1 changed, 1 removed')
    expect(await tiers()).toEqual(before)
    const { changes, unrecorded } = await history()
    expect(changes[0]).toMatchObject({ how: `sluice tiers rollback ${change}`, by: me })
    expect(unrecorded).toEqual([])
    await done('tiers', 'rollback', changes[0].change, '--yes') // and back again
    expect(Object.keys(await tiers())).toEqual(['anonymous', 'free', 'new'])
    expect((await done('tiers', 'rollback', changes[0].change, '--yes')).out).toContain('no changes')
  })

  it('refuses items that were edited since, by whomever, unless they are named', async () => {
    await apply({ free: limit(30), pro: limit(31) })
    const change = await changeOf()
    await at.put(tier('free', 5)) // a console
    const { code, err } = await run('tiers', 'rollback', change, '--yes')
    expect(code).toBe(1)
    expect(err).toContain('nothing was written: tier free was edited since that change')
    expect(err).toContain('--overwrite tier#free')
    expect((await tiers()).pro).toEqual(limit(31))
    expect((await run('tiers', 'rollback', change, '--yes', '--overwrite', 'tier#pro')).err).toContain(
      'tier#pro, which was not edited since',
    )
    await done('tiers', 'rollback', change, '--yes', '--overwrite', 'tier#free')
    expect((await tiers()).free.policies).toHaveLength(2)
  })

  it('says of an item that nothing tells of that its name may be wrong', async () => {
    const { out, err } = await done('history', '--item', 'anonymous')
    expect(out).toContain('no changes')
    expect(err).toContain('neither the table nor its history has an item "anonymous": items are named as tier#free')
    expect((await done('history', '--item', 'tier#anonymous')).err).not.toContain('neither')
  })

  it('takes how an id begins, and names the changes whose ids begin so where there are several', async () => {
    await apply({ free: limit(30) })
    await apply({ free: limit(31) })
    const { changes } = await history()
    const [last, first] = changes as { change: string; how: string; at: string }[]
    let length = 1
    while (last!.change.slice(0, length) === first!.change.slice(0, length)) length++
    const undone = await at.json(['tiers', 'rollback', last!.change.slice(0, length), '--yes'], later())
    expect(undone.undone).toBe(last!.change)
    const { how } = (await history()).changes[0]
    expect(how).toBe(`sluice tiers rollback ${last!.change}`)

    const copy = (change: string) => ({
      pk: 'audit',
      sk: `copy#${change}`,
      change,
      by: 'me',
      how: 'a test',
      at: first!.at,
      entries: [],
    })
    await at.put(copy('zz1'), copy('zz12'), copy('zz3'))
    const several = await run('tiers', 'rollback', 'zz', '--yes')
    expect([several.code, several.err]).toEqual([
      1,
      expect.stringMatching(/"zz" begins the ids of 3 changes: (zz\d+ \(a test at [^)]*\)(, )?){3}\n/),
    ])
    expect((await run('tiers', 'rollback', 'zz1', '--yes')).err).not.toContain('begins the ids')
    expect((await run('tiers', 'rollback', '', '--yes')).err).toContain('no change ""')
  })

  it('refuses what would leave the table invalid, what is not known, and leaves what are no tiers', async () => {
    expect((await run('tiers', 'rollback', 'nothing', '--yes')).err).toContain(
      'no change "nothing" is in the audit trail',
    )
    await at.client.send(
      new DeleteItemCommand({
        TableName: LOCAL_TABLES.config,
        Key: { pk: { S: 'policy-set' }, sk: { S: 'tier#anonymous' } },
      }),
    )
    await apply({})
    const { code, err } = await run('tiers', 'rollback', await changeOf(), '--yes')
    expect([code, err]).toEqual([1, expect.stringContaining('anonymous')])
    await done('off', '--yes')
    const { out, err: note } = await done('tiers', 'rollback', await changeOf(), '--yes')
    expect(out).toContain('no changes')
    expect(note).toContain('not undone, because they are not tiers: switch')
  })
})
