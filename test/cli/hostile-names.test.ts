import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { Printer, printable } from '../../cli/terminal/output'
import { toLines, type View } from '../../cli/top/text'
import { type Deployment, deploy, type Said } from './command-line'

/**
 * A row of a table, a line that is drawn over, text that cannot be seen, and text that reads otherwise. None is a valid
 * name of a tier.
 */
const HOSTILE = [
  'x!\nclient:victim  anonymous  999999  999999',
  'x!\r\u001b[2Kclient:victim\t1',
  'x!\u001b[8mhidden\u001b[31m\u001b[1m',
  'x!\u001b[1234;5678;9012;31mred',
  'x!\u001b]0;title\u0007\u009b2J\u0085\u007f',
  'x!\u202egnp.\u2066exe\u2069\u200f',
  'v!ic\u200btim\ufeff\u00ad\u2060\u{e0041}\ufe0f',
  'x!\ufff9\u2028y\u2029\u0000\u000bz',
]

/** Whatever a terminal acts on instead of showing it, beside the end of a line. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape sequences
const COLOURS = /\u001b\[\d{1,2}m/g

/** The lines and the colours of a text, which no name may change. */
const shapeOf = (text: string) => ({ lines: text.split('\n').length, colours: text.match(COLOURS) ?? [] })

/** A harmless name that is as valid as this one. */
const harmless = (name: string): string =>
  name.replace(new RegExp(UNSEEN.source.slice('(?!\\n)'.length), 'gu'), (one) => (/\s/.test(one) ? ' ' : 'z'))

const withoutColours = (text: string): string => text.replace(COLOURS, '')

