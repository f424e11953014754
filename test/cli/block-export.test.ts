import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { blockedRanges, toWafIpSet } from '../../cli/callers/waf-ip-set'
import { type AccessEntry, AccessList } from '../../lambda/config-table/items/access-list'
import { type IpRange, parseIpAddress, parseIpRange, toIpv4, toIpv6 } from '../../lambda/ip-address'
import { type Deployment, deploy, TIERS } from './command-line'

const entry = (access: AccessEntry['access'], text: string): AccessEntry => ({
  access,
  whom: { range: parseIpRange(text, { mask: true }) as IpRange },
  expiresAt: Infinity,
})
const blocked = (text: string) => entry('block', text)

describe('an IP set', () => {
  it('contains an address if and only if the authorizer would block it, for any nested ranges', () => {
    // Few bits, so that they do.
    const four = fc
      .tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 24, max: 32 }))
      .map(([low, bits]) => `192.0.2.${low * 32 + low}/${bits}`)
    const six = fc
      .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 112, max: 128 }))
      .map(([low, bits]) => `2001:db8::${low}/${bits}`)
    const entries = fc.array(fc.tuple(fc.constantFrom('block', 'allow'), fc.oneof(four, six)), { maxLength: 8 })
    fc.assert(
      fc.property(entries, (given) => {
        const list = given.map(([access, text]) => entry(access as AccessEntry['access'], text))
        const truth = new AccessList(list)
        const ranges = blockedRanges(list)
        const sets = { 4: toWafIpSet(ranges, 4).Addresses, 6: toWafIpSet(ranges, 6).Addresses }
        const held = { 4: new AccessList(sets[4].map(blocked)), 6: new AccessList(sets[6].map(blocked)) }
        for (let last = 0; last < 256; last += 3) {
          const addresses = {
            4: parseIpAddress(`192.0.2.${last}`),
            6: parseIpAddress(`2001:db8::${(last % 20).toString(16)}`),
          }
          for (const version of [4, 6] as const)
            if (
              (held[version].ofAddress(addresses[version], 0) === 'block') !==
              (truth.ofAddress(addresses[version], 0) === 'block')
            )
              throw new Error(`the sets ${JSON.stringify(sets)} say something else of ...${last}`)
        }
      }),
    )
  })

  it('lists each address once, in CIDR notation, of one IP version', () => {
    const ranges = [
      '203.0.113.7',
      '203.0.113.0/24',
      '203.0.113.7/32',
      '198.51.100.1',
      '2001:db8::/32',
      '2001:db8:1::5',
    ].map((text) => parseIpRange(text) as IpRange)
    expect(toWafIpSet(ranges, 4)).toEqual({ Addresses: ['203.0.113.0/24', '198.51.100.1/32'] })
    expect(toWafIpSet(ranges, 6)).toEqual({ Addresses: ['2001:db8::/32'] })
    expect(toWafIpSet([], 4)).toEqual({ Addresses: [] })
  })

  it('respects AWS WAF’s limits: at most 10,000 ranges, and no range of all addresses', () => {
    const host = (i: number): IpRange => parseIpRange(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`) as IpRange
    expect(
      toWafIpSet(
        Array.from({ length: 10_000 }, (_, i) => host(i)),
        4,
      ).Addresses,
    ).toHaveLength(10_000)
    expect(() =>
      toWafIpSet(
        Array.from({ length: 10_001 }, (_, i) => host(i)),
        4,
      ),
    ).toThrow('holds at most 10000 ranges, got 10001')
    expect(() => toWafIpSet([parseIpRange('0.0.0.0/0') as IpRange], 4)).toThrow(
      'cannot hold the range of all addresses, got 0.0.0.0/0',
    )
    expect(() => toWafIpSet([parseIpRange('::/0') as IpRange], 6)).toThrow('got ::/0')
  })

  it('spells addresses as they are read back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const range = parseIpRange(text) as IpRange
        const version = toIpv4(range.first) === undefined ? 6 : 4
        const [printed] = toWafIpSet([range], version).Addresses
        expect(printed).toBe(version === 4 ? `${toIpv4(range.first)}/32` : `${toIpv6(range.first)}/128`)
        expect(parseIpRange(printed!)).toEqual(range)
      }),
    )
  })
})

describe('sluice block export', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  const now = Date.parse('2026-11-21T12:00:00Z')
  let at: Deployment
  beforeAll(async () => {
    at = await deploy()
    await at.put(
      ...TIERS,
      { pk: 'policy-set', sk: 'block#ip#203.0.113.0/30', note: 'scraper' },
      { pk: 'policy-set', sk: 'allow#ip#203.0.113.1' },
      { pk: 'policy-set', sk: 'block#ip#198.51.100.7', expiresAt: '2026-11-21T11:00:00Z' },
      { pk: 'policy-set', sk: 'block#ip#198.51.100.9/24', note: 7 }, // wrong twice, and holds all the same
      { pk: 'policy-set', sk: 'block#ip#2001:db8::/48' },
      { pk: 'policy-set', sk: 'block#client#acme' },
      { pk: 'policy-set', sk: 'allow#ip#192.0.2.5' },
    )
  })
  afterAll(async () => {
    await at?.close()
    rmSync(folder, { recursive: true })
  })

  const inForce = ['198.51.100.0/24', '203.0.113.2/31', '203.0.113.0/32']

  it('prints the addresses that are blocked now, without the allowed ones', async () => {
    const { code, out, err } = await at.sluice(['block', 'export', '--waf'], { now })
    expect([code, JSON.parse(out)]).toEqual([0, { Addresses: inForce }])
    expect(err).toBe('1 blocked range of the other IP version left out: use --ip-version 6\n')
    expect(JSON.parse((await at.sluice(['block', 'export', '--waf', '--ip-version', '6'], { now })).out)).toEqual({
      Addresses: ['2001:db8::/48'],
    })
    expect(await at.sluice(['block', 'export'], { now })).toMatchObject({ code: 1, out: '' })
    expect(await at.sluice(['block', 'export', '--waf', '--ip-version', '5'], { now })).toMatchObject({
      code: 1,
      out: '',
    })
  })

  const denied = (ip: string | undefined, more: object = {}) =>
    JSON.stringify({ level: 'info', event: 'request_denied', reason: 'over-limit', ip, leftOut: 0, ...more })

  it('adds the most denied addresses of the log, and counts denials that sampling left out', async () => {
    const lines = [
      denied('192.0.2.1'),
      `2026-11-21T12:00:00.000Z ${denied('192.0.2.2', { leftOut: 500 })}`,
      denied('192.0.2.1'),
      denied('192.0.2.3'),
      denied('192.0.2.5', { leftOut: 9000 }), // is allowed
      denied('192.0.2.6', { leftOut: 9000, reason: 'unavailable' }), // for want of a table
      denied('2001:db9::1', { leftOut: 9000 }), // the other version
      denied('not an address'),
      denied(undefined),
      '{"event":"request_answered","ip":"192.0.2.7"}',
      'null',
      '{',
    ].join('\n')
    const file = join(folder, 'log')
    writeFileSync(file, lines)
    const { out, err } = await at.sluice(['block', 'export', '--waf', '--from-log', file, '--top', '2'], { now })
    expect(JSON.parse(out)).toEqual({ Addresses: [...inForce, '192.0.2.2/32', '192.0.2.1/32'] })
    expect(err).toContain(
      "2 denials without an address in the log: set the prop logCallers to 'clear' to log addresses\n",
    )
    expect(
      JSON.parse((await at.sluice(['block', 'export', '--waf', '--from-log', '-'], { now, typed: lines })).out)
        .Addresses,
    ).toHaveLength(6)
    expect(await at.sluice(['block', 'export', '--waf', '--from-log', join(folder, 'none')], { now })).toMatchObject({
      code: 1,
      out: '',
    })
  })
})
