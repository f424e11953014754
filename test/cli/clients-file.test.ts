import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import * as fc from 'fast-check'
import { fromCell, toCell, toLine } from '../../cli/clients-file/cells'
import { csvValues } from '../../cli/simulate/lines/csv-values'
import { CsvSplitter } from '../../cli/simulate/lines/records'
import { ConfigTable } from '../../cli/tables/config-table'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { Interrupts } from '../../cli/terminal/io'
import { CLIENT_FIELDS } from '../../lambda/config-table/items/client-item'
import { hashApiKey } from '../../lambda/identity/api-key'
import { ordered } from '../../provisioning/item-kinds'
import { ENGINES } from '../stores'
import { type Deployment, deploy, TIERS } from './command-line'

const RAW = 'a raw key of somebody 4711'
const SECRET = 'wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLEKEY'
const hash = (text: string) => hashApiKey(text)
const client = (credential: string, more: Record<string, unknown>) => ({
  pk: `client#${credential}`,
  sk: 'client',
  tier: 'pro',
  ...more,
})

/** Clients with everything that CSV and spreadsheets stumble over. */
const CLIENTS = [
  client(hash('1'), { id: 'acme', name: 'Acme, "Ltd"', notes: 'two\r\n\r\nlines\nand a\ttab' }),
  client(hash('2'), {
    id: 'acme',
    name: 'Acme, "Ltd"',
    notes: 'two\r\n\r\nlines\nand a\ttab',
    expiresAt: '2027-01-31',
  }),
  client('api-gateway-key:a1b2', { id: '=HYPERLINK("http://x")', name: "'=1", notes: ' space ' }),
  client('user@partner:42', {
    id: 'größe',
    disabled: true,
    overrides: { 'per-minute': { factor: 2, until: '2027-01-31' } },
  }),
  client(hash('3'), { id: '-5', tier: 'free', disabled: false, name: '', usageIdentifierKey: SECRET }),
  client(hash('4'), { id: 'shown', tier: 'gone', usageIdentifierKey: true, overrides: {} }),
]

let at: Deployment
beforeAll(async () => {
  at = await deploy(ENGINES[0]!)
  await at.put(...TIERS)
})
afterAll(async () => at?.close())
afterEach(() => jest.restoreAllMocks())

const FOLDER = mkdtempSync(join(tmpdir(), 'sluice-clients-'))
function file(text: string | Uint8Array): string {
  const path = join(FOLDER, 'clients.csv')
  writeFileSync(path, text)
  return path
}

async function stored(): Promise<string[]> {
  const { Items = [] } = await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES.config, ConsistentRead: true }))
  return Items.filter(({ pk }) => pk!.S!.startsWith('client#'))
    .map((item) => JSON.stringify(ordered(item, { fields: CLIENT_FIELDS })))
    .sort()
}

async function clear(): Promise<void> {
  const { Items = [] } = await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES.config }))
  for (const { pk, sk } of Items)
    if (pk!.S!.startsWith('client#'))
      await at.client.send(new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: { pk: pk!, sk: sk! } }))
}
beforeEach(clear)

const importing = (text: string | Uint8Array, ...more: string[]) =>
  at.sluice(['clients', 'import', file(text), ...(more.length > 0 ? more : ['--yes'])])

test('cells come back as they were, whatever they hold and wherever the text is cut', () => {
  const text = fc.string({ unit: fc.constantFrom(...'a,";\r\n\t=+-@\' é＝\ufeff\u200b\u00a0\u2028') })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text, fc.constant('x')), { minLength: 1 }), fc.nat(9), (rows, size) => {
      const splitter = new CsvSplitter()
      const whole = rows.map(toLine).join('')
      const pieces = Array.from({ length: Math.ceil(whole.length / (size + 1)) }, (_, i) =>
        whole.slice(i * (size + 1), (i + 1) * (size + 1)),
      )
      const lines = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()]
      expect(lines.map((line) => csvValues(line.text, ',')!.map(fromCell))).toEqual(rows)
    }),
  )
})

