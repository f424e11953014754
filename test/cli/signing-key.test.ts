import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { clientKey, ringKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem, MAX_RING_KEYS, parseKeyRing } from '../../lambda/config-table/items/key-ring'
import { SIGNING_RING, type SigningKeys, signingKeyId } from '../../lambda/config-table/items/signing-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { connect } from '../../local/dynamodb'
import { documentsOf, readPartition } from '../../provisioning/documents'
import { newRingKey } from '../../provisioning/make-key-ring'
import { ENGINES } from '../stores'
import { type Deployment, deploy, TIERS } from './command-line'

const MINUTE = 60_000

describe.each([...new Set([...ENGINES, 'dynalite' as const])])('signing keys on %s', (engine) => {
  let at: Deployment
  let now: number
  beforeEach(async () => {
    at = await deploy(engine)
    now = Date.now()
    await at.put(...TIERS)
  })
  afterEach(async () => at?.close())

  const sluice = (...args: string[]) => at.sluice(args, { now })
  const json = (...args: string[]) => at.json(args, { now })
  const items = async (pk: string) =>
    (await readPartition(documentsOf(connect(at.endpoint)), LOCAL_TABLES.config, pk)).map(({ item }) => item)

  async function ring(): Promise<SigningKeys> {
    const item = (await items(SIGNING_RING.name)).find(({ sk }) => sk === SIGNING_RING.name)
    return parseKeyRing(SIGNING_RING, item, [])
  }
  /** The partition keys of the API keys that are noted as signed. */
  const noted = async () => (await items(SIGNING_RING.name)).flatMap(({ sk }) => (sk === SIGNING_RING.name ? [] : [sk]))
  const create = (id: string) => json('clients', 'create', id, '--tier', 'free')

  it('begin with the first client, with one, however many are created at the same time, and no secret is printed', async () => {
    expect(await sluice('signing-key', 'status')).toMatchObject({
      code: 0,
      err: expect.stringContaining('no signing key yet'),
    })
    const said = await Promise.all(
      ['a', 'b', 'c', 'd'].map((id) => sluice('clients', 'create', id, '--tier', 'free', '--json')),
    )
    const clients = said.map(({ out }) => JSON.parse(out))
    const { keys } = await ring()
    expect(keys).toHaveLength(1)
    for (const { apiKey, signedBy } of clients) {
      expect((await ring()).provenanceOf(apiKey)).toBe('signed')
      expect(signedBy).toBe(signingKeyId(keys[0]!))
    }
    said.push(await sluice('signing-key', 'status'), await sluice('signing-key', 'status', '--json'))
    said.push(await sluice('signing-key', 'rotate', '--yes'), await sluice('history', '--json'), await sluice('doctor'))
    for (const { keys } of [await ring()])
      for (const { secret } of keys)
        for (const form of ['base64', 'base64url', 'hex'] as const)
          expect(JSON.stringify(said)).not.toContain(Buffer.from(secret).toString(form).slice(0, 12))
    expect(await json('signing-key', 'status')).toEqual({
      keys: [
        { state: 'active', activeFrom: '1970-01-01T00:00:00Z', id: clients[0].signedBy, apiKeys: 4 },
        expect.objectContaining({ state: 'to come', apiKeys: 0 }),
      ],
    })
  })

  it('leave the record of a client as the release before reads it', async () => {
    const { apiKey } = await create('acme')
    const key = clientKey(hashApiKey(apiKey))
    expect(await items(key.pk)).toEqual([{ ...key, id: 'acme', tier: 'free' }])
  })

  it('are shown beside each API key, and those without one are unsigned', async () => {
    const { signedBy } = await create('acme')
    await at.put(
      { ...clientKey(hashApiKey('brought')), id: 'old', tier: 'free' },
      { ...clientKey('api-gateway-key:a1'), id: 'gate', tier: 'free' },
    )
    const list = await json('clients', 'list')
    expect(list.map(({ id, signedBy }: Record<string, unknown>) => [id, signedBy])).toEqual([
      ['acme', signedBy],
      ['gate', undefined],
      ['old', null],
    ])
    const { out } = await sluice('clients', 'list')
    expect(out).toMatch(new RegExp(`^acme .*signed \\(${signedBy}\\) +active$`, 'm'))
    expect(out).toMatch(/^old .*unsigned +active$/m)
    expect((await json('clients', 'get', 'acme')).credentials).toEqual([expect.objectContaining({ signedBy })])
    expect((await sluice('clients', 'get', 'old')).out).toMatch(/key \w{12} {2}unsigned {2}active/)
    const rotated = await json('clients', 'rotate-key', 'old')
    expect(rotated.signedBy).toBe(signedBy)
    expect((await sluice('clients', 'get', 'old')).out).toContain(`signed (${signedBy})`)
  })

  it('turn over without ending an API key, and new ones are signed with the new one from its moment on', async () => {
    const first = await create('acme')
    expect(await sluice('signing-key', 'rotate', '--at', '9m', '--yes')).toMatchObject({ code: 1 })
    now += 400 // within a second, to which times are rounded
    await json('signing-key', 'rotate', '--at', '10m', '--yes')
    expect((await create('early')).signedBy).toBe(first.signedBy)
    expect(await sluice('signing-key', 'rotate', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('wait until then'),
    })
    now += 15 * MINUTE
    const late = await create('late')
    expect(late.signedBy).not.toBe(first.signedBy)
    for (const { apiKey } of [first, late]) expect((await ring()).provenanceOf(apiKey)).toBe('signed')
  })

  it('are removed when the last API key that they have signed is gone, and whose there still are is said', async () => {
    const { signedBy: old } = await create('acme')
    await create('beta')
    await create('gone')
    const remove = (id = old) => sluice('signing-key', 'remove', id, '--yes')
    expect(await remove()).toMatchObject({ code: 1, err: expect.stringContaining('signs new API keys') })
    expect(await remove('0123456789')).toEqual({
      code: 1,
      out: '',
      err: `there is no signing key "0123456789": known are ${old}\n`,
    })
    await json('signing-key', 'rotate', '--yes')
    now += 15 * MINUTE
    await json('clients', 'delete', 'gone', '--yes')
    expect(await remove()).toEqual({
      code: 1,
      out: '',
      err: '2 API keys in use are signed with it, of "acme", "beta": replace them with sluice clients rotate-key\n',
    })
    await json('clients', 'rotate-key', 'acme')
    await json('clients', 'rotate-key', 'beta', '--grace', '1h')
    expect((await remove()).err).toContain('1 API key in use is signed with it, of "beta"')
    now += 60 * MINUTE
    expect((await sluice('signing-key', 'remove', old)).code).toBe(1) // nobody to ask
    expect(await remove()).toMatchObject({ code: 0, out: `signing key ${old} is removed\n` })
    expect((await ring()).keys.map(signingKeyId)).toEqual([(await create('new')).signedBy])
    expect(await noted()).toHaveLength(3) // of acme, beta and new
    expect((await sluice('clients', 'get', 'beta')).out).toMatch(/unsigned {2}expired/)
  })

  it('are as many as a ring holds, and none is dropped for a new one', async () => {
    await at.put(
      keyRingItem(
        SIGNING_RING,
        Array.from({ length: MAX_RING_KEYS }, (_, i) => newRingKey(i)),
      ),
    )
    expect(await sluice('signing-key', 'rotate', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('remove one with sluice signing-key remove'),
    })
    expect((await ring()).keys).toHaveLength(MAX_RING_KEYS)
  })

  it('make no API key while their item is invalid, and doctor says so', async () => {
    await at.put({ ...ringKey(SIGNING_RING), keys: [] })
    expect(await sluice('clients', 'create', 'acme', '--tier', 'free')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the signing key in the config table is invalid, so no API key can be signed'),
    })
    expect((await sluice('doctor')).out).toMatch(/FAILED +signing key/)
    expect((await sluice('clients', 'create', 'gate', '--tier', 'free', '--user', '42')).code).toBe(0)
  })

  it('leave nothing about an API key behind that is deleted or forgotten', async () => {
    await create('deleted')
    await create('forgotten')
    await create('kept')
    await json('clients', 'delete', 'deleted', '--yes')
    await json('forget', 'forgotten', '--yes')
    expect(await noted()).toEqual([expect.stringMatching(/^client#[0-9a-f]{64}$/)])
  })

  it('have signed no API key in use whose record the release before has deleted', async () => {
    const { signedBy } = await create('acme')
    await at.put({ pk: SIGNING_RING.name, sk: `client#${'0'.repeat(64)}`, signedBy })
    expect((await json('signing-key', 'status')).keys).toMatchObject([{ id: signedBy, apiKeys: 1 }])
  })

  it('are in the audit trail by their times only', async () => {
    await create('acme')
    now += 1000
    await json('signing-key', 'rotate', '--yes')
    const { changes } = await json('history', '--item', 'signing-key')
    expect(changes).toHaveLength(2)
    expect(changes[0].entries).toEqual([
      expect.objectContaining({
        item: 'signing-key',
        hidden: ['key'],
        before: { keys: [{ activeFrom: 0 }] },
        after: { keys: [{ activeFrom: 0 }, { activeFrom: now + 15 * MINUTE }] },
      }),
    ])
    const { changes: all, unrecorded } = await json('history')
    expect(JSON.stringify([all, unrecorded])).not.toContain('signedBy')
  })
})
