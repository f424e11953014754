import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { accessLogLine } from '../../../provisioning/access-log'
import { sluice } from '../command-line'

const T = 1_800_000_000_000
const TIERS = `
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 2, window: 1m, algorithm: fixed-window }] }
  free: { policies: [{ name: per-minute, limit: 3, window: 1m, algorithm: fixed-window }] }
routes:
  "POST /batch": { cost: 3 }
`
const line = (fields: object) => JSON.stringify(fields)
const requests = (count: number, fields: object = { client: 'acme', tier: 'free' }) =>
  Array.from({ length: count }, (_, i) => line({ time: T + i, ...fields })).join('\n')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'simulate-'))
  writeFileSync(join(folder, 'tiers.yaml'), TIERS)
  writeFileSync(join(folder, 'looser.yaml'), TIERS.replace('limit: 3', 'limit: 100'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string, content: string | Buffer) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}
const simulate = (args: readonly string[], typed?: string) =>
  sluice(['simulate', '--tiers', join(folder, 'tiers.yaml'), ...args], { ...(typed !== undefined && { typed }) })
const log = (content: string | Buffer, ...args: string[]) => simulate(['--log', file('log', content), ...args])
const json = async (content: string | Buffer, ...args: string[]) => {
  const { code, out, err } = await log(content, '--json', ...args)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

describe('logs of each format', () => {
  const CLF = [0, 1, 2, 3].map((i) => `198.51.100.7 - bob [15/Jan/2027:08:00:0${i} +0000] "GET /x?y=1 HTTP/1.1" 200 12`)
  const EVENTS = {
    events: [0, 1, 2, 3].map((i) => ({ timestamp: T + i, message: line({ client: 'acme', tier: 'free' }) })),
  }
  const ROWS = [0, 1, 2, 3].map((i) => [
    { field: '@timestamp', value: `2027-01-15 08:00:00.00${i}` },
    { field: '@message', value: line({ client: 'acme', tier: 'free' }) },
  ])

  it.each([
    ['JSON lines', requests(4)],
    ['JSON lines, CRLF and a BOM', `\ufeff${requests(4).replaceAll('\n', '\r\n')}\r\n`],
    ['gzip of several members', Buffer.concat([gzipSync(`${requests(2)}\n`), gzipSync(requests(2))])],
    [
      'filter-log-events',
      JSON.stringify(
        { ...EVENTS, searchedLogStreams: [{ logStreamName: 'a', searchedCompletely: true }] },
        undefined,
        4,
      ),
    ],
    ['the same in one line', JSON.stringify(EVENTS)],
    [
      'two pages of it',
      `${JSON.stringify({ events: EVENTS.events.slice(0, 2) })}\n${JSON.stringify({ events: EVENTS.events.slice(2) })}`,
    ],
    [
      'get-query-results',
      JSON.stringify(
        { queryLanguage: 'CWLI', results: ROWS, statistics: { bytesScanned: 1 }, status: 'Complete' },
        undefined,
        4,
      ),
    ],
    [
      'CSV',
      `ts,client,tier\n${[0, 1, 2, 3].map((i) => `${T + i},"acme","fr""ee"`).join('\n')}`.replaceAll('fr""ee', 'free'),
    ],
    [
      'CSV of Logs Insights',
      `@timestamp,@message\n${[0, 1, 2, 3].map((i) => `2027-01-15 08:00:00.00${i},"${line({ client: 'acme', tier: 'free' }).replaceAll('"', '""')}"`).join('\n')}`,
    ],
  ])('%s', async (_, content) => {
    expect(await json(content)).toMatchObject({
      requests: 4,
      allowed: 3,
      denied: 1,
      unreadable: 0,
      policies: [{ tier: 'free', policy: 'per-minute', allowed: 3, denied: 1 }],
      clients: [{ client: 'client:acme', requests: 4, denied: 1, firstDeniedBy: 'per-minute' }],
    })
  })

  it('without a config table, which is said', async () => {
    const { out } = await log(requests(2))
    expect(out).toContain('\nNo config table was asked (--table, --stack or --endpoint names one): overrides, blocks')
    expect((await json(requests(2))).asked).toMatchObject({ table: null, clients: 0, blocks: 0 })
  })

  it('the Common Log Format, whose times are in whole seconds, which is said', async () => {
    const report = await json(CLF.join('\n'), '--tier', 'free')
    expect(report).toMatchObject({ requests: 4, denied: 1, wholeSeconds: 4, clients: [{ client: 'user:bob' }] })
    expect(report.notes.join()).toContain('whole seconds')
  })

  it('standard input, and several files by time', async () => {
    expect((await simulate(['--log', '-', '--json'], requests(4))).out).toContain('"denied": 1')
    const [a, b] = [
      file('a', `${line({ time: T, client: 'a', tier: 'free' })}\n${line({ time: T + 90_000, client: 'a' })}`),
      file('b', line({ time: T + 5, client: 'b' })),
    ]
    const { out } = await simulate(['--log', a, b, '--json', '--reorder', '0'])
    expect(JSON.parse(out)).toMatchObject({ requests: 3, from: '2027-01-15T08:00:00Z', to: '2027-01-15T08:01:30Z' })
  })

  it.each([
    ['seconds', T / 1000],
    ['seconds with a fraction', T / 1000 + 0.25],
    ['milliseconds as text', String(T)],
    ['microseconds', T * 1000],
    ['ISO 8601', '2027-01-15T08:00:00.000Z'],
    ['ISO 8601 with an offset', '2027-01-15T09:00:00.5+01:00'],
    ['in summer time', '15/Jul/2026:01:30:00 +0200'],
  ])('a time in %s', async (name, time) => {
    const { from } = await json(line({ time, client: 'a', tier: 'free' }))
    expect(from).toBe(name === 'in summer time' ? '2026-07-14T23:30:00Z' : '2027-01-15T08:00:00Z')
  })

  it('an hour that clocks go through twice has two different times', async () => {
    const times = ['25/Oct/2026:02:30:00 +0200', '25/Oct/2026:02:30:00 +0100']
    const { from, to } = await json(times.map((time) => line({ time, client: 'a' })).join('\n'))
    expect([from, to]).toEqual(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'])
  })
})

/** A line in Sluice's format as API Gateway writes it, which escapes nothing. */
const forged = (path: string) =>
  accessLogLine((name) => (name === 'requestTimeEpoch' ? T : name)).replace('"path":"path"', `"path":"${path}"`)

describe('what cannot be read', () => {
  const good = requests(2)
  it.each([
    ['no JSON', 'nonsense {', 'it is not valid JSON'],
    ['a name twice', `{"time":${T},"client":"a","client":"b"}`, 'it has "client" twice'],
    ['a name twice, with a space', `{"time":${T},"client" :"a","client":"b"}`, 'it has "client" twice'],
    ['a name twice, once escaped', `{"time":${T},"client":"a","path":"","\\u0063lient":"b"}`, 'it has "client" twice'],
    ['a name twice, inside', `{"time":${T},"identity":{"user":"a","agent":"","user":"b"}}`, 'it has "user" twice'],
    ['a field twice, of a row', `[{"field":"client","value":"a","value":"b"}]`, 'it has "value" twice'],
    [
      'a caller in a path',
      forged('/x","client":"acme","x":"'),
      'it has "client" where Sluice\'s format has no such name',
    ],
    ['a user in a path', forged('/x","userId":"7'), 'it has "userId" where Sluice\'s format has no such name'],
    ['a subject in a path', forged('/x","subject":"client:acme'), 'it has "subject" twice'],
    ['no time', '{"client":"a"}', 'it has no time'],
    ['no zone', '{"time":"2027-01-15T08:00:00"}', 'has no time zone'],
    ['a day that is none', '{"time":"2027-02-30T08:00:00Z"}', 'is not a valid date'],
    ['a line of a megabyte', `{"time":${T},"x":"${'x'.repeat(1e6)}"}`, 'it is too long'],
  ])('%s is counted and shown with its number', async (_, bad, why) => {
    const report = await json(`${good}\n${bad}\n${line({ time: T + 9, client: 'b' })}`)
    expect(report).toMatchObject({ requests: 3, unreadable: 1, unreadableLines: [{ line: 3 }] })
    expect(report.unreadableLines[0].why).toContain(why)
  })

  it.each<readonly [string, () => string | Buffer, readonly string[], RegExp]>([
    [
      'a truncated gzip',
      () => gzipSync(requests(2000)).subarray(0, 400),
      [],
      /is a truncated gzip file, so nothing is reported/,
    ],
    [
      'a truncated document',
      () => '{\n "events": [\n {"timestamp": 1800000000000, "message": "{}"}',
      [],
      /is truncated JSON, so nothing is reported/,
    ],
    ['an empty log', () => '', [], /has no request/],
    ['a log of empty lines', () => '\n\r\n\n', [], /has no request/],
    [
      'lines of which none can be read',
      () => '{"a":1}\n{"a":2}',
      [],
      /none of 2 lines of .* can be read, for example\n.*:1: it has no time/,
    ],
    ['no known format', () => 'hello\nworld', [], /has an unknown format\. Known are/],
    [
      'a log out of order',
      () => `${line({ time: T + 61_001 })}\n${line({ time: T })}`,
      [],
      /line 2: its time .* is 61 s before that of line 1/,
    ],
    ['two columns of one name', () => 'time,client,client\n1,2,3', [], /two columns have the heading "client"/],
    ['a field that --map misspells', () => requests(1), ['--map', 'tme=x'], /there is no field "tme"/],
    ['a gate with a typo', () => requests(1), ['--fail-if', 'newly-denied-client > 0'], /--fail-if must compare/],
    ['a gate of no comparison', () => requests(1), ['--fail-if', 'denied < 1'], /--fail-if must compare/],
    ['a gate that needs --against', () => requests(1), ['--fail-if', 'newly-denied-clients > 0'], /needs --against/],
    ['a zone whose clocks change', () => requests(1), ['--timezone', 'Europe/Berlin'], /must be UTC or an offset/],
  ])('%s is an error, and nothing is reported', async (_, content, args, message) => {
    const { code, out, err } = await log(content(), ...args)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(message)
  })

  it('a quote of CSV that never ends takes no more than its own lines', async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `${T + i},client-number-${i},free`)
    const report = await json(`time,client,tier\n${T},"acme,free\n${lines.join('\n')}`)
    expect(report.unreadable).toBeGreaterThan(0)
    expect(report.requests).toBeGreaterThan(500)
  })
})

