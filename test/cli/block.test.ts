import fc from 'fast-check'
import { entryKey, entryOf } from '../../cli/callers/block-entries'
import { type Deployment, deploy, TIERS } from './command-line'

const binary = (ipv4: string) =>
  ipv4
    .split('.')
    .map((byte) => Number(byte).toString(2).padStart(8, '0'))
    .join('')
const ipv4Of = (bits: string) =>
  bits
    .match(/.{8}/g)!
    .map((byte) => Number.parseInt(byte, 2))
    .join('.')

describe('an entry', () => {
  it.each([
    ['203.0.113.7', 'block#ip#203.0.113.7'],
    ['203.0.113.0/24', 'block#ip#203.0.113.0/24'],
    ['128.0.0.0/1', 'block#ip#128.0.0.0/1'],
    ['203.0.113.7/32', 'block#ip#203.0.113.7/32'],
    ['ip:::ffff:1.2.3.4', 'block#ip#1.2.3.4'],
    ['2001:DB8:0::1', 'block#ip#2001:db8::1'],
    ['2001:DB8:8000::0/33', 'block#ip#2001:db8:8000::/33'],
    ['client:acme', 'block#client#acme'],
    ['acme', 'block#client#acme'],
    ['client:1.2.3.4', 'block#client#1.2.3.4'],
    ['client:ip:x', 'block#client#ip:x'],
  ])('%s is %s', (text, sk) => {
    expect(entryKey('block', text)).toEqual({ pk: 'policy-set', sk })
  })

  it.each(['1.2.3', '1.2.3.4/33', '::1/129', 'ip:acme', 'acme/24', '::ffff:1.2.3.4/24', 'ip:', '1:2:3'])(
    '%s is not an address',
    (text) => {
      expect(() => entryKey('block', text)).toThrow('an address must look like')
    },
  )

  it.each(['1.2.3.4/0', '0.0.0.0/0', '::/0'])('%s is refused, because it is every address', (text) => {
    expect(() => entryKey('block', text)).toThrow(`"${text}" covers every address, which an entry cannot do`)
  })

  it.each([
    [
      '203.0.113.7/24',
      '203.0.113.7/24 is not a network: use 203.0.113.0/24 for the network, or 203.0.113.7 for one address',
    ],
    ['2001:db8:ffff::1/33', '2001:db8:ffff::1/33 is not a network: use 2001:db8:8000::/33 for the network'],
  ])('%s is refused as ambiguous', (text, sentence) => {
    expect(() => entryKey('block', text)).toThrow(sentence)
  })

  it('of an IPv4 network contains the address that it was made from', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 1, max: 32 }), (address, bits) => {
        const network = ipv4Of(binary(address).slice(0, bits).padEnd(32, '0'))
        const { sk } = entryKey('block', `${network}/${bits}`)
        const [first, prefix] = sk.slice('block#ip#'.length).split('/')
        expect(prefix).toBe(String(bits))
        expect(first).toBe(network)
        if (network !== address) expect(() => entryKey('block', `${address}/${bits}`)).toThrow(`${network}/${bits}`)
        expect(entryKey('block', entryOf(sk)!.who)).toEqual({ pk: 'policy-set', sk })
      }),
    )
  })
})

