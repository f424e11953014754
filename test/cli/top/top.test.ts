import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { LOCAL_TABLES } from '../../../cli/tables/local-engine'
import { GatewaySource } from '../../../cli/top/gateway-source'
import { keyRingItem } from '../../../lambda/config-table/items/key-ring'
import { HMAC_RING } from '../../../lambda/config-table/subject-keys'
import { subjectKey } from '../../../limiter/subject-key'
import { httpApi } from '../../../local/gateway/http-api'
import { RecentDenials } from '../../../local/gateway/recent-denials'
import { restApi } from '../../../local/gateway/rest-api'
import { type Deployment, deploy, sluice, TIERS } from '../command-line'
import { gatewayBefore, SECRET } from './denying-gateway'
import { fakeLogs } from './fake-logs'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const hashOf = (name: string) => subjectKey(name, SECRET)

let at: Deployment
beforeAll(async () => {
  at = await deploy()
  await at.put(...TIERS, keyRingItem(HMAC_RING, [{ secret: SECRET, activeFrom: 0 }]))
  await at.json(['clients', 'create', 'acme', '--tier', 'free'])
})
afterAll(async () => at?.close())

const ask = (url: string, path: string, key?: string) =>
  fetch(`${url}${path}`, key === undefined ? {} : { headers: { 'X-Api-Key': key } })

