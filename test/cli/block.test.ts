import fc from 'fast-check'
import { entryKey, entryOf } from '../../cli/block-entries'
import { type Deployment, deploy } from './command-line'

describe('an entry', () => {
  it.each([
    ['203.0.113.7', 'block#ip#203.0.113.7'],
    ['203.0.113.7/24', 'block#ip#203.0.113.0/24'],
    ['255.255.255.255/1', 'block#ip#128.0.0.0/1'],
    ['203.0.113.7/32', 'block#ip#203.0.113.7/32'],
    ['ip:::ffff:1.2.3.4', 'block#ip#1.2.3.4'],
    ['2001:DB8:0::1', 'block#ip#2001:db8::1'],
    ['2001:db8:ffff::1/33', 'block#ip#2001:db8:8000::/33'],
    ['client:acme', 'block#client#acme'],
    ['acme', 'block#client#acme'],
    ['client:1.2.3.4', 'block#client#1.2.3.4'],
    ['client:ip:x', 'block#client#ip:x'],
  ])('%s is %s', (text, sk) => {
    expect(entryKey('block', text)).toEqual({ pk: 'policy-set', sk })
  })

  it.each(['1.2.3', '1.2.3.4/33', '1.2.3.4/0', '::1/129', '::/0', 'ip:acme', 'acme/24', '::ffff:1.2.3.4/24', 'ip:', '1:2:3'])(
    '%s is no address',
    (text) => {
      expect(() => entryKey('block', text)).toThrow('an address must be such as')
    },
  )

  it('of an IPv4 network holds the address that it was made of', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 1, max: 32 }), (address, bits) => {
        const { sk } = entryKey('block', `${address}/${bits}`)
        const [first, prefix] = sk.slice('block#ip#'.length).split('/')
        const binary = (text: string) =>
          text
            .split('.')
            .map((byte) => Number(byte).toString(2).padStart(8, '0'))
            .join('')
        expect(prefix).toBe(String(bits))
        expect(binary(first!)).toBe(binary(address).slice(0, bits).padEnd(32, '0'))
        expect(entryKey('block', entryOf(sk)!.who)).toEqual({ pk: 'policy-set', sk })
      }),
    )
  })
})

describe('the block list', () => {
  let at: Deployment
  beforeAll(async () => {
    at = await deploy('dynalite')
  })
  afterAll(async () => at?.close())

  it('is empty, gets entries, shows them, and loses them', async () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    expect(await at.sluice(['block', 'list'])).toEqual({ code: 0, out: '', err: 'nobody is blocked\n' })
    expect((await at.sluice(['block', 'add', '203.0.113.9/24', '--note', 'scraper', '--expires', '1h'], { now })).out).toBe(
      'ip:203.0.113.0/24 is blocked until 2026-11-21T13:00:00Z\n',
    )
    await at.json(['block', 'add', 'acme'])
    await at.json(['block', 'add', '198.51.100.7', '--allow'])
    await at.json(['block', 'add', 'client:acme', '--note', 'again']) // the same entry
    const expires = { note: 'scraper', expiresAt: '2026-11-21T13:00:00Z' }
    expect(await at.json(['block', 'list'], { now })).toEqual([
      { list: 'allow', who: 'ip:198.51.100.7', expired: false },
      { list: 'block', who: 'client:acme', note: 'again', expired: false },
      { list: 'block', who: 'ip:203.0.113.0/24', ...expires, expired: false },
    ])
    expect((await at.sluice(['block', 'list'], { now: now + 3_600_000 })).out).toContain('2026-11-21T13:00:00Z (over)')

    expect((await at.sluice(['block', 'remove', '203.0.113.200/24'])).out).toBe('ip:203.0.113.0/24 is off the block list\n')
    expect(await at.sluice(['block', 'remove', '198.51.100.7'])).toEqual({
      code: 1,
      out: '',
      err: 'ip:198.51.100.7 is not on the block list: sluice block list shows who is\n',
    })
    await at.json(['block', 'remove', '198.51.100.7', '--allow'])
    expect((await at.json(['block', 'list'])).map(({ who }: { who: string }) => who)).toEqual(['client:acme'])
  })
})
