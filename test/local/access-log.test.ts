import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccessLogFile } from '../../local/access-log-file'
import { AccessLog } from '../../local/gateway/access-log'
import { createBackend } from '../../local/gateway/backend'
import { startGateway } from '../../local/gateway/gateway'
import { restApi } from '../../local/gateway/rest-api'
import { ACCESS_LOG_LINE, FORGOTTEN } from '../../provisioning/access-log'
import { allowing } from './answers'

const folder = mkdtempSync(join(tmpdir(), 'sluice-access-log-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the lines that are kept', () => {
  const entry = (path: string) => ({ receivedAt: 1, durationMs: 2, variables: { path } })
  const kept = (log: AccessLog) => log.answer().body.trimEnd().split('\n')

  it('are as API Gateway writes them: all fields of the format in their order, and - for nothing', () => {
    const log = new AccessLog()
    log.add({ ...entry('/a"b'), status: 429, error: 'ACCESS_DENIED', context: { tier: 'free', cost: 0, policy: '' } })
    const line = JSON.parse(kept(log)[0]!)
    expect(Object.keys(line)).toEqual(Object.keys(JSON.parse(ACCESS_LOG_LINE)))
    expect(line).toMatchObject({ time: '1', path: '/a"b', status: '429', error: 'ACCESS_DENIED', durationMs: '2' })
    expect(line).toMatchObject({ tier: 'free', cost: '0', policy: '-', subject: '-', routeKey: '-' })
  })

  it('are the last 10,000, or those that fit into 16 MB, and the answer says how many were before', () => {
    const log = new AccessLog()
    for (let i = 0; i < 10_003; i++) log.add(entry(`/${i}`))
    expect(kept(log).length).toBe(10_000)
    expect(JSON.parse(kept(log)[0]!).path).toBe('/3')
    expect(log.answer().headers[FORGOTTEN]).toBe('3')
    for (let i = 0; i < 20; i++) log.add(entry(`/${'x'.repeat(1_000_000)}${i}`))
    expect(kept(log).length).toBe(16)
    expect(kept(log).at(-1)).toContain('x19"')
    expect(log.answer().headers[FORGOTTEN]).toBe(String(10_023 - 16))
  })

  it('are of requests to the API alone, and for no page of another site', async () => {
    const gateway = await startGateway({
      ...{ api: restApi, authorize: allowing, backend: createBackend() },
      port: 0,
      log: () => {},
    })
    const get = (path: string, headers = {}) => fetch(`http://localhost:${gateway.port}${path}`, { headers })
    await (await get('/hello', { 'x-api-key': 'a secret' })).text()
    await (await get('/_local/gateway')).text()
    const log = await (await get('/_local/access-log')).text()
    expect(log.split('\n').length).toBe(2)
    expect(log).toContain('"path":"/local/hello"')
    expect(log).not.toContain('a secret')
    expect((await get('/_local/access-log', { origin: 'https://evil.example' })).status).toBe(403)
    await gateway.close(0)
  })
})

describe('the file', () => {
  const file = (name: string) => {
    const notes: string[] = []
    const path = join(folder, name)
    return { path, notes, open: () => new AccessLogFile(path, (text) => notes.push(text)) }
  }

  it('is appended to, a line each, also where it ended within a line', async () => {
    const { path, notes, open } = file('log')
    const first = open()
    for (const line of ['1', '2']) first.add(line)
    await first.close()
    first.add('after the end')
    writeFileSync(path, `${readFileSync(path, 'utf8')}tor`)
    const second = open()
    second.add('3')
    await second.close()
    expect([readFileSync(path, 'utf8'), notes]).toEqual(['1\n2\ntor\n3\n', []])
  })

  it.each([
    ['a folder', () => folder, /^--access-log must be a file, and .* is a folder$/],
    [
      'in a folder that is not there',
      () => join(folder, 'nowhere', 'log'),
      /^the access log .* cannot be opened: .*ENOENT/,
    ],
    ['below a file', () => join(__filename, 'log'), /^the access log .* cannot be opened: .*ENOTDIR/],
  ])('that cannot be one is a mistake: %s', (_, path, sentence) => {
    expect(() => new AccessLogFile(path(), () => {})).toThrow(sentence)
  })

  const onLinux = existsSync('/dev/full') ? it : it.skip
  onLinux('on a full disk is told of once, with how many lines are missing at the end', async () => {
    const notes: string[] = []
    const full = new AccessLogFile('/dev/full', (text) => notes.push(text))
    for (let i = 0; i < 20_000; i++) full.add('a line')
    await full.close()
    expect(notes).toEqual([
      expect.stringMatching(
        /^warning: the access log \/dev\/full cannot be written: .*; requests are answered all the same$/,
      ),
      '/dev/full: 20000 requests are not in it',
    ])
  })
})
