import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LIMITS, startVendor } from '../../examples/outbound/vendor'

const ROOT = join(__dirname, '..', '..')

/** Runs the example as its first line says. */
function start() {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/outbound/main.ts'], { cwd: ROOT })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  return { child, said, exit: once(child, 'close').then(([code]) => code) }
}

describe("examples/outbound: a worker that keeps to a vendor's limits", () => {
  it('is never answered 429, and needs little longer than the limits allow', async () => {
    const { said, exit } = start()
    expect([await exit, said.err]).toEqual([0, ''])
    const [, requests, seconds] = /^(\d+) requests with \d+ tokens in ([\d.]+) s$/m.exec(said.out)!
    const [, fastest] = /no less than ([\d.]+) s$/m.exec(said.out)!
    expect(said.out).toContain(`it answered {"200":${requests}}\n`)
    expect(Number(seconds)).toBeGreaterThanOrEqual(Number(fastest))
    expect(Number(seconds)).toBeLessThan(1.5 * Number(fastest)) // its windows are a seventh longer than the vendor's
  }, 60_000)

  it('ends at once on Ctrl-C, though most requests still wait', async () => {
    const { child, said, exit } = start()
    setTimeout(() => child.kill('SIGINT'), 3000)
    expect(await exit).toBe(1)
    expect(said.err).toBe('interrupted\n')
    expect(said.out).toMatch(/^it answered {"200":\d+}\n$/)
  }, 60_000)

  it('keeps a program alive that does nothing but wait', async () => {
    const program = `
      const { createLimiter, MemoryStore } = require('./limiter')
      const policies = [{ name: 'second', algorithm: 'anchored-window', limit: 1, window: '1s' }]
      const limiter = createLimiter({ store: new MemoryStore(), policies })
      limiter.take('a').then(() => limiter.waitFor('a')).then(({ allowed }) => console.log(allowed))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '-e', program], { cwd: ROOT })
    expect(stdout).toBe('true\n')
  }, 60_000)

  it('would be answered 429 if it did not wait', async () => {
    const vendor = await startVendor()
    try {
      const headers = { 'X-Tokens': '10' }
      await Promise.all(Array.from({ length: 60 }, () => fetch(vendor.url, { method: 'POST', headers })))
      expect(vendor.answers).toEqual({ 200: LIMITS.requests, 429: 60 - LIMITS.requests })
      const { status } = await fetch(vendor.url, { method: 'POST', headers: { 'X-Tokens': '6001' } })
      expect(status).toBe(429)
    } finally {
      vendor.close()
    }
  })
})