describe('the block list', () => {
  let at: Deployment
  beforeAll(async () => {
    at = await deploy()
    await at.put(...TIERS)
    for (const id of ['acme', 'again', 'ann']) await at.json(['clients', 'create', id, '--tier', 'free'])
    await at.json(['clients', 'create', 'ann', '--another-key', '--user', '42'])
  })
  afterAll(async () => at?.close())

  it('adds, lists and removes entries', async () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    expect(await at.sluice(['block', 'list'])).toEqual({ code: 0, out: '', err: 'no caller is blocked\n' })
    expect(
      (await at.sluice(['block', 'add', '203.0.113.0/24', '--note', 'scraper', '--expires', '1h'], { now })).out,
    ).toBe('ip:203.0.113.0/24 is blocked until 2026-11-21T13:00:00Z\n')
    await at.json(['block', 'add', 'acme'])
    await at.json(['block', 'add', '198.51.100.7', '--allow', '--yes'])
    await at.json(['block', 'add', 'client:acme', '--note', 'again']) // the same entry
    const expires = { note: 'scraper', expiresAt: '2026-11-21T13:00:00Z' }
    expect(await at.json(['block', 'list'], { now })).toEqual([
      { list: 'allow', who: 'ip:198.51.100.7', expired: false },
      { list: 'block', who: 'client:acme', note: 'again', expired: false },
      { list: 'block', who: 'ip:203.0.113.0/24', ...expires, expired: false },
    ])
    expect((await at.sluice(['block', 'list'], { now: now + 3_600_000 })).out).toContain(
      '2026-11-21T13:00:00Z (expired)',
    )

    expect((await at.sluice(['block', 'remove', '203.0.113.0/24', '--yes'])).out).toBe(
      'ip:203.0.113.0/24 was removed from the block list\n',
    )
    expect(await at.sluice(['block', 'remove', '198.51.100.7', '--yes'])).toEqual({
      code: 1,
      out: '',
      err: 'ip:198.51.100.7 is not on the block list: known are client:acme\n',
    })
    await at.json(['block', 'remove', '198.51.100.7', '--allow', '--yes'])
    expect((await at.json(['block', 'list'])).map(({ who }: { who: string }) => who)).toEqual(['client:acme'])
  })

  it('keeps note and expiry of an entry that is added again without them', async () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    const entry = async () =>
      (await at.json(['block', 'list'], { now })).find(({ who }: { who: string }) => who === 'client:again')
    await at.json(['block', 'add', 'client:again', '--note', 'scraper', '--expires', '1h'], { now })
    await at.json(['block', 'add', 'client:again'], { now })
    expect(await entry()).toMatchObject({ note: 'scraper', expiresAt: '2026-11-21T13:00:00Z' })
    expect((await at.sluice(['block', 'add', 'client:again', '--expires', '2h'], { now })).out).toContain(
      'until 2026-11-21T14:00:00Z',
    )
    expect(await entry()).toMatchObject({ note: 'scraper', expiresAt: '2026-11-21T14:00:00Z' })
    await at.json(['block', 'add', 'client:again', '--note', '', '--expires', 'never'], { now })
    expect(await entry()).toEqual({ list: 'block', who: 'client:again', expired: false })
    await at.json(['block', 'remove', 'client:again', '--yes'])
  })

  it('says what a repeated call kept and changed', async () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    const add = async (...args: string[]) => (await at.sluice(['block', 'add', '203.0.113.9', ...args], { now })).out
    expect(await add('--note', 'scraper', '--expires', '1h')).toBe(
      'ip:203.0.113.9 is blocked until 2026-11-21T13:00:00Z\n',
    )
    expect(await add()).toBe(
      'ip:203.0.113.9 is blocked until 2026-11-21T13:00:00Z; it was on the block list already: ' +
        'end kept, "2026-11-21T13:00:00Z"; note kept, "scraper"\n',
    )
    expect(await add('--expires', 'never', '--note', 'worse')).toBe(
      'ip:203.0.113.9 is blocked; it was on the block list already: ' +
        'end changed from "2026-11-21T13:00:00Z" to none; note changed from "scraper" to "worse"\n',
    )
    await at.json(['block', 'remove', '203.0.113.9', '--yes'])
  })

  it('refuses an end that is past, also one that an entry has already', async () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    const refused = await at.sluice(['block', 'add', '203.0.113.9', '--expires', '2026-11-20'], { now })
    expect([refused.code, refused.err]).toEqual([1, '--expires must be in the future, got "2026-11-20"\n'])
    await at.json(['block', 'add', '203.0.113.9', '--expires', '1h'], { now: now - 7_200_000 })
    const over = await at.sluice(['block', 'add', '203.0.113.9'], { now })
    expect([over.code, over.err]).toEqual([
      1,
      'ip:203.0.113.9 is on the block list, but only until 2026-11-21T11:00:00Z, which is past: give --expires, such as 24h or never\n',
    ])
    expect((await at.sluice(['block', 'add', '203.0.113.9', '--expires', '1h'], { now })).code).toBe(0)
    await at.json(['block', 'remove', '203.0.113.9', '--yes'])
  })

  it('refuses clients that have no record, unless it is told that they will have one', async () => {
    const before = await at.json(['block', 'list'])
    for (const [who, said] of [
      ['acmee', 'there is no client "acmee": did you mean "acme"?'],
      ['client:nosuch', 'there is no client "nosuch": known are acme, again, ann'],
    ] as const) {
      for (const list of [[], ['--allow']]) {
        const { code, out, err } = await at.sluice(['block', 'add', who, ...list])
        expect([code, out, err]).toEqual([
          1,
          '',
          `${said}; an entry for a client that is still to be created needs --force\n`,
        ])
      }
    }
    expect(await at.json(['block', 'list'])).toEqual(before)
    expect((await at.sluice(['block', 'add', 'nosuch', '--force'])).out).toBe(
      'client:nosuch is blocked; no client has this id, so the entry has no effect until one has\n',
    )
    await at.json(['block', 'remove', 'nosuch', '--yes'])
  })

  it('takes a user for the client whose credential names it, and refuses other users', async () => {
    const { out, err } = await at.sluice(['block', 'add', 'user:42'])
    expect([out, err]).toEqual([
      'client:ann is blocked\n',
      `user:42 is a credential of client "ann"\nwritten: table sluice-config at ${at.endpoint}\n`,
    ])
    await at.json(['block', 'remove', 'ann', '--yes'])
    for (const who of ['user:43', 'header:x=1', 'route:GET /x', 'claim:org=1']) {
      const refused = await at.sluice(['block', 'add', who, '--force'])
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringContaining(`${who} is neither an address nor a client, so it cannot be on a list`),
      ])
    }
  })

  it('refuses a hash of nobody that the tables know', async () => {
    const { code, err } = await at.sluice(['block', 'add', 'client#b2o1rr_3lFQ0nZzQ0l9W3mGJr5mE2m1hYw7xq0dKc8s'])
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('cannot be resolved, and a list names clients and addresses'),
    ])
  })

  it('refuses bits behind a network’s prefix, and leaves the entry of the network as it is', async () => {
    await at.json(['block', 'add', '203.0.113.0/24', '--note', 'scraper', '--expires', '24h'])
    const before = await at.json(['block', 'list'])
    const { code, err } = await at.sluice(['block', 'add', '203.0.113.7/24'])
    expect([code, err]).toEqual([1, expect.stringContaining('use 203.0.113.0/24 for the network')])
    expect(await at.json(['block', 'list'])).toEqual(before)
    await at.json(['block', 'remove', '203.0.113.0/24', '--yes'])
  })

  it('says when another entry still decides', async () => {
    await at.json(['block', 'add', '203.0.113.0/24'])
    await at.json(['block', 'add', '203.0.113.7'])
    expect((await at.sluice(['block', 'remove', '203.0.113.7', '--yes'])).out).toBe(
      'ip:203.0.113.7 was removed from the block list; it is still blocked by ip:203.0.113.0/24 without an end\n',
    )
    await at.json(['block', 'add', 'acme'])
    expect((await at.sluice(['block', 'add', 'acme', '--allow', '--yes'])).out).toBe(
      'client:acme is allowed; but it is on the block list as well, which wins: sluice block remove client:acme\n',
    )
    await at.json(['block', 'remove', 'acme', '--allow', '--yes'])
    for (const who of ['acme', '203.0.113.0/24']) await at.json(['block', 'remove', who, '--yes'])
  })
})