describe('callers, tiers and routes', () => {
  it('a caller may have any name', async () => {
    const names = ['__proto__', 'constructor', '<b>&"x"', '\u001b[31m', 'ä'.repeat(200)]
    const content = names.map((client, i) => line({ time: T + i, client, tier: 'free' })).join('\n')
    const page = join(folder, 'page.html')
    const report = await json(content, '--html', page)
    expect(report.clients.map((one: { client: string }) => one.client)).toEqual(names.map((name) => `client:${name}`))
    const html = readFileSync(page, 'utf8')
    expect(html).not.toContain('<b>')
    expect(html).toContain('client:&#60;b&#62;')
    expect(html).not.toMatch(/<link|<img|url\(|https?:\/\/|\son\w+=|javascript:/)
    const scripts = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, text]) => text!)
    expect([html.match(/<script/g)!.length, scripts.length]).toEqual([1, 1]) // sorts tables, and is the only one that may run
    expect(html).toContain(`script-src 'sha256-${createHash('sha256').update(scripts[0]!).digest('base64')}'"`)
  })

  it('a key that may be a secret is shown by its hash', async () => {
    const { out } = await log(line({ time: T, key: 'slc_topsecret', tier: 'free' }), '--json')
    expect(out).not.toContain('topsecret')
  })

  it('a tier that the file does not have is named, and decided as the authorizer does', async () => {
    const report = await json(requests(3, { client: 'a', tier: 'gold', ip: '198.51.100.1' }))
    expect(report).toMatchObject({ denied: 1, policies: [{ tier: 'anonymous' }] })
    expect(report.notes.join()).toContain('tier "gold" is not in')
  })

  it('who was not let in then takes nothing', async () => {
    const content = `${requests(9, { ip: '198.51.100.1', reason: 'unauthorized' })}\n${requests(2, { ip: '198.51.100.1' })}`
    expect(await json(content)).toMatchObject({ requests: 11, allowed: 2, denied: 0, undecided: { unauthorized: 9 } })
  })

  it('costs are those of the route', async () => {
    const content = requests(2, { client: 'a', tier: 'free', method: 'POST', path: '/batch' })
    expect(await json(content)).toMatchObject({ allowed: 1, denied: 1, routes: [{ route: 'POST /batch' }] })
  })
})

