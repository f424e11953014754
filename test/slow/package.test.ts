import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { type Packed, packInto } from './packed'

const ROOT = join(__dirname, '..', '..')
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** What belongs in the package, and nothing else does. */
const SHIPPED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|tiers\.yaml|tiers\.schema\.json)$/,
  /^(bin\/sluice|dist\/cli\/(main|authorizer-worker))\.js$/,
  /^dist\/(authorizer|seed)\/(index|[a-z-]+-[A-Z\d]+)\.js$/,
  /^dist\/pages\/(console|lab|lab-worker)\.(html|js|css)$/,
  /^dist\/((authorizer|cli|pages|seed)\/)?THIRD-PARTY-NOTICES\.txt$/,
  /^dist\/(shared\/[A-Z\d]+|(backend|lib|limiter|middleware|tiered)\/([a-z-]+\/)?[a-z-]+)\.m?js$/,
  /^dist\/(backend|limiter|middleware|tiered)\/([a-z-]+\/)?[a-z-]+\.d\.mts$/,
  /^dist\/(backend|lambda|lib|limiter|middleware|provisioning|tiered)\/([a-z-]+\/){0,2}[a-z-]+\.d\.ts$/,
  /^terraform\/((rest|http)-api\/)?[a-z]+\.tf$/,
  /^(docs|examples)\/[\w./-]+\.(md|svg|webp|js|ts|mjs|tf|ya?ml)$/,
]
/** What only a clone can run. */
const NOT_SHIPPED = [
  /authorizer-bundle/,
  /seed-bundle/,
  /third-party-notices/,
  /write-cli-reference/,
  /format-markdown/,
]
/**
 * The command with the SDK in it is a third, the bundles for Lambda a quarter, the documents a fifth (ADR 0033), the ES
 * modules a tenth.
 */
const MAX_PACKED_KB = 2040

/** What a program may have beside it. Nothing else has to be installed, and none of these is by itself. */
const OPTIONAL = ['@aws-sdk/client-dynamodb', 'aws-cdk-lib', 'constructs', 'dynalite', 'ws']

const EXPORTED = [
  'ChargedAtError',
  'ClockError',
  'ConfigError',
  'CostError',
  'DynamoDbStore',
  'MemoryStore',
  'ReservationError',
  'SluiceError',
  'StoreUnavailableError',
  'SubjectError',
  'createLimiter',
  'createStateTable',
]

/** Takes until the limit, and says how many passed and what stopped the next. */
const TAKE_THREE = `
  const limiter = createLimiter({ store: new MemoryStore(), policies: [{ name: 'per-minute', limit: 2, window: '1m' }] })
  const decide = async () => [await limiter.take('a'), await limiter.take('a'), await limiter.take('a')]
  decide().then((decisions) => console.log(decisions.map(({ allowed, policy }) => policy + ' ' + allowed).join()))`
const TWO_OF_THREE = 'per-minute true,per-minute true,per-minute false\n'

/** A user's program that says the name of every type that it can reach. */
const TYPED = `
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { ConfigError, createLimiter, createStateTable, type Decision, DynamoDbStore, type Limiter, type LimiterOptions, MemoryStore,
  type PolicyInput, type Standing, type StateStore, StoreUnavailableError } from 'sluice/limiter'
import { withRateLimit } from 'sluice/backend'
import { storeContract } from 'sluice/store-contract'

export const handler = withRateLimit(async (event: { path: string }) => ({ statusCode: 200, body: event.path }))

export async function main(client: DynamoDBClient): Promise<Standing | undefined> {
  await createStateTable(client, 'table')
  const policies: PolicyInput[] = [{ name: 'p', algorithm: 'gcra', limit: 1, window: '1s', burst: 2 }]
  const stores: StateStore[] = [new DynamoDbStore({ client, tableName: 'table' }), new MemoryStore()]
  const options: LimiterOptions = { store: stores[0]!, policies, clock: () => Date.now() }
  const limiter: Limiter = createLimiter(options)
  const decision: Decision = await limiter.take('a', { cost: 1 })
  const numbers: number = decision.limit + decision.remaining + decision.resetAfterMs + decision.retryAfterMs + decision.delayMs
  const { allowed, degraded }: { allowed: boolean; degraded: boolean } = decision
  for (const { name, run } of storeContract) await run(stores[name.length % 2]!)
  return numbers > 0 && allowed && !degraded ? decision.policies.p : undefined
}

export const issuesOf = (error: unknown): readonly string[] =>
  error instanceof ConfigError ? error.issues : error instanceof StoreUnavailableError ? [error.reason] : []

// @ts-expect-error: an algorithm that does not exist
export const wrong: PolicyInput = { name: 'p', algorithm: 'guess', limit: 1, window: '1s' }
`