describe('sluice top at a local gateway', () => {
  it('counts each denial, names clients of the config table, and counts nothing else', async () => {
    const gateway = await gatewayBefore(at)
    const { url } = gateway
    for (let i = 0; i < 3; i++) await ask(url, '/hello', 'acme')
    await ask(url, '/search', 'acme')
    await ask(url, '/hello', 'nobody')
    await ask(url, '/hello', 'wrong')
    await ask(url, '/hello')
    const { out, code } = await at.sluice(['top', '--gateway', url, '--once', '--json'])
    const { code: plain, out: text, err } = await at.sluice(['top', '--gateway', url, '--once', '--by', 'client,route'])
    await gateway.close()
    expect([code, plain, err]).toEqual([0, 0, ''])
    const row = {
      tier: 'free',
      policy: 'per-minute',
      reason: 'over-limit',
      perSecond: expect.any(Number),
      isLowerBound: false,
    }
    expect(JSON.parse(out)).toEqual({
      source: { kind: 'gateway', name: url },
      from: expect.any(String),
      to: expect.any(String),
      denials: 6,
      perSecond: 6 / 300,
      isLowerBound: false,
      notLogged: 0,
      rows: [
        { ...row, client: 'client:acme', subject: hashOf('client:acme'), routes: ['GET /hello', 'GET /search'] },
        { ...row, client: null, subject: '', tier: '', policy: '', reason: 'unauthorized', routes: ['GET /hello'] },
        { ...row, client: null, subject: hashOf('client:nobody'), routes: ['GET /hello'] },
      ].map((one, i) => ({ ...one, denials: [4, 1, 1][i], last: expect.any(String) })),
      moreRows: 0,
    })
    expect(text.replaceAll(/ +/g, ' ')).toContain('\n3 0.01 client:acme GET /hello\n')
    expect(text).not.toContain('≥')
  })

  it('tells who is blocked, and that limits are off or observe', async () => {
    const gateway = await gatewayBefore(at)
    await at.json(['clients', 'create', 'barred', '--tier', 'free'])
    await at.json(['off', '--yes'])
    await at.put({ pk: 'policy-set', sk: 'settings @dev', apis: ['*/dev'], mode: 'observe' })
    await ask(gateway.url, '/hello', 'barred')
    const { out, err } = await at.sluice(['top', '--gateway', gateway.url, '--once'])
    await at.json(['on'])
    const settings = { pk: { S: 'policy-set' }, sk: { S: 'settings @dev' } }
    await at.client.send(new DeleteItemCommand({ TableName: LOCAL_TABLES.config, Key: settings }))
    await gateway.close()
    expect(out.replaceAll(/ +/g, ' ')).toMatch(/\n1 0\.0033 client:barred - - blocked GET \/hello\n/)
    expect(err).toMatch(/^limits are off since .*\nsettings @dev says mode: observe: requests are counted/)
  })

  it('hears of denials of HTTP APIs as well', async () => {
    const gateway = await gatewayBefore(at, httpApi)
    const { url } = gateway
    await ask(url, '/hello', 'acme')
    const { denials } = await at.json(['top', '--gateway', url, '--once'])
    await gateway.close()
    expect(denials).toBe(1)
  })

  it('counts nothing twice, and says when it has lost some: the gateway was started again', async () => {
    const first = await gatewayBefore(at)
    const source = new GatewaySource(first.url)
    const read = () => source.read(0, new AbortController().signal)
    await ask(first.url, '/hello', 'acme')
    expect(await read()).toMatchObject({ denials: [{ subject: hashOf('client:acme') }], completeFrom: 0 })
    expect((await read()).denials).toEqual([])
    await ask(first.url, '/hello', 'acme')
    await first.close()
    await expect(read()).rejects.toThrow(`no local gateway answers at ${first.url}: `)
    const before = Date.now()
    const second = await gatewayBefore(at, restApi, first.port)
    await ask(second.url, '/hello', 'acme')
    const { denials, completeFrom } = await read()
    await second.close()
    expect(denials).toHaveLength(1)
    expect(completeFrom).toBeGreaterThanOrEqual(before)
  })

  it('is waited for where it goes away amid its answer, and what is no answer is refused', async () => {
    const denials = (...entries: unknown[]) =>
      JSON.stringify({ gateway: 'g', startedAt: NOW, next: 1, missed: 0, denials: entries })
    const answers = [
      denials(null),
      denials({ at: 1e300 }),
      '[',
      denials({ at: NOW, event: 'other' }),
      undefined,
      'busy',
    ]
    const server = createServer((_, response) => {
      const answer = answers.shift()
      if (answer !== undefined) return response.end(answer)
      response.writeHead(200, { 'content-length': '1000' })
      return response.write('{"gateway', () => response.destroy())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const source = new GatewaySource(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const read = () => source.read(0, new AbortController().signal).catch(({ name, message }) => `${name}: ${message}`)
    const told = [await read(), await read(), await read(), await read(), await read(), await read()]
    await new Promise((resolve) => server.close(resolve))
    const refused = expect.stringMatching(/^UserError: .* does not answer as sluice dev of this version does/)
    const away = expect.stringMatching(/^ServiceError: no local gateway answers at /)
    const other = expect.stringMatching(/^ServiceError: .* does not answer as sluice dev/)
    expect(told).toEqual([refused, refused, refused, { denials: [], others: [], completeFrom: 0 }, away, other])
  })

  it('is told of the last ten thousand, and how many it has missed', async () => {
    const recent = new RecentDenials()
    const context = { allowed: 'false', reason: 'over-limit' }
    for (let i = 0; i < 10_007; i++) recent.add({ method: 'GET', path: '/', route: '/', status: 429, context })
    const answer = (query: string) => JSON.parse(recent.answer(query).body)
    expect(answer('')).toMatchObject({ next: 10_007, missed: 7 })
    expect(answer('from=3').denials).toHaveLength(10_000)
    expect(answer('from=10006')).toMatchObject({ missed: 0, denials: [{ event: 'request_denied', denials: 1 }] })
    expect(answer('from=99999')).toMatchObject({ next: 10_007, missed: 0, denials: [] })
    expect(recent.answer('from=-1')).toMatchObject({ statusCode: 400 })
  })
})

describe('sluice top at a deployment', () => {
  it('adds up what the lines of its log stand for, as a lower bound', async () => {
    const logs = await fakeLogs(() => NOW)
    const line = (ago: number, more: object) => ({
      id: `${logs.lines.length}`,
      at: NOW - ago,
      readableAt: 0,
      text: JSON.stringify({ event: 'request_denied', reason: 'over-limit', tier: 'free', policy: 'p', ...more }),
    })
    const acme = { subject: hashOf('client:acme'), method: 'GET', route: 'GET /a' }
    logs.lines.push(line(400_000, acme))
    logs.lines.push(line(90_000, { ...acme, leftOut: 900, denials: 901, since: NOW - 400_000 }))
    logs.lines.push(line(30_000, { ...acme, leftOut: 59, denials: 60, since: NOW - 90_000, route: 'GET /b' }))
    logs.lines.push(line(20_000, { subject: 'ip~x', ip: '203.0.113.7', othersLeftOut: 12 }))
    logs.lines.push({ ...line(20_000, {}), text: '{"event":"request_observed","othersLeftOut":1,"leftOut":7}' })
    logs.lines.push({ ...line(20_000, {}), text: 'START RequestId: 1' })
    const situation = { now: NOW, env: { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs.url } }
    const top = (...more: string[]) => at.sluice(['top', '--log-group', 'group', '--once', ...more], situation)
    const [whole, byRoute, text] = [await top('--json'), await top('--json', '--by', 'route'), await top()]
    await logs.close()
    expect(JSON.parse(whole.out)).toMatchObject({
      source: { kind: 'log', name: 'group' },
      denials: 62,
      isLowerBound: true,
      notLogged: 13,
      rows: [
        { client: 'client:acme', denials: 61, last: '2026-11-23T11:59:30Z' },
        { client: 'ip:203.0.113.7', denials: 1 },
      ],
    })
    // Of what a line stands for, only its own request is known to be of its route.
    expect(JSON.parse(byRoute.out).rows.map(({ route, denials }: never) => [route, denials])).toEqual([
      [null, 59],
      ['', 1],
      ['GET /a', 1],
      ['GET /b', 1],
    ])
    expect(text.out).toContain('≥ 62 denied, ≥ 0.2 a second; at least, since the log does not have every denial\n')
    expect(logs.asked[0]).toEqual({
      target: 'Logs_20140328.FilterLogEvents',
      authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=\w+\/\d{8}\/[\w-]+\/logs\/aws4_request/),
      body: {
        logGroupName: 'group',
        filterPattern: '{ $.event = "request_denied" || $.othersLeftOut > 0 }',
        startTime: NOW - 300_000,
      },
    })
  })

  it.each([
    ['no', /^there is no log group "no" in us-east-1: name it with --log-group\n$/],
    ['group', /^missing right: logs:FilterLogEvents on log group group\n$/],
  ])('says what is wrong with log group %s', async (name, err) => {
    const logs = await fakeLogs(() => NOW)
    if (name === 'group') logs.failures.push({ status: 400, type: 'AccessDeniedException' })
    const env = { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs.url }
    const said = await at.sluice(['top', '--log-group', name, '--once'], { env })
    await logs.close()
    expect(said).toEqual({ code: 1, out: '', err: expect.stringMatching(err) })
  })
})

describe('what cannot be', () => {
  it.each([
    [
      ['--gateway', 'https://example.com'],
      /^--gateway must be the address of sluice dev on this machine, .* got "https/,
    ],
    [['--gateway', 'http://localhost:1', '--log-group', 'g'], /two sources of denials: leave one out/],
    [['--gateway', 'http://localhost:1', '--once'], /^no local gateway answers at http:\/\/localhost:1: /],
    [['--since', '9s'], /It must be 10s to 1d\./],
    [['--interval', '10ms'], /It must be 1s to 1h\./],
    [
      ['--by', 'client,key'],
      /It must be one or more of client, tier, policy, reason, route, api, separated by commas\./,
    ],
    [['--limit', '0'], /It must be a whole number from 1 to 10000\./],
    [['--sort', 'name'], /Allowed choices are denials, recent\./],
    [[], /^the source of denials of the limiter at http\S+ is unknown: name the local gateway with --gateway/],
  ])('%j is refused', async (args, err) => {
    const { code, out, err: said } = await at.sluice(['top', ...args])
    expect([out, said]).toEqual(['', expect.stringMatching(err)])
    expect([1, 2]).toContain(code)
  })

  it('a server that is no gateway is told', async () => {
    const said = await at.sluice(['top', '--gateway', at.endpoint.replace('127.0.0.1', 'localhost'), '--once'])
    expect([said.code, said.err]).toEqual([1, expect.stringContaining('does not answer as sluice dev of this version')])
  })
})

it('has help that says what is a lower bound', async () => {
  const { out } = await sluice(['top', '--help'])
  expect(out.replaceAll(/\s+/g, ' ')).toContain(
    'A log does not have every denial, so its numbers are lower bounds, marked "≥"',
  )
})
