import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { authorizerBundleOptions, buildAuthorizerBundle, ROOT } from '../../lib/authorizer-bundle'
import { buildSplit } from '../../lib/split-build'
import { keyServer, pair, token } from '../identity/issuer'
import restRequest from '../responses/events/rest-request.json'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI',
  AWS_SESSION_TOKEN: 'session',
  AWS_REGION: 'eu-west-1',
}

/** The files that are loaded with the first, each with its size, and without what is loaded when it is needed. */
function filesAtStart(file: string): Map<string, number> {
  const found = new Map<string, number>()
  const visit = (path: string): void => {
    if (found.has(path)) return
    const code = readFileSync(path, 'utf8')
    found.set(path, Buffer.byteLength(code))
    // what is loaded later is required within a function that a promise calls
    for (const [, loads, name] of code.matchAll(/(=>[\w.]*\()?require\("(\.\/[^"]+)"\)/g))
      if (loads === undefined) visit(join(dirname(path), name!))
  }
  visit(file)
  return found
}

const ENV = {
  ...CREDENTIALS,
  SLUICE_STATE_TABLE: 'state',
  SLUICE_CONFIG_TABLE: 'config',
  SLUICE_DYNAMODB_ENDPOINT: 'http://127.0.0.1:1',
}

describe('a cold start', () => {
  test('loads at most 124 KB before it asks the config table, and nothing of the SDK', async () => {
    const file = buildAuthorizerBundle(folder)
    const sizes = [...filesAtStart(file).values()]
    expect(Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1000)).toBeLessThanOrEqual(124)
    expect(readFileSync(file, 'utf8')).not.toContain('client-dynamodb')
    const script =
      'const m=require("node:module");console.log(typeof require(process.argv[1]).handler+Object.keys(m._cache).length);process.exit()'
    expect(await output(['-e', script, file], ENV)).toBe(`function${sizes.length}`)
  })

  test('loads what decides without any request, 223 KB in six files in all, and only when it has asked the table', async () => {
    const file = buildAuthorizerBundle(folder)
    const script = `
      const { _cache, prototype } = require('node:module')
      let asked = 0
      require('node:diagnostics_channel').subscribe('http.client.request.start', () => asked++)
      require(process.argv[1])
      const load = prototype.load
      prototype.load = function (path) {
        load.call(this, path)
        if (!/assemble-authorizer/.test(path)) return
        const bytes = Object.keys(_cache).reduce((sum, path) => sum + require('node:fs').statSync(path).size, 0)
        console.log(JSON.stringify({ asked, bytes, files: Object.keys(_cache).length }))
        process.exit()
      }`
    const { asked, bytes, files } = JSON.parse(await output(['-e', script, file], ENV))
    expect(asked).toBeGreaterThanOrEqual(2) // the policy set, and the secrets
    expect(bytes).toBeLessThanOrEqual(223_000)
    expect(files).toBeLessThanOrEqual(6)
  })

  test('that fails to load what decides fails the requests until it can be loaded, and no others', async () => {
    const file = buildAuthorizerBundle(mkdtempSync(join(folder, 'missing-')))
    const part = join(dirname(file), readdirSync(dirname(file)).find((name) => /^assemble-authorizer/.test(name))!)
    const script = `
      const { renameSync } = require('node:fs')
      const [, file, part, event] = process.argv
      renameSync(part, part + '.away')
      const { handler } = require(file)
      const answer = () => handler(JSON.parse(event)).then(() => 'allowed', ({ code, message }) => code ?? message)
      setTimeout(async () => {
        const before = await answer()
        renameSync(part + '.away', part)
        console.log(JSON.stringify([before, await answer()]))
        process.exit()
      }, 50)`
    const answered = await output(['-e', script, file, part, JSON.stringify(restRequest)], ENV)
    expect(JSON.parse(answered.split('\n').at(-1)!)).toEqual([
      'MODULE_NOT_FOUND',
      expect.not.stringContaining('MODULE'),
    ])
  })
})

describe('the verifier of JWTs', () => {
  test('is loaded with the first token, and makes it neither valid nor invalid where its file is missing', async () => {
    const { inject: _, ...options } = authorizerBundleOptions // of which the handler is no part here
    const outdir = mkdtempSync(join(folder, 'jwt-'))
    const source = join(outdir, 'probe.ts')
    writeFileSync(
      source,
      `import { lazyVerifiers } from ${JSON.stringify(join(ROOT, 'lambda/identity/load-verifier'))}
      const [, , jwksUri, token] = process.argv
      const verifier = lazyVerifiers(Date.now)({ issuer: 'https://issuer.example', audience: ['api'], jwksUri })
      verifier.verify(token, 5000).then((verified) => console.log(JSON.stringify(verified)))`,
    )
    buildSplit({ ...options, entryPoints: { probe: source }, outdir })
    const probe = join(outdir, 'probe.js')
    expect(statSync(probe).size).toBeLessThan(3000) // for the verifier is not in it
    const key = pair('k')
    const server = await keyServer([key])
    const claims = { iss: 'https://issuer.example', aud: 'api', exp: Date.now() / 1000 + 60 }
    const signed = token(claims, key)
    const verified = async (text: string) => JSON.parse(await output([probe, server.url, text], {}))
    expect(await verified(signed)).toEqual({ kind: 'valid', claims })
    expect(await verified(signed.slice(0, -9))).toEqual({ kind: 'invalid', why: 'signature' })
    await server.close()
    for (const file of readdirSync(outdir)) if (/jwt-verifier/.test(file)) rmSync(join(outdir, file))
    expect(await verified(signed)).toEqual({
      kind: 'unavailable',
      cause: expect.objectContaining({ code: 'MODULE_NOT_FOUND' }),
    })
  })
})

describe("the upstream authorizer's client", () => {
  test('is loaded where an upstream authorizer is configured, and calls it with the credentials of the environment', async () => {
    const file = buildAuthorizerBundle(folder)
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers['x-amz-security-token']}`)
      response.setHeader('X-Amz-Function-Error', 'Unhandled').end('{"errorMessage":"Unauthorized"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const script = `require(process.argv[1]).handler(JSON.parse(process.argv[2])).then(console.log, ({ message }) => console.log(message)).then(() => process.exit())`
    const env = {
      ...CREDENTIALS,
      SLUICE_STATE_TABLE: 'state',
      SLUICE_CONFIG_TABLE: 'config',
      SLUICE_DYNAMODB_ENDPOINT: 'http://127.0.0.1:1',
      SLUICE_UPSTREAM: 'check-tokens',
      AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    }
    const answered = await output(['-e', script, file, JSON.stringify(restRequest)], env)
    server.close()
    expect(asked).toEqual(['/2015-03-31/functions/check-tokens/invocations session'])
    expect(answered.split('\n').at(-1)).toBe('Unauthorized')
    // CloudWatch wants nothing before the JSON
    const lines = answered.split('\n').filter((line) => line.startsWith('{"_aws":'))
    expect(lines.map((line) => JSON.parse(line).Denied)).toContain(1)
  })
})

/** What a Node process prints. */
function output(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, stdout) => (error ? reject(error) : resolve(stdout.trim())))
  })
}