test('no cell begins as a formula does, whatever that cannot be seen stands before it', () => {
  const unseen = [
    ' ',
    '\n',
    '\r\n',
    '\t',
    '\ufeff',
    '\u00a0',
    '\u200b',
    '\u2028',
    '\u0000',
    '\u00ad',
    '\u202e',
    "'",
    '',
  ]
  for (const first of unseen)
    for (const second of unseen)
      for (const sign of '=+-@＝＋－＠') {
        const text = `${first}${second}${sign}1`
        expect([text, toCell(text)]).toEqual([text, expect.stringMatching(/^"?'/)])
        expect(fromCell(`'${text}`)).toBe(text)
      }
  for (const text of ['a=1', ' a', '\ufeffa', "'a", '1-1', ' '])
    expect(toCell(text).replace(/^"(.*)"$/, '$1')).toBe(text)
})

test('names that begin as formulas come back as they were', async () => {
  const names = ['=1', ' =1', '\n=1', '\ufeff=1', "' =1", '\u200b@a', '\t\r-1', "''+1"]
  await at.put(...names.map((name, i) => client(hash(String(i)), { id: `c${i}`, tier: 'free', name })))
  const before = await stored()
  const { out } = await at.sluice(['clients', 'export'])
  expect(out.match(/,"?'/g)).toHaveLength(names.length)
  await clear()
  expect(await importing(out)).toMatchObject({ code: 0 })
  expect(await stored()).toEqual(before)
})

test('an import of an export changes nothing, and restores what was deleted', async () => {
  await at.put(...CLIENTS)
  const before = await stored()
  const { code, out, err } = await at.sluice(['clients', 'export', '--usage-keys'])
  expect([code, err]).toEqual([0, ''])
  expect(await importing(out)).toMatchObject({
    code: 0,
    out: '0 credentials to add, 0 to change, 6 unchanged\n',
  })
  expect(await stored()).toEqual(before)
  await clear()
  const known = out.replace(',gone,', ',free,')
  expect(await importing(`\ufeff${known}`)).toMatchObject({ code: 0 })
  // what is false or empty is as if it were not there
  const restored = before.map((one) => one.replace('"disabled":{"BOOL":false},', '').replace('"name":{"S":""},', ''))
  expect(await stored()).toEqual(restored.map((one) => one.replace('"gone"', '"free"')).sort())
})

test('usage identifier keys are exported only where they are asked for, and stay where a file has none', async () => {
  await at.put(...CLIENTS)
  const before = await stored()
  const { out, err } = await at.sluice(['clients', 'export'])
  expect(out).not.toContain(SECRET)
  expect(err).toBe('2 of 6 have a usage identifier key, which is left out: --usage-keys prints it\n')
  await importing(out.replace('größe', 'gross'))
  expect(await stored()).toEqual(before.map((one) => one.replace('größe', 'gross')).sort())
})

test('keys are stored as hashes, and are in nothing that is printed', async () => {
  const text = `id;tier;key;disabled\r\nacme;pro; ${RAW} ;FALSE\r\nbolt;free;other;TRUE\r\n`
  const said = [await importing(text, '--dry-run'), await importing(text, '--dry-run', '--json')]
  expect(await stored()).toEqual([])
  said.push(await importing(text), await importing(text))
  expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  expect(said[3]!.out).toBe('0 credentials to add, 0 to change, 2 unchanged\n')
  expect(JSON.stringify(said)).not.toContain(RAW)
  expect((await at.json(['clients', 'list'])).map((one: { credential: string }) => one.credential)).toEqual([
    `key ${hash(RAW).slice(0, 12)}`,
    `key ${hash('other').slice(0, 12)}`,
  ])
})

test.each([
  ['', 'clients.csv is empty: its first line names the columns'],
  ['id,teir,key\n', 'column "teir" is unknown, did you mean "tier"?; column tier is missing; known are id, tier, key'],
  ['id,tier\n', 'line 1: column key or keyHash or credential is missing'],
  ['id,tier,key\na,pro\n', 'line 2: it has 2 values under 3 headings'],
  ['id,tier,key\na,"pro,x\n', 'line 2: a quote is not closed'],
  ['id,tier,key\na,p"r"o,x\n', 'line 2: its quotes do not end where a value does'],
  ['id,tier,key\na,gold,x\n\nb,pro,\n', 'line 4, key or keyHash or credential: a value is missing'],
  ['id,tier,key\na,gold,x\n', 'line 2, tier: there is no tier "gold": known are anonymous, free, pro'],
  ['id,tier,key\na,pro,x\nb,pro,x\n', 'line 3: it has the same credential as line 2'],
  ['id,tier,key\na,pro,x\na,free,y\n', 'line 3, tier: it differs from line 2, which is the same client'],
  ['id,tier,keyHash\na,pro,a raw key\n', 'line 2, keyHash: it must be a SHA-256 in 64 lower-case hexadecimal digits'],
  ['id,tier,key,credential\na,pro,x,user:1\n', 'line 2, credential: it has a value as well as key: give only one'],
  ['id,tier,key,overrides\na,pro,x,"{"\n', 'line 2, overrides: it must be JSON such as {"per-minute":{"limit":600}}'],
  [
    'id,tier,key,overrides\na,pro,x,"{""per-hour"":{""limit"":1}}"\n',
    'line 2, overrides: "per-hour" is not a policy of tier "pro"',
  ],
  ['id,tier,key,disabled\na,pro,x,nein\n', 'line 2, disabled: it must be true, false or empty, got "nein"'],
  ['id,tier,key,expiresAt\na,pro,x,31.1.2027\n', 'line 2, expiresAt: expiresAt must be a date such as "2027-01-31"'],
  [Buffer.from('id,tier,key\ngr\xf6sse,pro,x\n', 'latin1'), 'line 2, id: it is not UTF-8'],
] as const)('%j is rejected by line and column, and nothing is written', async (text, sentence) => {
  const { code, out, err } = await importing(text)
  expect([code, out, err]).toEqual([1, '', expect.stringContaining(sentence)])
  expect(await stored()).toEqual([])
})

test('a credential that the file leaves out must not come to differ from the others of its client', async () => {
  await at.put(...CLIENTS.slice(0, 2))
  const text = `id,tier,keyHash\nacme,free,${hash('1')}\n`
  expect(await importing(text)).toMatchObject({
    code: 1,
    err: expect.stringContaining('line 2, tier: client "acme" has another credential in the table'),
  })
  expect(await importing(`${text}acme,free,${hash('2')}\n`)).toMatchObject({
    code: 0,
    out: expect.stringContaining('~ "acme": tier'),
  })
})

test('what somebody edits at the same time stays, the others are written, and a second run finds no more to do', async () => {
  const rows = Array.from({ length: 12 }, (_, i) => `c${i},pro,key ${i}`)
  const text = ['id,tier,key', ...rows].join('\n')
  await importing(text.replaceAll(',pro,', ',free,'))
  const write = ConfigTable.prototype.write
  jest.spyOn(ConfigTable.prototype, 'write').mockImplementation(async function (this: ConfigTable, writes) {
    if (writes[0]!.after!.id === 'c7') await at.put(client(hash('key 7'), { id: 'c7', tier: 'free', disabled: true }))
    return write.call(this, writes)
  })
  const { code, err } = await importing(text)
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(
      'written: 11 of 12 clients\nleft as they are, because they were changed at the same moment: c7\n',
    ),
  ])
  jest.restoreAllMocks()
  expect((await at.json(['clients', 'get', 'c7'])).tier).toBe('free')
  expect((await importing(text, '--dry-run')).out).toContain('0 credentials to add, 1 to change, 11 unchanged')
})

test.each(['an outage', 'Ctrl-C'])('%s stops it, which says how far it came; a second run continues', async (what) => {
  const text = ['id,tier,key', ...Array.from({ length: 30 }, (_, i) => `c${i},pro,key ${i}`)].join('\n')
  const interrupts = new Interrupts()
  const write = ConfigTable.prototype.write
  let writes = 0
  jest.spyOn(ConfigTable.prototype, 'write').mockImplementation(async function (this: ConfigTable, all) {
    if (++writes === 15) {
      if (what === 'Ctrl-C') interrupts.press()
      else throw Object.assign(new Error('down'), { $metadata: { httpStatusCode: 503 } })
    }
    return write.call(this, all)
  })
  const { code, err } = await at.sluice(['clients', 'import', file(text), '--yes'], { interrupts })
  const written = (await stored()).length
  expect([code, err]).toEqual([
    what === 'Ctrl-C' ? 130 : 2,
    expect.stringContaining(`written: ${written} of 30 clients\n`),
  ])
  expect(written).toBeLessThan(30)
  jest.restoreAllMocks()
  expect((await importing(text)).out).toContain(`${30 - written} credentials to add, 0 to change, ${written} unchanged`)
  expect(await stored()).toHaveLength(30)
})

test('an invalid record is told, and the others are exported all the same', async () => {
  await at.put(CLIENTS[0]!, { pk: 'client#user:1', sk: 'client', id: 'no-tier' })
  const { code, out, err } = await at.sluice(['clients', 'export'])
  expect([code, out, err]).toEqual([
    1,
    expect.stringContaining('acme,pro,'),
    '1 invalid records are left out:\nuser:1: tier is missing, it must be the name of a tier (client)\n',
  ])
})