describe('the package, installed from its tarball in an empty project', () => {
  const project = mkdtempSync(join(tmpdir(), 'sluice-package-'))
  let packed: Packed

  beforeAll(async () => {
    packed = await packInto(project)
    write('package.json', '{ "private": true }')
    const beside = ['@aws-sdk/client-dynamodb', '@types/node'].map((name) => `${name}@${devDependencies[name]}`)
    await run(project, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', packed.tarball, ...beside])
  }, 180_000)
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  const write = (name: string, text: string) => writeFileSync(join(project, name), text)

  it('holds the library with its types, the command line and papers, and nothing else', () => {
    const { files } = packed
    expect(files.filter((path) => !SHIPPED.some((pattern) => pattern.test(path)))).toEqual([])
    expect(files.filter((path) => NOT_SHIPPED.some((pattern) => pattern.test(path)))).toEqual([])
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'dist/limiter/index.js',
        'dist/limiter/index.d.ts',
        'dist/limiter/index.mjs',
      ]),
    )
    expect(packed.size).toBeLessThan(MAX_PACKED_KB * 1024)
  })

  it('tells nothing of the machine that packed it', () => {
    const installed = join(project, 'node_modules', 'sluice')
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const telling = files.filter((file) => readFileSync(join(file.parentPath, file.name), 'utf8').includes(ROOT))
    expect(telling.map(({ name }) => name)).toEqual([])
  })

  it('needs no package, and says which it may have beside it', () => {
    const manifest = JSON.parse(readFileSync(join(project, 'node_modules', 'sluice', 'package.json'), 'utf8'))
    expect(manifest.dependencies).toBeUndefined()
    expect(manifest.optionalDependencies).toBeUndefined()
    expect(Object.keys(manifest.peerDependencies)).toEqual(OPTIONAL)
    expect(Object.keys(manifest.peerDependenciesMeta)).toEqual(OPTIONAL)
    expect([manifest.scripts, manifest.devDependencies, manifest.workspaces]).toEqual([undefined, undefined, undefined])
  })

  it('brings the command line, compiled', async () => {
    const sluice = (...args: string[]) => run(project, join(project, 'node_modules', '.bin', 'sluice'), args)
    expect(await sluice('--version')).toBe('0.1.0\n')
    const file = join('node_modules', 'sluice', 'tiers.yaml')
    expect(await sluice('tiers', 'validate', file)).toBe(`${file} is valid: 4 tiers, 4 routes\n`)
    const engine = await startEngine({ engine: 'dynalite' })
    await expect(sluice('tiers', 'apply', file, '--yes', '--endpoint', engine.endpoint)).rejects.toThrow(
      'there is no table "sluice-config" here',
    )
    await engine.stop()
  })

  it('brings no CDK along: the limiter and the wrapper load without it', async () => {
    expect(existsSync(join(project, 'node_modules', 'aws-cdk-lib'))).toBe(false)
    write(
      'no-cdk.cjs',
      `const names = (entry) => Object.keys(require(entry)).sort().join()
console.log(typeof require('sluice/limiter').createLimiter, names('sluice/backend'))
console.log(names('sluice/middleware'), names('sluice/express-rate-limit'), names('sluice/tiered'))`,
    )
    expect(await run(project, 'node', ['no-cdk.cjs'])).toBe(
      [
        'function handOn,headersFromContext,rateLimit,reportCost,withRateLimit',
        'decisionOf,expressRateLimit,fastifyRateLimit,honoRateLimit,koaRateLimit,reservationOf ExpressRateLimitStore createConfigTable,createTieredLimiter,withMessageLimit',
        '',
      ].join('\n'),
    )
  })

  it('is required from CommonJS', async () => {
    write('program.cjs', `const { createLimiter, MemoryStore } = require('sluice/limiter')\n${TAKE_THREE}`)
    expect(await run(project, 'node', ['program.cjs'])).toBe(TWO_OF_THREE)
  })

  it('is imported from an ES module, by the names of its exports', async () => {
    write('program.mjs', `import { ${EXPORTED.join(', ')} } from 'sluice/limiter'\n${TAKE_THREE}`)
    expect(await run(project, 'node', ['program.mjs'])).toBe(TWO_OF_THREE)
  })

  it('exports what the documentation names, and no more', async () => {
    write('names.cjs', `console.log(Object.keys(require('sluice/limiter')).sort().join())`)
    expect(await run(project, 'node', ['names.cjs'])).toBe(`${EXPORTED.join()}\n`)
  })

  it('brings the store contract, for stores that users write', async () => {
    write(
      'contract.mjs',
      `import { MemoryStore } from 'sluice/limiter'
       import { storeContract } from 'sluice/store-contract'
       for (const { run } of storeContract) await run(new MemoryStore())
       console.log(storeContract.length > 0)`,
    )
    expect(await run(project, 'node', ['contract.mjs'])).toBe('true\n')
  })

  it.each([
    ['nodenext', ['typed.mts', 'typed.cts'], ['--module', 'nodenext']],
    // Checking the SDK's own types takes most of the time, and once is enough.
    ['node16', ['typed.mts', 'typed.cts'], ['--module', 'node16', '--skipLibCheck']],
    ['bundler', ['typed.mts', 'typed.cts'], ['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck']],
    [
      'node10',
      ['typed.ts'],
      ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0', '--skipLibCheck'],
    ],
  ] as const)('compiles with the types it brings: strict, module resolution %s', async (_, files, options) => {
    for (const file of files) write(file, TYPED)
    expect(await compile([...options, ...files])).toBe('')
  })

  describe("the README's example", () => {
    let engine: Engine
    beforeAll(async () => {
      engine = await startEngine({})
    })
    afterAll(async () => engine?.stop())

    it('compiles, and runs as it stands, without API Gateway', async () => {
      const blocks = readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^```ts\n(.*?)^```/gms)
      const example = [...blocks].map(([, code]) => code!).find((code) => code.includes("'sluice/limiter'"))
      write('example.mts', example!)
      expect(await compile(['--module', 'nodenext', '--noEmit', 'false', 'example.mts'])).toBe('')
      await run(project, 'node', ['example.mjs'], {
        AWS_ENDPOINT_URL: engine.endpoint,
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      })
    })
  })

  /** What the compiler has to say. */
  const compile = (args: readonly string[]) =>
    run(project, 'node', [
      require.resolve('typescript/bin/tsc'),
      '--strict',
      '--noEmit',
      '--target',
      'es2022',
      '--types',
      'node',
      ...args,
    ])
})

/** What a command prints; throws that together with its errors when it fails. */
async function run(
  cwd: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 }))
      .stdout
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string }
    throw new Error([message, stdout].join('\n'))
  }
}
