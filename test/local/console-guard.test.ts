import { request } from 'node:http'
import { createPages, type Endpoint, sendJson } from '../../local/console/pages'
import { type LoopbackServer, listenOnLoopback } from '../../local/gateway/loopback-server'

/** An answer to a request whose every header is the test's: `fetch` allows none for the host. */
async function ask(
  port: number,
  path: string,
  { method = 'GET', body = '', ...headers }: Readonly<Record<string, string>>,
): Promise<{ status: number; message?: string; location?: string; type?: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers, setHost: false }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.once('end', () => {
        const { 'content-type': type, location } = answer.headers
        const message = type === 'application/json' ? JSON.parse(text).message : undefined
        resolve({ status: answer.statusCode!, message, location, type })
      })
    })
    asked.once('error', reject)
    asked.end(body)
  })
}

describe('the pages of the local gateway', () => {
  let server: LoopbackServer
  let port: number
  let done: string[]
  const note: Endpoint = async (incoming, response) => {
    done.push(`${incoming.method} ${incoming.url}`)
    await sendJson(incoming, response, 200, {})
  }
  const endpoints = new Map([
    ['GET /_local/console/events', note],
    ['POST /_local/console/fire', note],
  ])

  beforeAll(async () => {
    const pages = createPages({ allowHosts: ['box.example', 'b.example:8443'], leadsFromRoot: true, endpoints, log })
    server = await listenOnLoopback(0, (incoming, response) => {
      const path = incoming.url!.split('?')[0]!
      if (!pages.serve(incoming, response, path)) response.writeHead(204).end()
    })
    port = server.port
  })
  const log = () => {}
  beforeEach(() => {
    done = []
  })
  afterAll(() => server.close(0))

  const own = () => `localhost:${port}`
  const JSON_BODY = { method: 'POST', 'Content-Type': 'application/json', body: '{}' }

  it('are answered to this machine’s names with the gateway’s port, and to no other name', async () => {
    for (const host of [
      own(),
      `127.0.0.1:${port}`,
      `[::1]:${port}`,
      own().toUpperCase(),
      'box.example',
      'b.example:8443',
    ])
      expect(await ask(port, '/_local/console/events', { Host: host })).toMatchObject({ status: 200 })
    for (const host of [
      'localhost',
      'localhost:1',
      `evil.example:${port}`,
      `localhost.evil.example:${port}`,
      'b.example',
      '',
    ])
      expect(await ask(port, '/_local/console/events', { Host: host })).toMatchObject({ status: 403 })
    expect(await ask(port, '/_local/', { Host: `evil.example:${port}` })).toMatchObject({
      status: 403,
      message: expect.stringContaining('--allow-host'),
    })
  })

  it('refuse every foreign origin, one of another port and “null” too', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      'http://localhost:1',
      `https://localhost:${port}`,
      'http://127.0.0.1',
    ])
      for (const [path, more] of [
        ['/_local/console/fire', JSON_BODY],
        ['/_local/console/events', {}],
      ] as const)
        expect(await ask(port, path, { Host: own(), Origin: origin, ...more })).toMatchObject({ status: 403 })
    expect(done).toEqual([])
    expect(
      await ask(port, '/_local/console/fire', { Host: own(), Origin: `http://${own()}`, ...JSON_BODY }),
    ).toMatchObject({ status: 200 })
    const forwarded = { Host: 'box.example', Origin: 'https://box.example' }
    expect(await ask(port, '/_local/console/fire', { ...forwarded, ...JSON_BODY })).toMatchObject({ status: 200 })
  })

  it('refuse what the browser says another site asks for, and open by a link from anywhere', async () => {
    for (const site of ['cross-site', 'same-site'])
      expect(await ask(port, '/_local/console/events', { Host: own(), 'Sec-Fetch-Site': site })).toMatchObject({
        status: 403,
      })
    const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
    expect(await ask(port, '/_local/', { Host: own(), ...link })).toMatchObject({ status: 200 })
    expect(await ask(port, '/_local/', { Host: own(), ...link, 'Sec-Fetch-Dest': 'iframe' })).toMatchObject({
      status: 403,
    })
    expect(await ask(port, '/_local/console/events', { Host: own(), ...link })).toMatchObject({ status: 403 })
    expect(done).toEqual([])
  })

  it('change nothing for a form: a change must be JSON', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      'application/jsonp',
      '',
    ])
      expect(
        await ask(port, '/_local/console/fire', { Host: own(), method: 'POST', 'Content-Type': type, body: '{}' }),
      ).toMatchObject({ status: 415 })
    expect(done).toEqual([])
  })

  it('are HTML, script and style, and a 404 for what is not there', async () => {
    const host = { Host: own() }
    expect(await ask(port, '/_local/', host)).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' })
    expect(await ask(port, '/_local/lab', host)).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' })
    expect(await ask(port, '/_local/console.js', host)).toMatchObject({
      status: 200,
      type: 'text/javascript; charset=utf-8',
    })
    expect(await ask(port, '/_local/console.css', host)).toMatchObject({ status: 200, type: 'text/css; charset=utf-8' })
    expect(await ask(port, '/_local/nothing.js', host)).toMatchObject({ status: 404 })
    expect(await ask(port, '/_local/console/nothing', host)).toMatchObject({ status: 404 })
    expect(await ask(port, '/_local', host)).toMatchObject({ status: 302, location: '/_local/' })
  })

  it('are where a browser is led that asks for the root, and nothing else is', async () => {
    const html = { Host: own(), Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    expect(await ask(port, '/', html)).toMatchObject({ status: 302, location: '/_local/' })
    for (const [path, headers] of [
      ['/', { Accept: '*/*' }],
      ['/', { ...html, ...JSON_BODY }],
      ['/hello', html],
    ] as const)
      expect(await ask(port, path, { Host: own(), ...headers })).toMatchObject({ status: 204 })
  })
})
