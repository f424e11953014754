import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { parse, stringify } from 'yaml'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { newRingKey } from '../../provisioning/make-key-ring'
import { type Deployment, deploy, TIERS } from './command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-remedies-'))
afterAll(() => rmSync(folder, { recursive: true }))

let at: Deployment
beforeEach(async () => {
  at = await deploy('dynalite')
  await at.put(...TIERS, keyRingItem(HMAC_RING, [newRingKey(0)]), ACME)
})
afterEach(async () => at?.close())

const key = (text: string) => ({ pk: `client#${hashApiKey(text)}`, sk: 'client' })
const ACME = { ...key('one'), id: 'acme', tier: 'free' }
const set = (sk: string, fields: object = {}) => ({ pk: 'policy-set', sk, ...fields })
const tier = (fields: object) => set('tier#free', { policies: [{ ...TIERS[1].policies[0], ...fields }] })

interface Found {
  readonly name: string
  readonly status: string
  readonly found: string
  readonly remedy?: string
}

/** A word as a shell reads it. */
const unquoted = (word: string) =>
  word.replaceAll(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, one, two, three) => one ?? two ?? three)

/** What is not well. */
async function findings(): Promise<Found[]> {
  const { out } = await at.sluice(['doctor', '--json'])
  const checks: Found[] = JSON.parse(out).checks
  return checks.filter(({ name, status }) => status !== 'ok' && name !== 'time to live') // dynalite has none
}

type File = Record<string, Record<string, object>>

/** Does what a remedy says: its commands, with values for what stands in capitals, and changes of the file. */
async function follow(remedy: string, mend: (file: File) => void): Promise<void> {
  if (remedy.includes('sluice tiers export')) {
    const path = join(folder, 'tiers.yaml')
    const file = parse((await at.sluice(['tiers', 'export'])).out) as File
    mend(file)
    writeFileSync(path, stringify(file))
    expect(await at.sluice(['tiers', 'apply', path, '--yes', '--prune'])).toMatchObject({ code: 0 })
  }
  for (const [, command] of remedy.matchAll(/sluice ((?!tiers )[^;,]+)/g)) {
    const words = [...command!.matchAll(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g)].map(([word]) => unquoted(word))
    const args = words.map((word) =>
      word.replace(/^ID$/, 'acme').replace('NAME', 'free').replace('POLICY=LIMIT', 'per-minute=5'),
    )
    const isAsked = /^(doctor|clients delete|clients set .*--enable|block remove)/.test(command!)
    expect(await at.sluice([...args, ...(isAsked ? ['--yes'] : [])])).toMatchObject({ code: 0 })
  }
}