describe('comparing', () => {
  const looser = () => join(folder, 'looser.yaml')

  it('names who is newly denied, with the first moment, and a gate exits with 3', async () => {
    const content = `${requests(5)}\n${requests(2, { client: 'calm', tier: 'free' })}`
    const report = await json(content, '--against', looser())
    expect(report).toMatchObject({
      against: { denied: 0 },
      newlyDeniedClients: 1,
      newlyDeniedRequests: 2,
      newlyDenied: [
        { client: 'client:acme', requests: 2, firstDeniedAt: new Date(T + 3).toISOString(), policy: 'per-minute' },
      ],
      noLongerDeniedClients: 0,
    })
    const { code, out, err } = await log(content, '--against', looser(), '--fail-if', 'newly-denied-clients > 0')
    expect([code, err.trim()]).toEqual([3, '--fail-if "newly-denied-clients > 0": it is 1'])
    expect(out).toContain('1 client newly denied')
  })

  it('says what changed, and of each client what denied it, how often and when', async () => {
    const content = [requests(5), requests(2, { client: 'calm', tier: 'free' })].join('\n')
    const { changes, newlyDenied, firstNewlyDeniedAt, clients } = await json(content, '--against', looser())
    const [was, is] = [100, 3].map(
      (limit) => `{ name: per-minute, algorithm: fixed-window, limit: ${limit}, window: 1m }`,
    )
    expect(changes).toEqual([{ item: 'tier free', lines: [`- ${was}`, `+ ${is}`] }])
    const [first, last] = [T + 3, T + 4].map((at) => new Date(at).toISOString())
    const denials = [{ policy: 'per-minute', limit: 3, window: '1m', requests: 2, firstAt: first, lastAt: last }]
    expect(firstNewlyDeniedAt).toBe(first)
    expect(newlyDenied).toMatchObject([{ client: 'client:acme', denials }])
    expect(clients.map((one: { denials: unknown }) => one.denials)).toEqual([denials, []])
    const { out } = await log(content, '--against', looser())
    expect(out.split('\n').slice(5, 10).join('\n')).toMatch(
      /^tier free\n {2}- .*\n {2}\+ .*\n\n1 client newly denied, 0 no/,
    )
  })

  it('prints what was denied and why on one screen, and the rest with --all', async () => {
    const clients = Array.from({ length: 30 }, (_, i) => requests(2 + (i % 4), { client: `c${i}`, tier: 'free' }))
    const args = ['--against', looser(), '--top', '3']
    const { out } = await log(clients.join('\n'), ...args)
    expect(out.split('\n').length).toBeLessThan(24)
    expect(out).toContain('\n… and 11 more (--top)\n')
    expect(out).toMatch(/\ntier +policy +limit +allowed +denied +before.*\nfree +per-minute +3 per 1m +82 +21 +0/)
    const rest = ['\nnearest to a limit', 'in DynamoDB, $', 'Not known from a log:']
    for (const text of rest) expect(out).not.toContain(text)
    const { out: all } = await log(clients.join('\n'), ...args, '--all')
    for (const text of [...rest, '… and 11 more (--top)']) expect(all).toContain(text)
  })

  it('says of a client which policies denied it, and how often each', async () => {
    const tiers = file(
      'two.yaml',
      `
tiers:
  anonymous: { policies: [] }
  free: { policies: [{ name: few, limit: 2, window: 1s }, { name: many, limit: 4, window: 1m }] }
`,
    )
    const content = Array.from({ length: 9 }, (_, i) => line({ time: T + i * 300, client: 'acme', tier: 'free' }))
    const { out } = await sluice(['simulate', '--tiers', tiers, '--log', file('log', content.join('\n'))])
    expect(out).toMatch(/\nclient:acme +free +9 +5 +\S+ +few 3, many 2\n/)
  })

  it('counts what a share denies, and says so of the policy and of the client', async () => {
    const greedy = Array.from({ length: 4000 }, (_, i) =>
      line({ time: T + i * 20, client: i % 4 > 0 ? 'greedy' : `c${(i / 4) % 5}`, tier: 'free' }),
    ).join('\n')
    const tiers = file(
      'fair.yaml',
      `
tiers:
  anonymous: { policies: [] }
  free: { policies: [{ name: all, by: global, algorithm: fixed-window, limit: 200, window: 10s, fair: true }] }
`,
    )
    const { code, out } = await sluice(['simulate', '--tiers', tiers, '--log', file('log', greedy), '--json'])
    const { denied, policies, clients } = JSON.parse(out)
    const [{ byShare, denied: ofAll }] = policies
    expect([code, ofAll]).toEqual([0, denied])
    expect(byShare).toBeGreaterThan(0)
    expect(clients[0]).toMatchObject({ client: 'client:greedy' })
    const ofGreedy = clients[0].denials as { policy: string; requests: number }[]
    expect(ofGreedy.map(({ policy }) => policy).sort()).toEqual(['all', 'all.share'])
    expect(ofGreedy.reduce((sum, one) => sum + one.requests, 0)).toBe(clients[0].denied)
    const text = await sluice(['simulate', '--tiers', tiers, '--log', join(folder, 'log')])
    expect(text.out).toMatch(/\d+ by share/)
  })

  it.each([
    ['denied > 1', 3],
    ['denied > 2', 0],
    ['denied >= 2', 3],
    ['denied = 2', 3],
    ['denied-share >= 40%', 3],
    ['denied-share > 40', 0],
    ['client:acme > 0', 3],
    ['client:client:acme = 2', 3],
    ['client:nobody > 0', 0],
    ['unreadable > 0', 0],
  ])('--fail-if "%s" exits with %d', async (gate, code) => {
    expect((await log(requests(5), '--fail-if', gate)).code).toBe(code)
  })

  it('suggests the lowest limit that nobody would have met', async () => {
    const { suggestions } = await json(`${requests(7)}\n${requests(2, { client: 'calm', tier: 'free' })}`, '--suggest')
    expect(suggestions).toEqual([{ tier: 'free', policy: 'per-minute', limit: 3, suggested: 7, met: 0, subjects: 2 }])
  })

  it.each([
    [999, 9, 0],
    [1000, 5, 1],
  ])(
    'suggests for %i clients the lowest limit that at most one in a thousand would have met: %i',
    async (subjects, suggested, met) => {
      const many = Array.from({ length: subjects - 2 }, (_, i) => requests(1, { client: `c${i}`, tier: 'free' }))
      const busy = [requests(9, { client: 'one', tier: 'free' }), requests(5, { client: 'other', tier: 'free' })]
      const { suggestions } = await json([...many, ...busy].join('\n'), '--suggest')
      expect(suggestions).toMatchObject([{ suggested, met, subjects }])
    },
  )
})

