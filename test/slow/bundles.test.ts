import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createStateTable } from '../../limiter'
import { connect } from '../../local/dynamodb'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { BUNDLERS, type Format, firstFile } from './bundlers'
import { packInto } from './packed'

/** Where `.ci/runtimes` puts Bun and Deno. */
const RUNTIMES = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'sluice/bun-1.4.5-deno-2.9.6/node_modules/.bin',
)
const COMMANDS: readonly (readonly [name: string, file: string, args: readonly string[]])[] = [
  ['Node', process.execPath, []],
  ['Bun', join(RUNTIMES, 'bun'), []],
  ['Deno', join(RUNTIMES, 'deno'), ['run', '--allow-all']],
]

/** Takes twice what is there once, in memory and in DynamoDB, and has every other entry point load. */
const APP = `
import { createLimiter, DynamoDbStore, MemoryStore } from 'sluice/limiter'
import { withRateLimit } from 'sluice/backend'
import { ExpressRateLimitStore } from 'sluice/express-rate-limit'
import { honoRateLimit } from 'sluice/middleware'
import { storeContract } from 'sluice/store-contract'
import { createTieredLimiter } from 'sluice/tiered'

const policies = [{ name: 'p', limit: 1, window: '1h' }]
async function main() {
  for (const store of [new MemoryStore(), new DynamoDbStore({ tableName: 'limits' })]) {
    const limiter = createLimiter({ store, policies })
    const take = async () => (await limiter.take('a')).allowed
    console.log(await take(), await take())
  }
  await storeContract[0].run(new MemoryStore())
  const made = [honoRateLimit, createTieredLimiter, withRateLimit, ExpressRateLimitStore]
  console.log(made.map((one) => typeof one).join())
}
main()`
const PRINTED = 'true false\ntrue false\nfunction,function,function,function\n'

/** One who counts in memory, or passes no client, has not installed the SDK. */
const ABOUT_SDK = /@aws-sdk\/client-dynamodb/

describe('a program with the package from its tarball, and no other', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bundles-'))
  const project = join(folder, 'project')
  let engine: Engine
  let client: DynamoDBClient

  beforeAll(async () => {
    const { tarball } = await packInto(folder)
    const options = ['--omit=peer', '--omit=optional', '--no-audit', '--no-fund', '--prefer-offline']
    await promisify(execFile)('npm', ['install', '--prefix', project, ...options, tarball])
    writeFileSync(join(project, 'app.js'), APP)
    engine = await startEngine({})
    client = connect(engine.endpoint)
  }, 180_000)
  beforeEach(() => createStateTable(client, 'limits'))
  afterEach(() => client.send(new DeleteTableCommand({ TableName: 'limits' })))
  afterAll(async () => {
    client?.destroy()
    await engine?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const env = () => ({
    ...process.env,
    AWS_ENDPOINT_URL: engine.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  })

  describe.each(Object.keys(BUNDLERS) as (keyof typeof BUNDLERS)[])('bundled by %s', (bundler) => {
    describe.each<Format>(['esm', 'cjs'])('as %s', (format) => {
      const bundle = join(folder, `${bundler}-${format}`) // where no package is found
      beforeAll(async () => {
        const warnings = await BUNDLERS[bundler](project, bundle, format)
        expect(warnings.filter((text) => !ABOUT_SDK.test(text))).toEqual([])
      })

      it.each(COMMANDS)('limits on %s', async (name, file, args) => {
        if (!existsSync(file)) return process.stdout.write(`# bundles are not tried on ${name}: see .ci/runtimes\n`)
        const { stdout } = await promisify(execFile)(file, [...args, join(bundle, firstFile(format))], { env: env() })
        return expect(stdout).toBe(PRINTED)
      })
    })
  })

  it('has one kind of class, whether it is imported or required, and decisions that both find', async () => {
    writeFileSync(
      join(project, 'both.mjs'),
      `import { createRequire } from 'node:module'
       import * as limiter from 'sluice/limiter'
       import * as middleware from 'sluice/middleware'
       const require = createRequire(import.meta.url)
       const required = require('sluice/limiter')
       const subjects = { ConfigError: [[]], CostError: [1], StoreUnavailableError: ['timeout', ''], MemoryStore: [{}],
         DynamoDbStore: [{ tableName: 'a', region: 'eu-central-1' }] }
       for (const [name, args] of Object.entries(subjects)) {
         class Derived extends limiter[name] {}
         const [one, other, derived] = [required[name], limiter[name], Derived].map((Class) => new Class(...args))
         console.log(required[name] !== limiter[name], one instanceof limiter[name], other instanceof required[name],
           derived instanceof required[name], derived instanceof Derived, other instanceof Derived)
       }
       console.log(new limiter.ConfigError([]) instanceof required.CostError, ({}) instanceof limiter.SluiceError)
       const request = { path: '/', ip: '192.0.2.1', method: 'GET', headers: {}, socket: {}, on() {} }
       const response = { setHeader() {}, once() {}, on() {}, end() {}, headersSent: false }
       const policies = [{ name: 'p', limit: 1, window: '1h' }]
       const counts = limiter.createLimiter({ store: new required.MemoryStore(), policies })
       await new Promise((next) => middleware.expressRateLimit({ limiter: counts, keyBy: () => 'a' })(request, response, next))
       console.log(require('sluice/middleware').decisionOf(request)?.remaining)`,
    )
    const { stdout } = await promisify(execFile)(process.execPath, [join(project, 'both.mjs')])
    expect(stdout).toBe(`${'true true true true true false\n'.repeat(5)}false false\n0\n`)
  })
})