type Broken = readonly [what: string, items: readonly object[], found: RegExp, mend?: (file: File) => void]
const BROKEN: readonly Broken[] = [
  [
    'a field of a tier',
    [tier({ limit: 0 })],
    /FAILED configuration: limit must be/,
    (file) => void Object.assign(file.tiers!, { free: { policies: [] } }),
  ],
  [
    'a field that is none',
    [tier({ limitt: 1 })],
    /FAILED configuration: .*limitt/,
    (file) => void Object.assign(file.tiers!, { free: { policies: [] } }),
  ],
  [
    'two routes for the same requests',
    [set('route#GET /a/{x}', { cost: 1 }), set('route#GET /a/{y}', { cost: 2 })],
    /FAILED configuration: .*GET \/a/,
    (file) => void delete file.routes!['GET /a/{y}'],
  ],
  [
    'a default tier that does not exist',
    [set('settings', { defaultTier: 'gold' })],
    /FAILED configuration: .*gold/,
    (file) => void delete (file.settings as Record<string, unknown>).defaultTier,
  ],
  [
    'a header that is not trusted',
    [set('global', { policies: [{ name: 'g', limit: 1, window: '1m', by: ['header:x-a'] }] })],
    /FAILED configuration: /,
    (file) => void delete (file as Record<string, unknown>).global,
  ],
  ['an item of no kind', [set('teir#free', { policies: [] })], /FAILED configuration: .*teir#free/],
  ['an item of no kind, with a quote', [set("teir#it's", { policies: [] })], /FAILED configuration: .*teir#it's/],
  ['a block of neither address nor client', [set('block#net#1.2.3.4')], /FAILED configuration: .*net/],
  ['an allowance of no address', [set('allow#ip#1.2.3.400')], /FAILED configuration: ip .*1\.2\.3\.400/],
  ['a switch to no mode', [set('switch', { mode: 'of' })], /FAILED configuration: mode must be/],
  ['limits that are switched off', [set('switch', { mode: 'off' })], /warning limits: limits are off/],
  [
    'limits that are off by the settings',
    [set('settings', { mode: 'off' })],
    /warning limits: settings says mode: off/,
    (file) => void delete (file.settings as Record<string, unknown>).mode,
  ],
  [
    'limits that only observe for one API',
    [set('settings @dev', { apis: ['*/dev'], mode: 'observe' })],
    /warning limits: settings @dev says mode: observe/,
    (file) => void delete file['settings @dev'],
  ],
  [
    'a range that is blocked and exempt',
    [set('block#ip#192.0.2.0/24'), set('allow#ip#192.0.2.0/24')],
    /warning lists: ip:192\.0\.2\.0\/24 is blocked and exempt/,
  ],
  [
    'a block of a client that is not there',
    [set('block#client#acmee')],
    /warning lists: client:acmee is blocked, and there is no such client/,
  ],
  ['an allowance of a client that is not there', [set('allow#client#acmee')], /warning lists: client:acmee is exempt/],
  ['a client of no tier', [{ ...ACME, tier: 'gold' }], /FAILED clients: client "acme" has tier "gold"/],
  [
    'a client whose tier is no name',
    [{ ...ACME, tier: 7 }],
    /FAILED clients: client "acme" \(record-\w+\): tier must be/,
  ],
  [
    'a client that is disabled by a word',
    [{ ...ACME, disabled: 'yes' }],
    /FAILED clients: client "acme" .*disabled must be/,
  ],
  [
    'a client that expires at no date',
    [{ ...ACME, expiresAt: 'soon' }],
    /FAILED clients: client "acme" .*expiresAt must be/,
  ],
  [
    'a client with a name and notes that are none',
    [{ ...ACME, name: 1, notes: [] }],
    /FAILED clients: client "acme" .*name must be/,
  ],
  [
    'a client with overrides that are none',
    [{ ...ACME, overrides: { a: 5 } }],
    /FAILED clients: client "acme" .*override/,
  ],
  ['a client with a field that is none', [{ ...ACME, tear: 'free' }], /FAILED clients: client "acme" .*tear/],
  [
    'a client without an id',
    [{ ...key('two'), tier: 'free' }],
    /FAILED clients: a client \(record-\w+\): id is missing/,
  ],
  [
    'a key in clear',
    [{ pk: 'client#slk_live_1234', sk: 'client', id: 'acme', tier: 'free' }],
    /FAILED clients: client "acme" \(record-\w+\): pk must be/,
  ],
  [
    'credentials of one client in two tiers',
    [{ ...ACME, ...key('two'), tier: 'pro' }],
    /FAILED clients: the 2 credentials of client "acme" differ in tier/,
  ],
  [
    'credentials of one client of which one is disabled, and has more',
    [{ ...ACME, ...key('two'), disabled: true, overrides: { 'per-minute': { limit: 9 } } }],
    /FAILED clients: the 2 credentials of client "acme" differ in overrides, disabled/,
  ],
  ['an override of no policy', [{ ...ACME, overrides: { 'per-hour': { limit: 9 } } }], /warning clients: .*per-hour/],
]

it.each(BROKEN.map((broken) => [broken[0], broken] as const))(
  'doctor finds %s, and its remedy mends it',
  async (_, [, items, found, mend = () => {}]) => {
    expect(await findings()).toEqual([])
    await at.put(...(items as Record<string, unknown>[]))
    const [first, ...others] = await findings()
    expect(others).toEqual([])
    expect(`${first!.status} ${first!.name}: ${first!.found}`).toMatch(found)
    expect(JSON.stringify(first)).not.toContain('slk_live')
    await follow(first!.remedy!, mend)
    expect(await findings()).toEqual([])
  },
)

it('finds that the tier of the anonymous is gone', async () => {
  const gone = { pk: { S: 'policy-set' }, sk: { S: 'tier#anonymous' } }
  await at.client.send(new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: gone }))
  const [first] = await findings()
  expect(first).toMatchObject({ name: 'configuration', status: 'FAILED', found: expect.stringContaining('anonymous') })
  await follow(first!.remedy!, (file) => {
    file.tiers!.anonymous = { policies: TIERS[0].policies, by: 'ip' } as object
  })
  expect(await findings()).toEqual([])
})

it('removes nothing that is in force, and nothing without a yes', async () => {
  await at.put(set('teir#free'))
  for (const [name, said] of [
    ['tier#free', '--remove must be an item that a check of sluice doctor names for it, got "tier#free"\n'],
    ['teir#free', 'nothing was written: no terminal for the question, use --yes\n'],
  ] as const)
    expect(await at.sluice(['doctor', '--remove', name])).toEqual({ code: 1, out: '', err: said })
  expect(await findings()).toHaveLength(1)
})

it('clients set changes nothing where the client would stay invalid', async () => {
  await at.put({ ...ACME, disabled: 'yes' })
  const { code, err } = await at.sluice(['clients', 'set', 'acme', '--tier', 'pro'])
  expect([code, err]).toEqual([
    1,
    'client "acme" would be invalid, and nothing is changed: disabled must be true or false, got "yes" (client); sluice doctor says what mends it\n',
  ])
  expect((await at.json(['clients', 'get', 'acme'])).tier).toBe('free')
})
