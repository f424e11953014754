import { clientKey, ringKey, routeKey, tierKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { type AuditRecord, AuditTrail, withoutPerson, withRecords } from '../../provisioning/audit-trail'
import { fitOneTransaction, type GuardedWrite } from '../../provisioning/guarded-writes'
import { contentHash } from '../../provisioning/tiers-file'

const NOW = Date.parse('2026-11-23T08:00:00Z')
const about = { change: '0123456789', by: 'alice@laptop', how: 'sluice tiers apply' }
const trail = () =>
  new AuditTrail(
    async () => about,
    () => NOW,
  )
const recordsOf = async (...writes: GuardedWrite[]): Promise<AuditRecord[]> =>
  (await trail().recordsOf(writes)).map(({ after }) => after as unknown as AuditRecord)
const tier = (name: string, fields: object): GuardedWrite['after'] => ({ ...tierKey(name), ...fields })

describe('a record of the audit trail', () => {
  it('says who changed what and when, before and after, and is kept 400 days', async () => {
    const before = tier('free', { policies: [] })
    const after = tier('free', { policies: [], note: 'x' })
    expect(await recordsOf({ key: tierKey('free'), before, after })).toEqual([
      {
        ...about,
        pk: 'audit',
        sk: expect.stringMatching(/^2026-11-23T08:00:00\.000Z#000000#[0-9a-f]{8}$/),
        at: '2026-11-23T08:00:00.000Z',
        exp: NOW / 1000 + 400 * 86_400,
        entries: [
          {
            item: 'tier#free',
            was: contentHash(before!),
            is: contentHash(after!),
            before: { policies: [] },
            after: { policies: [], note: 'x' },
          },
        ],
      },
    ])
  })

  it('never holds a secret, a hash of a key, or a field of a client that Sluice does not know', async () => {
    const [hash, secret, other] = [
      'c0ffee'.repeat(10),
      'usage-key-of-twenty-characters',
      'another-of-twenty-characters',
    ]
    const key = clientKey(hash)
    const client = (usageIdentifierKey: string) => ({
      ...key,
      id: 'acme',
      tier: 'pro',
      usageIdentifierKey,
      token: secret,
    })
    const hmac = keyRingItem(HMAC_RING, [{ secret: Buffer.alloc(32, 7), activeFrom: NOW }])
    const [record] = await recordsOf(
      { key, before: client(other), after: client(secret) },
      { key: ringKey(HMAC_RING), after: hmac },
    )
    const text = JSON.stringify(record)
    for (const one of [hash, secret, other, Buffer.alloc(32, 7).toString('base64')]) expect(text).not.toContain(one)
    expect(record!.entries).toMatchObject([
      { item: 'client#acme', hidden: ['usageIdentifierKey'], before: { id: 'acme', tier: 'pro' } },
      { item: 'hmac-key', hidden: ['key'], after: { keys: [{ activeFrom: NOW }] } },
    ])
    expect(record!.entries[0]!.was).toBe(record!.entries[0]!.is)
  })

  it('is not written of what changes nothing, nor of what programs note for themselves', async () => {
    const same = tier('free', { policies: [] })
    const note = { pk: 'seed', sk: 'tier#free' }
    expect(await recordsOf({ key: tierKey('free'), before: same, after: same }, { key: note, after: note })).toEqual([])
  })

  it('says what it leaves out because it is too large, or nested too deeply for an item within an item', async () => {
    const deep = Array.from({ length: 27 }).reduce<unknown>((inner) => [inner], 1)
    const records = await recordsOf(
      { key: tierKey('a'), after: tier('a', { note: 'x'.repeat(310_000) }) },
      { key: tierKey('b'), after: tier('b', { deep }) },
    )
    expect(records.flatMap(({ entries }) => entries)).toEqual([
      { item: 'tier#a', is: expect.any(String), cut: true },
      { item: 'tier#b', is: expect.any(String), cut: true },
    ])
  })

  it('is one of several where their items would be too large for DynamoDB, and all of them are counted beforehand', async () => {
    const writes = Array.from({ length: 9 }, (_, i) => ({
      key: routeKey(`/${i}`),
      after: { ...routeKey(`/${i}`), note: 'x'.repeat(140_000) },
    }))
    const records = await recordsOf(...writes)
    expect(records.map(({ entries }) => entries.length)).toEqual([2, 2, 2, 2, 1])
    expect(new Set(records.map(({ sk }) => sk)).size).toBe(5)
    expect(withRecords(writes)).toHaveLength(14)
    expect(fitOneTransaction(withRecords(writes))).toBe(true)
    expect(fitOneTransaction(withRecords([...writes, ...writes]))).toBe(false)
  })

  it('of who is forgotten says nothing of them, and keeps the rest', async () => {
    const [record] = await recordsOf(
      { key: tierKey('free'), after: tier('free', { policies: [] }) },
      { key: clientKey('user:42'), after: { ...clientKey('user:42'), id: 'bob', tier: 'free' } },
    )
    const { entries } = withoutPerson({ ...record }, ({ item }) => item === 'client#bob')
    expect(entries).toEqual([record!.entries[0], { forgotten: true }])
    const [forgetting] = await trail()
      .forgetting()
      .recordsOf([{ key: clientKey('user:42'), before: { ...clientKey('user:42'), id: 'bob', tier: 'free' } }])
    expect(forgetting!.after).toMatchObject({ ...about, entries: [{ forgotten: true }] })
    expect(JSON.stringify(forgetting)).not.toMatch(/bob|42"/)
  })
})
