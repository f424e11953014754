import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashApiKey } from '../../lambda/identity/api-key'
import { ENGINES } from '../stores'
import { type Deployment, deploy, TIERS } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')

describe.each(ENGINES)('clients on %s', (engine) => {
  let at: Deployment
  beforeAll(async () => {
    at = await deploy(engine)
    await at.put(...TIERS)
  })
  afterAll(async () => at?.close())

  /** The client's records, by the beginning of what stands for their credential. */
  const credentials = async (id: string): Promise<string[]> =>
    (await at.json(['clients', 'get', id], { now: NOW })).credentials
      .map((one: { credential: string }) => one.credential)
      .sort()
  const known = (apiKey: string) => `key ${hashApiKey(apiKey).slice(0, 12)}`

  it('are created with a key that is printed once, alone on standard output, and stored as a hash', async () => {
    const { code, out, err } = await at.sluice(['clients', 'create', 'acme', '--tier', 'pro', '--name', 'Acme'])
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('client "acme" is created, tier "pro"') })
    expect(out).toMatch(/^slcs_[0-9a-f]{10}_[\w-]{44}\n$/)
    expect(err).not.toContain(out.trim())
    const shown = await at.sluice(['clients', 'get', 'acme'])
    expect(shown.out).toContain(known(out.trim()))
    expect(shown.out).not.toContain(out.trim())
    expect(await credentials('acme')).toEqual([known(out.trim())])
  })

  it('cannot be created twice, but can get another key', async () => {
    const { apiKey } = await at.json(['clients', 'create', 'twice', '--tier', 'free', '--override', 'per-minute=90'])
    expect(await at.sluice(['clients', 'create', 'twice', '--tier', 'free'])).toEqual({
      code: 1,
      out: '',
      err: 'client "twice" exists: add a key with sluice clients create twice --another-key\n',
    })
    const more = await at.json(['clients', 'create', 'twice', '--another-key'])
    expect(more).toEqual({ id: 'twice', tier: 'free', apiKey: expect.any(String), signedBy: more.apiKey.split('_')[1] })
    expect(await credentials('twice')).toEqual([known(apiKey), known(more.apiKey)].sort())
    expect(await at.json(['clients', 'get', 'twice'])).toMatchObject({ overrides: { 'per-minute': { limit: 90 } } })
  })

  it('cannot have overrides that are invalid for their tier', async () => {
    const create = ['clients', 'create', 'bursting', '--tier', 'free', '--override']
    const { code, err } = await at.sluice([...create, 'per-minute=90:10'])
    expect([code, err]).toEqual([1, expect.stringContaining('burst does not apply to algorithm "sliding-window"')])
    await at.json([...create, 'per-minute=90'])
    expect(await at.sluice(['clients', 'set', 'bursting', '--override', 'per-minute=90:10'])).toMatchObject({ code: 1 })
  })

  it('can have other kinds of credentials; a credential belongs to one client', async () => {
    expect(await at.json(['clients', 'create', 'gate', '--tier', 'pro', '--api-gateway-key', 'a1b2'])).toEqual({
      id: 'gate',
      tier: 'pro',
    })
    await at.json(['clients', 'create', 'gate', '--another-key', '--user', '42'])
    await at.json(['clients', 'create', 'gate', '--another-key', '--certificate', `${'AB:'.repeat(31)}CD`])
    expect(await credentials('gate')).toEqual([
      'api-gateway-key:a1b2',
      `client-certificate:${'ab'.repeat(31)}cd`,
      'user:42',
    ])
    const again = await at.sluice(['clients', 'create', 'other', '--tier', 'pro', '--api-gateway-key', 'a1b2'])
    expect(again).toEqual({ code: 1, out: '', err: 'another client already uses this api-gateway-key\n' })
  })

  it.each([
    [['create', 'x'], '--tier is missing: the client needs a tier\n'],
    [['create', 'x', '--tier', 'gold'], 'there is no tier "gold": known are anonymous, free, pro\n'],
    [['create', 'x', '--another-key'], 'there is no client "x": omit --another-key\n'],
    [
      ['create', 'x', '--another-key', '--tier', 'pro'],
      '--tier cannot be used with --another-key: change it for all keys with sluice clients set\n',
    ],
    [
      ['create', 'x', '--user', '1', '--certificate', '2'],
      'give one credential at a time: add others with --another-key\n',
    ],
    [
      ['create', 'x', '--tier', 'pro', '--override', 'a=0'],
      '--override must be a policy and its limit such as "per-minute=600", "per-second=10:20" or "per-minute=2x", got "a=0"\n',
    ],
    [
      ['create', 'x', '--tier', 'pro', '--override', 'per-minutes=5'],
      '--override "per-minutes" is not a policy of tier "pro", did you mean "per-minute"?\n',
    ],
    [['create', 'x', '--tier', 'pro', '--until', '30d'], '--until needs --override: it is the end of an override\n'],
    [
      ['create', 'x', '--tier', 'pro', '--override', 'per-minute=5', '--timezone', 'Europe/Berlin'],
      '--timezone needs --until: it is the time zone of its days\n',
    ],
    [
      ['create', 'x', '--tier', 'pro', '--override', 'per-minute=5', '--override', 'per-minute=6'],
      '--override "per-minute" is given twice: give one\n',
    ],
    [
      ['create', 'x', '--tier', 'pro', '--override', 'per-minute=5', '--until', 'someday'],
      '--until must be a time such as "2027-01-31T12:00:00Z", a duration such as "30d", a date or a weekday, got "someday"\n',
    ],
    [
      ['create', 'x', '--tier', 'pro', '--override', 'per-minute=5', '--until', '2020-01-01'],
      '--until "2020-01-01" is in the past: it was at 2020-01-02T00:00:00Z\n',
    ],
    [
      ['create', 'x', '--tier', 'pro', '--expires', 'soon'],
      '--expires must be a duration such as "24h" or a time such as "2027-01-31T00:00:00Z", got "soon"\n',
    ],
    [['get', 'x'], 'there is no client "x": list them with sluice clients list\n'],
    [
      ['set', 'x'],
      'give what to change: --tier, --name, --notes, --override, --no-overrides, --expires, --enable or --usage-identifier-key\n',
    ],
    [['rotate-key', 'x'], 'there is no client "x": list them with sluice clients list\n'],
    [['delete', 'x', '--yes'], 'there is no client "x": list them with sluice clients list\n'],
  ])('%j is rejected with one line', async (args, err) => {
    expect(await at.sluice(['clients', ...args])).toEqual({ code: 1, out: '', err })
  })

  it('have an API Gateway key for usage plans that is read from standard input, and that nothing shows', async () => {
    const secret = 'wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLEKEY'
    await at.json(['clients', 'create', 'metered', '--tier', 'free'])
    const set = (from: string, typed?: string) =>
      at.sluice(['clients', 'set', 'metered', '--usage-identifier-key', from], { typed })
    const said = [await set('-', `${secret}\n`), await set('-', `${secret} ${secret}\n`), await set(secret)]
    expect(said.map(({ code }) => code)).toEqual([0, 1, 1])
    const shown = `key ${hashApiKey(secret).slice(0, 12)}`
    expect(await at.json(['clients', 'get', 'metered'])).toMatchObject({ usageIdentifierKey: shown })
    for (const args of [['get', 'metered'], ['get', 'metered', '--json'], ['list'], ['list', '--json']])
      said.push(await at.sluice(['clients', ...args]))
    expect(said[3]!.out).toContain(`usage key   ${shown}`)
    expect(JSON.stringify(said)).not.toContain(secret)
    await set('shown')
    expect(await at.json(['clients', 'get', 'metered'])).toMatchObject({ usageIdentifierKey: true })
    await set('none')
    expect(await at.json(['clients', 'get', 'metered'])).not.toHaveProperty('usageIdentifierKey')
  })

  it('are shown as blocked or exempt, and with a tier that is gone', async () => {
    await at.json(['clients', 'create', 'bad', '--tier', 'free'])
    await at.json(['clients', 'create', 'good', '--tier', 'free'])
    await at.json(['block', 'add', 'client:bad', '--note', 'scraper'])
    await at.json(['block', 'add', 'client:good', '--allow', '--yes'])
    await at.put({ pk: `client#${'e'.repeat(64)}`, sk: 'client', id: 'lost', tier: 'gold' })
    const { out } = await at.sluice(['clients', 'list'], { now: NOW })
    for (const row of [/^bad .* blocked, active$/m, /^good .* exempt, active$/m, /^lost +gold \(gone\)/m])
      expect(out.replaceAll(/ +$/gm, '')).toMatch(row)
    const get = async (id: string) => (await at.sluice(['clients', 'get', id], { now: NOW })).out
    expect(await get('bad')).toMatch(/^list +blocked by client:bad without an end, note "scraper"$/m)
    expect(await get('lost')).toMatch(/^tier +gold, which does not exist$/m)
    expect(await at.json(['clients', 'get', 'good'])).toMatchObject({ entry: { list: 'allow', who: 'client:good' } })
    expect(await at.json(['clients', 'get', 'lost'])).toMatchObject({ isTierGone: true })
    await at.json(['block', 'remove', 'client:bad', '--yes'])
    await at.json(['block', 'remove', 'client:good', '--allow', '--yes'])
    await at.json(['clients', 'delete', 'lost', '--yes'])
  })

  it('are changed in all their records; fields without an option stay', async () => {
    await at.json(['clients', 'create', 'change', '--tier', 'free', '--name', 'Old', '--override', 'per-day=1'])
    await at.json(['clients', 'create', 'change', '--another-key'])
    const change = (...args: string[]) => at.json(['clients', 'set', 'change', ...args], { now: NOW })
    const moved = ['--tier', 'pro', '--override', 'per-minute=2', '--expires', '24h']
    expect((await at.sluice(['clients', 'set', 'change', ...moved], { typed: 'n\n' })).err).toContain(
      'Move client "change" to tier "pro", without per-day? [y/N] ',
    )
    await change(...moved, '--yes')
    const all = (await at.json(['clients', 'list'])).filter(({ id }: { id: string }) => id === 'change')
    expect(all).toHaveLength(2)
    for (const one of all) {
      expect(one).toMatchObject({
        tier: 'pro',
        name: 'Old',
        overrides: { 'per-day': { limit: 1 }, 'per-minute': { limit: 2 } },
        expiresAt: '2026-11-22T12:00:00Z',
      })
    }
    await change('--name', '', '--no-overrides', '--expires', 'never')
    const { credentials: _, ...fields } = await at.json(['clients', 'get', 'change'])
    expect(fields).toEqual({ id: 'change', tier: 'pro' })
  })

  it('that are changed are shown with the ends of their overrides, and an end that is lost is named', async () => {
    await at.json(['clients', 'create', 'raised', '--tier', 'pro'])
    const set = async (...more: string[]) =>
      (await at.sluice(['clients', 'set', 'raised', ...more], { now: NOW })).out.trimEnd()
    expect(await set('--override', 'per-minute=2x', '--until', 'friday')).toBe(
      'client "raised" is changed, its overrides are now per-minute 2x until 2026-11-28T00:00:00Z',
    )
    expect(await set('--override', 'per-minute=3x')).toBe(
      'client "raised" is changed, its overrides are now per-minute 3x; the end of per-minute is removed: give --until for another',
    )
    expect(await set('--no-overrides')).toBe('client "raised" is changed, its overrides are now none')
    expect(await set('--name', 'R')).toBe('client "raised" is changed')
  })

  it('whose override names no policy of their tier are warned of by clients get, doctor, and what takes the policy away', async () => {
    await at.json(['clients', 'create', 'bereft', '--tier', 'pro', '--override', 'per-minute=2x'])
    const file = { pk: 'policy-set', sk: 'tier#pro', policies: [{ name: 'per-min', limit: 600, window: '1m' }] }
    const before = (await at.sluice(['clients', 'get', 'bereft'])).out
    expect(before).not.toContain('warning')
    const renamed = JSON.stringify({ tiers: { pro: { policies: file.policies } } })
    const sentence = /overrides of "per-minute" change nothing, because tier "pro" has no such policy: .*bereft/
    const anonymous = { by: 'ip', policies: [] }
    const path = join(mkdtempSync(join(tmpdir(), 'sluice-clients-')), 'tiers.json')
    writeFileSync(path, JSON.stringify({ tiers: { ...JSON.parse(renamed).tiers, anonymous } }))
    expect((await at.sluice(['tiers', 'diff', path])).err).toMatch(sentence)
    expect((await at.json(['tiers', 'diff', path])).warnings).toEqual([expect.stringMatching(sentence)])
    await at.put(file)
    expect((await at.sluice(['clients', 'get', 'bereft'])).out).toContain(
      'override "per-minute" names no policy of tier "pro"',
    )
    const { checks } = JSON.parse((await at.sluice(['doctor', '--json'])).out)
    expect(checks.find(({ name }: { name: string }) => name === 'clients')).toMatchObject({
      status: 'warning',
      found: expect.stringMatching(sentence),
    })
    await at.put(...TIERS)
    await at.sluice(['clients', 'delete', 'bereft', '--yes'])
  })

  it('can have overrides until the end of a day, and clients get shows when they end', async () => {
    await at.json(['clients', 'create', 'twice-as-much', '--tier', 'pro'])
    const set = [
      'clients',
      'set',
      'twice-as-much',
      '--override',
      'per-minute=2x',
      '--until',
      'friday',
      '--timezone',
      'Europe/Berlin',
    ]
    expect(await at.sluice(set, { now: NOW })).toMatchObject({ code: 0 })
    const shown = async (now: number) => (await at.sluice(['clients', 'get', 'twice-as-much'], { now })).out
    expect(await shown(NOW)).toMatch(
      /^overrides +per-minute 2x until 2026-11-27T23:00:00Z\nafterwards +per-minute 600 from 2026-11-27T23:00:00Z on$/m,
    )
    const end = Date.parse('2026-11-27T23:00:00Z')
    const limit = async (now: number) => (await at.json(['usage', 'twice-as-much'], { now })).policies[0].limit
    expect([await limit(end - 1), await limit(end)]).toEqual([1200, 600])
    expect(await shown(end)).toMatch(/^overrides +per-minute 2x, ended at 2026-11-27T23:00:00Z$/m)
  })

  it('can be disabled and enabled again, and clients list shows it', async () => {
    await at.json(['clients', 'create', 'off', '--tier', 'free'])
    await at.json(['clients', 'disable', 'off'])
    expect((await at.sluice(['clients', 'list', '--tier', 'free'])).out).toMatch(
      /^off +free +key \w{12} +signed \(\w{10}\) +disabled$/m,
    )
    expect(await at.sluice(['clients', 'set', 'off', '--enable'])).toEqual({
      ...{ code: 1, out: '' },
      err: 'nothing was written: no terminal for the question, use --yes\n',
    })
    await at.json(['clients', 'set', 'off', '--enable', '--yes'])
    await at.json(['clients', 'set', 'off', '--tier', 'free', '--enable']) // takes nothing away
    expect((await at.sluice(['clients', 'list', '--tier', 'free'])).out).toMatch(
      /^off +free +key \w{12} +signed \(\w{10}\) +active$/m,
    )
  })

  it('get a new key; the old one is deleted at once or after its grace period', async () => {
    const first = (await at.json(['clients', 'create', 'turn', '--tier', 'pro'])).apiKey
    const second = (await at.json(['clients', 'rotate-key', 'turn'])).apiKey
    expect(await credentials('turn')).toEqual([known(second)])
    expect(second).not.toBe(first)

    const third = await at.json(['clients', 'rotate-key', 'turn', '--grace', '24h'], { now: NOW })
    expect(third.oldKeyExpiresAt).toBe('2026-11-22T12:00:00Z')
    expect(await credentials('turn')).toEqual([known(second), known(third.apiKey)].sort())
    const { out } = await at.sluice(['clients', 'get', 'turn'], { now: NOW })
    expect(out).toContain(`${known(second)}  signed (${third.signedBy})  until 2026-11-22T12:00:00Z`)
    expect(out).toContain(`${known(third.apiKey)}  signed (${third.signedBy})  active`)

    // The key in its grace is not meant when the next is asked for.
    const fourth = (await at.json(['clients', 'rotate-key', 'turn'], { now: NOW })).apiKey
    expect(await credentials('turn')).toEqual([known(second), known(fourth)].sort())
  })

  it('do not extend the grace period of an old key when the client’s expiry changes', async () => {
    await at.json(['clients', 'create', 'grace', '--tier', 'pro'])
    await at.json(['clients', 'rotate-key', 'grace', '--grace', '24h'], { now: NOW })
    const ends = async (): Promise<(string | null)[]> =>
      (await at.json(['clients', 'get', 'grace'])).credentials
        .map((one: { expiresAt: string | null }) => one.expiresAt)
        .sort()
    const set = (expires: string) => at.json(['clients', 'set', 'grace', '--expires', expires], { now: NOW })
    await set('30d')
    expect(await ends()).toEqual(['2026-11-22T12:00:00Z', '2026-12-21T12:00:00Z'])
    await set('never')
    expect(await ends()).toEqual(['2026-11-22T12:00:00Z', null])
    await set('1h')
    expect(await ends()).toEqual(['2026-11-21T13:00:00Z', '2026-11-21T13:00:00Z'])
  })

  it('with several keys must name the one to rotate', async () => {
    const { apiKey } = await at.json(['clients', 'create', 'many', '--tier', 'pro'])
    const other = (await at.json(['clients', 'create', 'many', '--another-key'])).apiKey
    const { code, err } = await at.sluice(['clients', 'rotate-key', 'many'])
    expect([code, err]).toEqual([1, expect.stringContaining('choose a key of client "many" with --key')])
    const fresh = (await at.json(['clients', 'rotate-key', 'many', '--key', hashApiKey(apiKey).slice(0, 12)])).apiKey
    expect(await credentials('many')).toEqual([known(other), known(fresh)].sort())
  })

  it('are deleted after a confirmation, which needs a terminal or --yes', async () => {
    await at.json(['clients', 'create', 'gone', '--tier', 'pro'])
    const nobody = await at.sluice(['clients', 'delete', 'gone'])
    expect(nobody).toEqual({
      code: 1,
      out: '',
      err: 'nothing was written: no terminal for the question, use --yes\n',
    })
    const no = await at.sluice(['clients', 'delete', 'gone'], { typed: 'n\n' })
    expect([no.code, no.err]).toEqual([
      1,
      expect.stringMatching(
        /^table sluice-config at http:\S+: Delete client "gone", identified by key \w{12}\? \[y\/N\] nothing was written\n$/,
      ),
    ])
    expect(await credentials('gone')).toHaveLength(1)
    expect((await at.sluice(['clients', 'delete', 'gone'], { typed: 'y\n' })).code).toBe(0)
    expect((await at.sluice(['clients', 'get', 'gone'])).code).toBe(1)
  })
})
