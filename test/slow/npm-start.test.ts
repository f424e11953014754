import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const MAX_REQUESTS = 100

describe('npm start, in the first minute of a new user', () => {
  let npm: ChildProcess
  let said = ''
  let url = ''
  let passed = 0

  beforeAll(async () => {
    // A group of its own, so that the clean-up reaches what a broken stop leaves behind.
    npm = spawn('npm', ['start'], {
      cwd: join(__dirname, '..', '..'),
      env: { ...process.env, PORT: '0' },
      detached: true,
    })
    url = await new Promise<string>((resolve, reject) => {
      const listen = (chunk: Buffer) => {
        said += chunk
        const ready = /^Sluice is listening on (\S+)$/m.exec(said)
        if (ready && said.includes('Ctrl-C')) resolve(ready[1]!)
      }
      npm.stdout!.on('data', listen)
      npm.stderr!.on('data', listen)
      npm.once('exit', (code) => reject(new Error(`npm start ended with ${code}\n${said}`)))
    })
  }, 120_000)
  afterAll(() => {
    try {
      process.kill(-npm.pid!, 'SIGKILL')
    } catch {} // all gone, as it should be
  })

  const hello = (headers: Record<string, string> = {}) => fetch(`${url}/hello`, { headers })
  const backendCalls = async () =>
    ((await (await fetch(`${url}/_local/backend-calls`)).json()) as { total: number }).total

  it('says once that it listens, and names the sample keys', () => {
    expect(said.match(/listening on/g)).toHaveLength(1)
    for (const key of ['demo-free-key', 'demo-pro-key', 'demo-enterprise-key']) expect(said).toContain(key)
  })

  it('lets requests pass up to the limit, and tells each how it stands', async () => {
    const first = await hello()
    expect(first.status).toBe(200)
    expect(await first.json()).toEqual({ message: 'hello' })
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': '19',
      'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
      ratelimit: expect.stringMatching(/^"everybody";r=\d+;t=\d+, "per-minute";r=19;t=\d+$/),
      'ratelimit-policy': '"everybody";q=1000000;w=60, "per-minute";q=20;w=60',
    })
    passed = 1
  })

  it('turns the next one away with 429, a time to come back, and the name of the policy', async () => {
    let answer = await hello()
    for (; answer.status === 200 && passed < MAX_REQUESTS; answer = await hello()) passed++
    expect(answer.status).toBe(429)
    expect(passed).toBeGreaterThanOrEqual(20)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(await answer.json()).toMatchObject({ status: 429, policy: 'per-minute', limit: '20', remaining: '0' })
  })

  it('never lets a denied request reach the backend', async () => {
    expect(await backendCalls()).toBe(passed)
    let denied = 0
    // time goes on, and gives a unit back now and then
    while (denied < 5) (await hello()).status === 429 ? denied++ : passed++
    expect(await backendCalls()).toBe(passed)
  })

  it('counts a caller with a sample key apart, by its own tier', async () => {
    const answer = await hello({ 'X-Api-Key': 'demo-pro-key' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('600')
    expect(await backendCalls()).toBe(passed + 1)
  })

  it('stops when it is told to, and leaves nothing running', async () => {
    const exited = once(npm, 'exit')
    npm.kill('SIGTERM')
    await exited
    const [engine] = /http:\/\/127\.0\.0\.1:\d+/.exec(said)!
    // npm's shell is not bound to pass the signal on, nor to wait
    for (const address of [url, engine]) await expect(untilRefused(address)).resolves.toBe('refused')
  })
})

async function untilRefused(address: string): Promise<string> {
  for (const until = Date.now() + 10_000; Date.now() < until; ) {
    const isThere = await fetch(address).then(
      () => true,
      () => false,
    )
    if (!isThere) return 'refused'
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return 'still there'
}