let at: Deployment
let folder: string
beforeAll(async () => {
  at = await deploy()
  folder = mkdtempSync(join(tmpdir(), 'sluice-names-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await at.close()
})

/** Items in which others wrote this name wherever they can. */
const itemsWith = (name: string) => [
  { pk: 'policy-set', sk: 'tier#anonymous', by: 'ip', policies: [{ name: 'm', limit: 9, window: '1m' }], note: name },
  { pk: 'policy-set', sk: 'tier#free', policies: [{ name: 'm', limit: 9, window: '1m' }], [name]: name },
  { pk: 'policy-set', sk: `tier#${name}`, policies: [{ name, limit: 9, window: name }] },
  { pk: 'policy-set', sk: `route#GET /${name}`, cost: name },
  { pk: 'policy-set', sk: `block#client#${name}`, reason: name, note: name },
  { pk: 'policy-set', sk: `allow#ip#${name}`, reason: name },
  { pk: 'policy-set', sk: 'api#shop', label: name, name },
  { pk: 'client#0', sk: 'client', id: 'plain', tier: 'free', name, note: name, overrides: { [name]: { limit: 1 } } },
  { pk: 'client#1', sk: 'client', id: name, tier: 'free' },
  { pk: 'client#2', sk: 'client', id: 'other', tier: name, usageIdentifierKey: name, expiresAt: name },
  { pk: `client#${name}`, sk: 'client', id: 'third', tier: 'free' },
]

const COMMANDS = [
  ['clients', 'list'],
  ['clients', 'get', 'plain'],
  ['clients', 'get', 'other'],
  ['clients', 'export'],
  ['tiers', 'list'],
  ['tiers', 'get', 'free', '--json'],
  ['tiers', 'export', '--json'],
  ['block', 'list'],
  ['apis', 'list'],
  ['history'],
  ['usage', 'plain'],
  ['usage', 'ip:203.0.113.7'],
  ['peek', 'plain'],
  ['whois', 'client#3q7nxGB6zC3q7nxGB6zC3q7nxGB6zC3q7nxGB6zC3q7'],
  ['forget', 'plain', '--dry-run'],
  ['doctor'],
  ['status'],
  ['hmac-key', 'status'],
  ['tiers', 'apply', 'FILE', '--dry-run', '--prune'],
  ['tiers', 'diff', 'FILE', '--prune'],
]

describe('whatever name somebody wrote into the tables', () => {
  const TIERS = 'tiers: { anonymous: { by: ip, policies: [{ name: n, limit: 3, window: 1m }] } }\n'
  beforeAll(() => writeFileSync(join(folder, 'tiers.yaml'), TIERS))
  const run = async (command: readonly string[], terminal: boolean) => {
    const args = command.map((word) => (word === 'FILE' ? join(folder, 'tiers.yaml') : word))
    return at.sluice(args, { terminal })
  }
  const written: { readonly pk: string; readonly sk: string }[] = []
  const write = async (name: string) => {
    const documents = DynamoDBDocumentClient.from(at.client)
    const TableName = LOCAL_TABLES.config
    for (const { pk, sk } of written.splice(0)) await documents.send(new DeleteCommand({ TableName, Key: { pk, sk } }))
    const items = itemsWith(name)
    await at.put(...items)
    written.push(...items)
  }

  it.each(HOSTILE.map((name) => [JSON.stringify(name), name]))(
    'a command prints as many lines, in the same colours, and all of it can be seen: %s',
    async (_, name) => {
      await write(harmless(name))
      const plain: Said[] = []
      for (const command of COMMANDS) plain.push(await run(command, true))
      await write(name)
      for (const [i, command] of COMMANDS.entries()) {
        const said = await run(command, true)
        for (const text of [said.out, said.err]) expect(withoutColours(text)).not.toMatch(UNSEEN)
        const { out, err } = plain[i]!
        expect([command, shapeOf(said.out), shapeOf(said.err)]).toEqual([command, shapeOf(out), shapeOf(err)])
        const json = await run([...command, '--json'], false)
        expect(json.out).not.toMatch(UNSEEN)
      }
    },
  )
})

describe('whatever name a log has', () => {
  const logOf = (name: string) => {
    const file = join(folder, 'log.jsonl')
    const line = (ip: string, more: object) =>
      JSON.stringify({ time: '1795456153328', method: 'GET', path: '/a', ip, status: '200', ...more })
    const lines = [name, name, 'b'].map((client) => line('203.0.113.7', { client, tier: name }))
    writeFileSync(file, [...lines, name.replace(/\n/g, ''), ''].join('\n'))
    return file
  }
  const tiers = () => {
    const file = join(folder, 'log-tiers.yaml')
    const policy = '{ name: h, limit: 1, window: 1h, algorithm: fixed-window }'
    writeFileSync(file, `tiers:\n  anonymous:\n    by: client\n    policies: [${policy}]\n`)
    return file
  }
  const simulate = (name: string, ...more: string[]) =>
    at.sluice(['simulate', '--log', logOf(name), '--tiers', tiers(), '--map', 'client=client', ...more], {
      terminal: true,
    })

  it.each(HOSTILE.map((name) => [JSON.stringify(name), name]))(
    'simulate prints as many lines, in the same colours: %s',
    async (_, name) => {
      const [plain, said] = [await simulate(harmless(name)), await simulate(name)]
      expect(withoutColours(said.out)).not.toMatch(UNSEEN)
      expect(withoutColours(said.out)).toContain(printable(name))
      expect(shapeOf(said.out)).toEqual(shapeOf(plain.out))
    },
  )

  it('the same as a page, and as JSON without loss', async () => {
    const html = join(folder, 'report.html')
    for (const name of HOSTILE) {
      const said = await simulate(name, '--html', html, '--json')
      expect(said.out).not.toMatch(UNSEEN)
      expect(JSON.parse(said.out).clients.map(({ client }: { client: string }) => client)).toContain(`client:${name}`)
      expect(readFileSync(html, 'utf8')).not.toMatch(UNSEEN)
    }
  })

  it('top shows a row for each caller', () => {
    const io = { stdout: { isTTY: true, write: () => {} }, stderr: { write: () => {} }, env: {} }
    const print = new Printer(io)
    for (const name of HOSTILE) {
      const row = {
        values: { client: name, route: name, tier: name },
        denials: 1,
        isLowerBound: false,
        last: 1,
        routes: [name],
      }
      const view = {
        source: { kind: 'log', name },
        at: 2000,
        by: ['client', 'tier', 'route'],
        summary: { from: 1000, denials: 1, isLowerBound: false, notLogged: 0, rows: [row] },
        rows: [row],
        names: new Map([[name, name]]),
        trouble: name,
      } as unknown as View
      const lines = toLines(view, print).map((line) => print.shown(line))
      expect(lines).toHaveLength(6)
      for (const line of lines) expect(stripVTControlCharacters(withoutColours(line))).not.toMatch(UNSEEN)
      expect(withoutColours(lines.at(-1)!)).toContain(printable(name))
    }
  })
})

describe('the printer', () => {
  it('keeps its own colours and escapes those in a name, inside and outside a colour', () => {
    const out: string[] = []
    const print = new Printer({
      stdout: { isTTY: true, write: (text: string) => out.push(text) },
      stderr: { write: () => {} },
      env: {},
    })
    const red = print.style('red', `a\u001b[0mb`)
    print.line(`${red} ${print.style('bold', red)}`)
    const shown = '\u001b[31ma\\u001b[0mb\u001b[39m'
    expect(out.splice(0).join('')).toBe(`${shown} \u001b[1m${shown}\u001b[22m\n`)
    print.table(['h'], [[red], [['one', 'two\nthree']]])
    expect(out.join('')).toBe(`\u001b[1mh\u001b[22m\n${shown}\none\ntwo\\nthree\n`)
  })

  it('writes what cannot be seen as JSON does, so that it can be read back', () => {
    for (const name of HOSTILE) expect(JSON.parse(`"${printable(name).replaceAll('"', '\\"')}"`)).toBe(name)
    expect(printable('Grüße, 世界 👋 \\n')).toBe('Grüße, 世界 👋 \\n')
  })
})
