import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { parse } from 'yaml'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { printChanges } from '../../cli/tiers/diff-text'
import { runs, thoroughly } from '../runs'
import { ENGINES } from '../stores'
import { type Deployment, deploy, type Situation, sluice, TIERS } from './command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
/** Writes a file of its own, and gives its path. */
function write(content: unknown): string {
  const path = join(folder, `tiers-${files++}.yaml`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const read = (path: string) => readFileSync(path, 'utf8')

const limit = (count: number) => ({ policies: [{ name: 'per-minute', limit: count, window: '1m' }] })
const anonymous = { by: 'ip', ...limit(20) }

describe('a file', () => {
  it('is validated without a table', async () => {
    expect(await sluice(['tiers', 'validate', 'tiers.yaml'])).toEqual({
      code: 0,
      out: 'tiers.yaml is valid: 4 tiers, 4 routes\n',
      err: '',
    })
    const file = write(
      'tiers:\n  anonymous: { policies: [ { name: a, limit: 0, window: 1m } ] }\n  free: { polices: [] }\n',
    )
    const { code, out, err } = await sluice(['tiers', 'validate', file])
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(`limit must be a positive integer, got 0 (${file}:2, tier "anonymous", policy "a")`)
    expect(err).toContain(`unknown field "polices", did you mean "policies"? (${file}:3, tier "free")`)
  })

  it.each([
    ['tiers: [', 'Flow sequence in block collection must be'],
    ['7', 'it must have a field "tiers" with tiers by name'],
    ['tiers: {}', 'tiers must have "anonymous", the tier of callers without a known key'],
    ['tiers: { anonymous: { policies: [] } }\nglobal: { policies: 7 }', 'policies must be a list, got 7'],
    ['tiers: { anonymous: { policies: [] } }\nexported: 7', 'exported must be as tiers export wrote it'],
  ])('%j is rejected with the file’s name', async (text, message) => {
    const path = write(text)
    const { code, out, err } = await sluice(['tiers', 'validate', path])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(message)
    expect(err).toContain(path)
  })

  it('names the line of each mistake: of the field, of what misses one, through anchors and in JSON', async () => {
    const path = write(
      [
        'settings:',
        '  identity: [api-key, { source: jwt }]',
        '  defaultTier: fre',
        'tiers:',
        '  anonymous: &a',
        '    policies:',
        '      - name: x',
        '        limit: 0',
        '        window: 1m',
        '      - { limit: 1, window: 1 minute }',
        '  free: *a',
        'routes:',
        '  GET /a: { cost: -1 }',
        '',
      ].join('\n'),
    )
    const { err } = await sluice(['tiers', 'validate', path])
    const lines = [...err.matchAll(/^ {2}- (\w+).*\((.*?):(\d+)(?:, (.*))?\)$/gm)]
    const told = lines.map(([, field, file, line, place]) => [field, file === path, Number(line), place])
    expect(told).toEqual(
      expect.arrayContaining([
        ['limit', true, 8, 'tier "anonymous", policy "x"'],
        ['window', true, 10, 'tier "anonymous", policy 2'],
        ['cost', true, 13, 'route "GET /a"'],
        ['issuer', true, 2, 'settings, source 2'],
        ['limit', true, 8, 'tier "free", policy "x"'],
      ]),
    )
    expect(err.split('\n').filter((line) => line.startsWith('  - ') && !/yaml:\d+/.test(line))).toEqual([])
    const json = write(JSON.stringify({ tiers: { anonymous: { policies: [], polices: 1 } } }, null, 2))
    expect((await sluice(['tiers', 'validate', json])).err).toContain(`(${json}:5, tier "anonymous")`)
  })

  it('that does not exist is rejected', async () => {
    expect(await sluice(['tiers', 'validate', 'nowhere.yaml'])).toEqual({
      code: 1,
      out: '',
      err: 'there is no file nowhere.yaml\n',
    })
  })
})

describe.each(ENGINES)('tiers on %s', (engine) => {
  let at: Deployment
  beforeEach(async () => {
    at = await deploy(engine)
    await at.put(...TIERS)
  })
  afterEach(async () => at?.close())

  const exported = async (): Promise<string> => write((await at.sluice(['tiers', 'export'])).out)
  const apply = (path: string, ...options: string[]) => at.sluice(['tiers', 'apply', path, ...options])
  const keys = async (): Promise<string[]> => (await at.json(['tiers', 'list'])).map(({ sk }: { sk: string }) => sk)

  it('are listed and shown', async () => {
    const { out } = await at.sluice(['tiers', 'list'])
    expect(out).toMatch(/^tier anonymous +ip +per-minute: 20 per 1m$/m)
    expect(out).toMatch(/^ +per-day: 1000 per 1d, algorithm: fixed-window$/m)
    const running = { name: 'running', algorithm: 'concurrency', limit: 3, timeout: '1m' }
    await at.put({ pk: 'policy-set', sk: 'route#POST /chat', policies: [running] })
    expect((await at.sluice(['tiers', 'list'])).out).toContain('running: 3 at once, algorithm: concurrency')
    expect((await at.sluice(['tiers', 'get', 'pro'])).out).toBe(
      'tiers:\n  pro:\n    policies:\n      - { name: per-minute, limit: 600, window: 1m }\n',
    )
    expect(await at.json(['tiers', 'get', 'pro'])).toEqual({
      name: 'pro',
      policies: [{ name: 'per-minute', limit: 600, window: '1m' }],
    })
    expect(await at.sluice(['tiers', 'get', 'gold'])).toEqual({
      code: 1,
      out: '',
      err: 'there is no tier "gold": known are anonymous, free, pro\n',
    })
  })

  it('with errors are marked as not in force', async () => {
    const broken = { pk: 'policy-set', sk: 'tier#broken', policies: [{ name: 'per-minute', limit: 0, window: '1m' }] }
    await at.put(broken)
    const sentence = 'limit must be a positive integer, got 0 (item "tier#broken", tier "broken", policy "per-minute")'
    const { out } = await at.sluice(['tiers', 'list'])
    expect(out).toMatch(
      /^tier broken +invalid, the last valid version stays in force: limit must be a positive integer, got 0/m,
    )
    expect((await at.json(['tiers', 'list'])).find(({ sk }: { sk: string }) => sk === broken.sk).mistakes).toEqual([
      { code: 'invalid_value', message: sentence },
    ])
    await at.client.send(
      new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: { pk: { S: broken.pk }, sk: { S: broken.sk } } }),
    )
  })

  it('differ by a text that looks like a number or a truth value', async () => {
    const notes = { '20': 20, true: true, '1m': '1m' }
    for (const [text, other] of Object.entries(notes)) {
      const lines = [text, other].map((value) => {
        const lines: string[] = []
        const item = { pk: 'policy-set', sk: 'settings', defaultTier: value }
        const print = { line: (line: string) => lines.push(line), style: (_: string, line: string) => line }
        printChanges([{ sk: 'settings', kind: 'add', after: item }], print as never)
        return lines.join('\n')
      })
      expect(lines[0] === lines[1]).toBe(text === other)
    }
  })

  it('are exported to a file that changes nothing when applied', async () => {
    await at.put({ pk: 'policy-set', sk: 'global', policies: [{ name: 'all', limit: 9, window: '1s' }] })
    await at.put({ pk: 'policy-set', sk: 'settings', defaultTier: 'free' }, { pk: 'policy-set', sk: 'block#client#x' })
    const path = await exported()
    const before = read(path)
    expect(parse(before)).toMatchObject({ settings: { defaultTier: 'free' }, global: { policies: [{ name: 'all' }] } })
    expect(await apply(path, '--prune')).toEqual({ code: 0, out: 'no changes\n', err: '' })
    expect(read(path)).toBe(before)
    expect(await at.json(['block', 'list'])).toHaveLength(1)
  })

  it('are applied after a diff and a confirmation; a second apply changes nothing', async () => {
    const path = await exported()
    writeFileSync(
      path,
      read(path).replace('limit: 600', 'limit: 700').replace('tiers:\n', 'tiers: # ours\n  gold: { policies: [] }\n'),
    )
    const shown =
      '+ tier gold\n~ tier pro\n    - { name: per-minute, limit: 600, window: 1m }\n    + { name: per-minute, limit: 700, window: 1m }\n'
    expect(await at.sluice(['tiers', 'diff', path])).toEqual({ code: 0, out: `${shown}1 added, 1 changed\n`, err: '' })

    const answer = (typed: string): Situation => ({ typed })
    const no = await at.sluice(['tiers', 'apply', path], answer('no\n'))
    expect(no).toEqual({
      code: 1,
      out: `${shown}1 added, 1 changed\n`,
      err: `table sluice-config at ${at.endpoint}: Apply this? [y/N] nothing was written\n`,
    })
    expect(await keys()).toHaveLength(3)

    const yes = await at.sluice(['tiers', 'apply', path], answer('y\n'))
    expect([yes.code, yes.out]).toEqual([0, `${shown}1 added, 1 changed\napplied: 1 added, 1 changed\n`])
    expect(await keys()).toEqual(['tier#anonymous', 'tier#free', 'tier#gold', 'tier#pro'])
    expect(await at.json(['tiers', 'get', 'pro'])).toMatchObject({ policies: [{ limit: 700 }] })
    expect(await apply(path)).toEqual({ code: 0, out: 'no changes\n', err: '' })

    // The file knows of it, and says it in its own words otherwise.
    expect(read(path)).toContain('tiers: # ours\n  gold: { policies: [] }\n')
    writeFileSync(path, read(path).replace('limit: 700', 'limit: 800'))
    expect((await apply(path, '--yes')).code).toBe(0)
    expect(readdirSync(folder).filter((name) => name.includes('.tmp'))).toEqual([])
  })

  it('that somebody edited since the export are not overwritten without --force', async () => {
    const path = await exported()
    writeFileSync(path, read(path).replace('limit: 600', 'limit: 700'))
    await at.put({ pk: 'policy-set', sk: 'tier#free', ...limit(61) }) // of no concern
    expect((await at.json(['tiers', 'diff', path])).conflicts).toEqual(['tier#free'])
    await at.put(TIERS[1], { pk: 'policy-set', sk: 'tier#pro', ...limit(650) })
    const refused = await apply(path, '--yes')
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('nothing was written, because of edits after the export (tier pro)'),
    ])
    expect(await at.json(['tiers', 'get', 'pro'])).toMatchObject({ policies: [{ limit: 650 }] })
    expect((await apply(path, '--yes', '--force')).code).toBe(0)
    expect(await at.json(['tiers', 'get', 'pro'])).toMatchObject({ policies: [{ limit: 700 }] })
  })

  it('missing in the file are kept, or deleted with --prune, which lists their clients', async () => {
    const path = write({ tiers: { anonymous, pro: limit(600) } })
    const kept = await apply(path, '--yes')
    expect(kept).toEqual({
      code: 0,
      out: 'no changes\n',
      err: 'only in the table, kept unless you use --prune: tier free\n',
    })
    await at.json(['clients', 'create', 'acme', '--tier', 'free'])
    await at.json(['block', 'add', 'acme'])
    const pruned = await apply(path, '--yes', '--prune')
    expect([pruned.code, pruned.err]).toEqual([
      0,
      expect.stringContaining('warning: clients whose tier is deleted, 1: acme\n'),
    ])
    expect(await keys()).toEqual(['tier#anonymous', 'tier#pro'])
    expect(await at.json(['clients', 'list'])).toHaveLength(1)
    expect(await at.json(['block', 'list'])).toHaveLength(1)
  })

  it('are not applied if the table would become invalid', async () => {
    await at.put({ pk: 'policy-set', sk: 'route#GET /x', cost: 2 })
    const { code, err } = await apply(
      write({ tiers: { anonymous, free: limit(60) }, routes: { 'get /x': { cost: 3 } } }),
      '--yes',
    )
    expect([code, err]).toEqual([1, expect.stringContaining('match the same requests, keep one')])
    expect(await keys()).toHaveLength(4)
  })

  it('that do not fit one transaction are written in as few as they need, and the table stays valid', async () => {
    const { code, err, out } = await apply(write({ tiers: { anonymous, ...many(300) } }), '--yes', '--prune')
    expect([code, err]).toEqual([
      0,
      `302 changes do not fit one transaction: they are written in 4 steps\nwritten: table sluice-config at ${at.endpoint}\n`,
    ])
    expect(out.split('\n').length).toBeLessThan(320) // no diff of everything
    expect(out).toMatch(/^… and 202 more: sluice tiers diff shows all$/m)
    expect((await keys()).length).toBe(301)
  })

  thoroughly('that are more than the authorizer reads are refused by each command that would write them', async () => {
    const before = await keys()
    const path = write({ tiers: { anonymous, ...many(4900) } })
    const sentence = 'tiers, routes, settings and the block list must be at most 4900 items, got 4901'
    const writers = [
      () => apply(path, '--yes'),
      () => sluice(['tiers', 'validate', path]),
      () => at.sluice(['tiers', 'diff', path]),
    ]
    for (const write of writers.slice(0, runs(1, 3))) {
      const { code, err } = await write()
      expect([code, err]).toEqual([1, expect.stringContaining(sentence)])
    }
    expect(await keys()).toEqual(before)
  })
})

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`tier-${i}`, limit(i + 1)]))

describe('output with --json', () => {
  it('is one JSON document; without --yes a question is an error', async () => {
    const at = await deploy()
    try {
      const path = write({ tiers: { anonymous } })
      const refused = await at.sluice(['tiers', 'apply', path, '--json'])
      expect(refused).toEqual({
        code: 1,
        out: '',
        err: 'nothing was written: no terminal for the question, use --yes\n',
      })
      const plan = {
        added: ['tier#anonymous'],
        changed: [],
        removed: [],
        kept: [],
        conflicts: [],
        issues: [],
        warnings: [],
      }
      expect(await at.json(['tiers', 'diff', path])).toEqual(plan)
      expect(await at.json(['tiers', 'apply', path, '--yes'])).toEqual({ ...plan, applied: true })
      expect(await at.json(['tiers', 'list'])).toEqual([{ sk: 'tier#anonymous', ...anonymous }])
    } finally {
      await at.close()
    }
  })
})
