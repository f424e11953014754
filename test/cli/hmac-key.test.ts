import { ConfigTable } from '../../cli/tables/config-table'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { ringKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem, parseKeyRing } from '../../lambda/config-table/items/key-ring'
import type { SubjectKeys } from '../../lambda/config-table/subject-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { compile, distinct } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
import { connect } from '../../local/dynamodb'
import { documentsOf } from '../../provisioning/documents'
import { newRingKey } from '../../provisioning/make-key-ring'
import { ENGINES } from '../stores'
import { type Deployment, deploy, TIERS } from './command-line'

const MINUTE = 60_000
const DAY = 1440 * MINUTE

/** A day that begins with the first charge: no test runs into its end. */
const FREE = {
  ...TIERS[1],
  policies: [{ name: 'per-day', limit: 1000, window: '1d', algorithm: 'anchored-window' }],
} as const

describe.each(ENGINES)('the secret of a deployment, on %s', (engine) => {
  let at: Deployment
  let now: number
  beforeEach(async () => {
    at = await deploy(engine)
    now = Date.now()
    await at.put(TIERS[0], FREE, { pk: 'client#user:42', sk: 'client', id: 'acme', tier: 'free' })
  })
  afterEach(async () => at?.close())

  const sluice = (...args: string[]) => at.sluice(args, { now })
  const json = (...args: string[]) => at.json(args, { now })

  async function keys(): Promise<SubjectKeys> {
    const stored = await new ConfigTable(documentsOf(connect(at.endpoint)), LOCAL_TABLES.config).item(
      ringKey(HMAC_RING),
    )
    return parseKeyRing(HMAC_RING, stored?.item, [])
  }

  /** As an authorizer charges, at that moment. */
  async function charge(subject: string, units: number, ms = now): Promise<void> {
    const limiter = new RateLimiter({
      store: new DynamoDbStore({ client: at.client, tableName: LOCAL_TABLES.state }),
      clock: () => ms,
    })
    const policies = distinct(parsePolicies(FREE.policies, [], []).map((policy) => compile(policy)))
    const { allowed } = await limiter.decide([{ key: (await keys()).keyOf(subject, ms), policies, cost: units }])
    expect(allowed).toBe(true)
  }

  const used = async (subject = 'acme') => {
    const { policies } = await json('usage', subject)
    return policies.find((one: { policy: string }) => one.policy === 'per-day').used
  }

  it('is created once, becomes active when every instance knows it, and is never printed', async () => {
    expect(await sluice('hmac-key', 'status')).toMatchObject({
      code: 0,
      out: expect.stringContaining('without a secret'),
    })
    const early = new Date(now + 9 * MINUTE).toISOString()
    expect(await sluice('hmac-key', 'enable', '--at', early, '--yes')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/10 minutes after/),
    })
    expect(await keys()).toMatchObject({ keys: [] })
    expect((await sluice('hmac-key', 'enable')).code).toBe(1) // nobody to ask
    expect(await keys()).toMatchObject({ keys: [] })

    const said = [
      await sluice('hmac-key', 'enable', '--yes'),
      await sluice('hmac-key', 'status'),
      await sluice('hmac-key', 'status', '--json'),
    ]
    const [key] = (await keys()).keys
    expect(key!.activeFrom).toBe(now + 15 * MINUTE)
    for (const { code, out, err } of said) {
      expect(code).toBe(0)
      for (const form of ['base64', 'base64url', 'hex'] as const)
        expect(out + err).not.toContain(Buffer.from(key!.secret).toString(form).slice(0, 12))
    }
    expect(await sluice('hmac-key', 'enable', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('already has a secret'),
    })
    expect((await keys()).keys).toEqual([key])
  })

  it('is created once, even if two commands run at the same time', async () => {
    const codes = await Promise.all([1, 2, 3].map(async () => (await sluice('hmac-key', 'enable', '--yes')).code))
    expect(codes.sort()).toEqual([0, 1, 1])
    expect((await keys()).keys).toHaveLength(1)
  })

  it('keeps all copied counters exactly, and loses only charges between copy and activation', async () => {
    await charge('client:acme', 7)
    await charge('client:other', 3)
    await sluice('hmac-key', 'enable', '--yes')
    now += 15 * MINUTE - 30_000
    expect(await json('hmac-key', 'carry')).toEqual({ copied: 2, kept: 0, expired: 0 })
    await charge('client:other', 2)
    now += 30_000 - 1
    expect([await used(), await usedOf('client:other')]).toEqual([7, 5])
    now += 1
    expect(await used()).toBe(7)
    expect(await usedOf('client:other')).toBe(3)
    await charge('client:acme', 1)
    expect(await used()).toBe(8)
  })

  const usedOf = async (subject: string) => {
    const { policies } = await json('usage', subject, '--tier', 'free')
    return policies.find((one: { policy: string }) => one.policy === 'per-day').used
  }

  it('starts callers that were not copied at zero; a late or second copy changes no existing counter', async () => {
    await charge('client:acme', 7)
    await charge('client:idle', 5)
    await sluice('hmac-key', 'enable', '--yes')
    now += 15 * MINUTE
    expect(await used()).toBe(0)
    await charge('client:acme', 1)
    expect(await json('hmac-key', 'carry')).toEqual({ copied: 1, kept: 1, expired: 0 })
    expect([await used(), await usedOf('client:idle')]).toEqual([1, 5])
    await charge('client:idle', 1)
    expect(await json('hmac-key', 'carry')).toEqual({ copied: 0, kept: 2, expired: 0 })
    expect(await usedOf('client:idle')).toBe(6)
  })

  it('does not copy expired items', async () => {
    await charge('client:acme', 1)
    await sluice('hmac-key', 'enable', '--yes')
    now += 10 * DAY
    expect(await json('hmac-key', 'carry')).toEqual({ copied: 0, kept: 0, expired: 1 })
  })

  it('refunds units once, under the key that counts', async () => {
    await charge('client:acme', 7)
    const before = new Date(now).toISOString()
    await sluice('hmac-key', 'enable', '--yes')
    now += 15 * MINUTE
    await charge('client:acme', 4)
    await json('refund', 'acme', '3', '--charged-at', before) // from where it was charged, which counts no more
    expect(await used()).toBe(4)
    await json('refund', 'acme', '3')
    expect(await used()).toBe(1)
  })

  it('refunds units after a copy under the new key', async () => {
    await charge('client:acme', 7)
    const before = new Date(now).toISOString()
    await sluice('hmac-key', 'enable', '--yes')
    now += 15 * MINUTE - 1000
    await json('hmac-key', 'carry')
    now += 1000
    await json('refund', 'acme', '3', '--charged-at', before)
    expect(await used()).toBe(4)
  })

  it('keeps a reset made after the copy', async () => {
    await charge('client:acme', 7)
    await sluice('hmac-key', 'enable', '--yes')
    now += 15 * MINUTE - 1000
    await json('hmac-key', 'carry')
    await json('reset', 'acme')
    expect(await used()).toBe(0)
    now += 1000
    expect(await used()).toBe(0)
  })

  it('purges state without a secret once no instance uses it', async () => {
    await charge('client:acme', 7)
    await charge('client:other', 3)
    expect(await sluice('hmac-key', 'purge', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no secret'),
    })
    await sluice('hmac-key', 'enable', '--yes')
    now += 15 * MINUTE
    await json('hmac-key', 'carry')
    expect(await sluice('hmac-key', 'purge', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('wait until'),
    })
    now += 10 * MINUTE
    expect(await json('hmac-key', 'purge', '--yes')).toEqual({ deleted: 2 })
    expect(await json('hmac-key', 'purge', '--yes')).toEqual({ deleted: 0 })
    expect(await used()).toBe(7)
  })

  it('can be rotated: counters then start at zero, and a second rotation waits for the first', async () => {
    expect(await sluice('hmac-key', 'rotate', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no secret yet'),
    })
    await sluice('hmac-key', 'enable', '--yes')
    expect(await sluice('hmac-key', 'rotate', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('wait until then'),
    })
    await at.put(keyRingItem(HMAC_RING, [newRingKey(0)]))
    await charge('client:acme', 7)
    expect((await sluice('hmac-key', 'rotate', '--at', '20m', '--yes')).code).toBe(0)
    expect(await used()).toBe(7)
    now += 20 * MINUTE
    expect(await used()).toBe(0)
    expect((await json('hmac-key', 'status')).keys.map(({ state }: { state: string }) => state)).toEqual([
      'former',
      'active',
    ])
    expect(await sluice('hmac-key', 'carry')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the first secret only'),
    })
  })

  it('that is invalid stops every command that reads counters', async () => {
    await at.put({ ...ringKey(HMAC_RING), keys: [] })
    for (const args of [
      ['usage', 'acme'],
      ['reset', 'acme'],
      ['refund', 'acme', '1'],
      ['forget', 'acme', '--yes'],
      ['hmac-key', 'status'],
    ])
      expect(await sluice(...args)).toMatchObject({
        code: 1,
        err: expect.stringContaining('the HMAC key in the config table is invalid'),
      })
  })

  it('that is active from the beginning has no counters to copy to it, and stays as it is', async () => {
    await at.put(keyRingItem(HMAC_RING, [newRingKey(0)]))
    const before = await keys()
    expect(await sluice('hmac-key', 'carry')).toEqual({
      code: 1,
      out: '',
      err: 'the secret is active from the beginning, so no counter is stored without one: there is nothing to copy\n',
    })
    expect(await keys()).toEqual(before)
  })

  it.each(['enable', 'rotate'])('can be active 10 minutes after it is written, and no sooner: %s', async (command) => {
    if (command === 'rotate') await at.put(keyRingItem(HMAC_RING, [newRingKey(0)]))
    expect(await sluice('hmac-key', command, '--at', '599s', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('10 minutes after it is written'),
    })
    expect(await sluice('hmac-key', command, '--at', '10m', '--yes')).toMatchObject({ code: 0 })
  })

  it('is awaited by hmac-key carry until shortly before activation', async () => {
    await charge('client:acme', 7)
    const soon = Date.now() + 1500
    await at.put(keyRingItem(HMAC_RING, [newRingKey(soon)]))
    const startedAt = Date.now()
    expect(await at.json(['hmac-key', 'carry', '--lead', '1s'])).toEqual({ copied: 1, kept: 0, expired: 0 })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(400)
    expect((await keys()).keys[0]!.carriedFrom).toBeGreaterThanOrEqual(soon - 1000)
  })
})
