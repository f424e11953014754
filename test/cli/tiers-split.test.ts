import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sluice } from './command-line'

const SHARES = ['--share', 'eu-west-1=60%', '--share', 'us-east-1=40%']
const TIERS = `tiers:
  anonymous:
    by: ip
    policies:
      - { name: per-minute, limit: 15, window: 1m }
routes:
  POST /batch: { cost: 7 }
`

describe('sluice tiers split', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-split-'))
  const path = join(folder, 'tiers.yaml')
  beforeAll(() => writeFileSync(path, TIERS))
  afterAll(() => rmSync(folder, { recursive: true }))

  const split = (...args: string[]) => sluice(['tiers', 'split', path, ...args])

  it('prints what each Region has of each limit', async () => {
    const { code, out } = await split(...SHARES)
    expect(code).toBe(0)
    expect(out.split('\n').slice(0, 2)).toEqual([
      'where             policy             all  eu-west-1  us-east-1',
      'tier "anonymous"  per-minute  limit  15   9          6',
    ])
    expect(JSON.parse((await split(...SHARES, '--json')).out)).toEqual([
      { place: 'tier "anonymous"', policy: 'per-minute', limit: 15, parts: { 'eu-west-1': 9, 'us-east-1': 6 } },
    ])
  })

  it('prints every number that differs between the full file and a Region’s: bursts and preflights, too', async () => {
    const full = join(folder, 'full.yaml')
    writeFileSync(
      full,
      `settings: { preflight: { limit: 500, window: 1m } }
${TIERS.replace('15, window: 1m', '15, burst: 30, algorithm: token-bucket, window: 1m')}global:
  policies: [{ name: all, by: global, limit: 1000, window: 1s }]
`,
    )
    const { out } = await sluice(['tiers', 'split', full, ...SHARES, '--json'])
    const part = async (region: string) =>
      JSON.parse((await sluice(['tiers', 'split', full, ...SHARES, '--for', region, '--json'])).out)
    expect(JSON.parse(out)).toEqual([
      { place: 'settings', policy: 'preflight', limit: 500, parts: { 'eu-west-1': 300, 'us-east-1': 200 } },
      { place: 'tier "anonymous"', policy: 'per-minute', limit: 15, parts: { 'eu-west-1': 9, 'us-east-1': 6 } },
      { place: 'tier "anonymous"', policy: 'per-minute', burst: 30, parts: { 'eu-west-1': 18, 'us-east-1': 12 } },
      { place: 'global', policy: 'all', limit: 1000, parts: { 'eu-west-1': 600, 'us-east-1': 400 } },
    ])
    expect(await part('us-east-1')).toMatchObject({
      settings: { preflight: { limit: 200 } },
      tiers: { anonymous: { policies: [{ limit: 6, burst: 12 }] } },
      global: { policies: [{ limit: 400 }] },
    })
  })

  it('prints one Region’s file, which is a tiers file, and warns of requests that can never pass there', async () => {
    const { code, out, err } = await split(...SHARES, '--for', 'us-east-1')
    expect(code).toBe(0)
    expect(err).toContain('warning: a request of "POST /batch" takes up to 7 units')
    expect(err).toContain('applies to it: its limit is 6 in us-east-1')
    expect(out).toContain('{ name: per-minute, limit: 6, window: 1m }')
    expect(out.split('\n')[1]).toBe(
      `# sluice tiers split ${path} --share eu-west-1=60% --share us-east-1=40% --for us-east-1`,
    )
    const part = join(folder, 'part.yaml')
    writeFileSync(part, out)
    expect((await sluice(['tiers', 'validate', part])).out).toBe(`${part} is valid: 1 tier, 1 route\n`)
    expect((await split(...SHARES, '--for', 'eu-west-1')).err).toBe('')
  })

  it.each([
    [[], "required option '--share <region=percent>' not specified"],
    [['--share', 'eu-west-1=60'], 'It must be a Region and its share, such as "eu-west-1=60%".'],
    [['--share', 'eu-west-1=60%', '--share', 'eu-west-1=40%'], '"eu-west-1" is given twice.'],
    [['--share', 'eu-west-1=60%'], 'the shares of all Regions must add up to 100 %, got 60 %'],
    [[...SHARES, '--for', 'eu-west-2'], '--for must be one of eu-west-1, us-east-1, got "eu-west-2"'],
    [['--share', 'eu-west-1=99%', '--share', 'us-east-1=1%'], 'got 15: us-east-1 would have none'],
  ])('refuses %j, and prints nothing', async (args, sentence) => {
    const { code, out, err } = await split(...args)
    expect(code).not.toBe(0)
    expect(err).toContain(sentence)
    expect(out).toBe('')
  })
})