it('suggests one limit for what counts callers of all tiers together', async () => {
  const tiers = `${TIERS}global: { policies: [{ name: all, by: api, limit: 5, window: 1m, consistency: strict }] }\n`
  const content = `${requests(4)}\n${requests(4, { ip: '198.51.100.1' })}`
  const args = ['--tiers', file('everybody.yaml', tiers), '--suggest', '--json']
  const { suggestions } = JSON.parse((await log(content, ...args)).out)
  expect(suggestions).toEqual([
    { tier: null, policy: 'all', limit: 5, suggested: 8, met: 0, subjects: 1 },
    { tier: 'free', policy: 'per-minute', limit: 3, suggested: 4, met: 0, subjects: 1 },
    { tier: 'anonymous', policy: 'per-minute', limit: 2, suggested: 4, met: 0, subjects: 1 },
  ])
  const { out } = await log(content, ...args.slice(0, -1))
  expect(out).toMatch(/limits that at most 0\.1 % of callers[^\n]*\n.*suggested.*\n\(all\) +all +5 +8 +0 of 1\n/)
})

describe('patterns', () => {
  it('have the same result each time', async () => {
    const pattern = ['--pattern', '1/s for 10s, then 2/s for 5s', '--clients', '2', '--tier', 'free', '--json']
    const { out } = await simulate(pattern)
    expect(JSON.parse(out)).toMatchObject({ requests: 20, allowed: 6, denied: 14, clientCount: 2 })
    expect((await simulate(pattern)).out).toBe(out)
  })

  it.each(['20 for 5m', '20/s', '20/s for 5 minutes', '0/s for 1m'])('%s is an error', async (pattern) => {
    const { code, err } = await simulate(['--pattern', pattern])
    expect([code, err]).toEqual([1, expect.stringContaining('--pattern')])
  })
})
