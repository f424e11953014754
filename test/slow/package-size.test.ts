import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import * as backendSource from '../../backend'
import { createLimiter, createStateTable, DynamoDbStore } from '../../limiter'
import { connect } from '../../local/dynamodb'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { linksIn, withoutBlocks } from '../docs/links'
import { type Packed, packInto } from './packed'

const ROOT = join(__dirname, '..', '..')
const BACKEND = join(ROOT, 'packages', 'backend')
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const SDK = `@aws-sdk/client-dynamodb@${devDependencies['@aws-sdk/client-dynamodb']}`

/** What users may have to install, beside the SDK of AWS (ADR 0033). */
const MAX_LIBRARY_MB = 5.95
const MAX_BACKEND_KB = 260

const folder = mkdtempSync(join(tmpdir(), 'sluice-size-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let sluice: Packed
let backend: Packed
beforeAll(async () => {
  sluice = await packInto(folder)
  backend = await packInto(folder, 'sluice-backend')
}, 300_000)

/** An empty project with these packages, as npm installs them without what is optional. */
async function projectWith(...packages: string[]): Promise<string> {
  const project = mkdtempSync(join(folder, 'project-'))
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  const options = ['--omit=peer', '--omit=optional', '--no-audit', '--no-fund', '--prefer-offline']
  await run(project, 'npm', ['install', ...options, ...packages])
  return project
}

/**
 * Bytes of the files of this package, as npm calls them unpacked; a disk with blocks of 4 KB takes a sixth more. What
 * the SDK brings, under its own names and others, 0.9 MB, is not counted.
 */
function bytesOf(project: string, name = 'sluice'): number {
  const folder = join(project, 'node_modules', name)
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => statSync(join(folder, path)))
  return entries.reduce((bytes, entry) => bytes + (entry.isFile() ? entry.size : 0), 0)
}

const packagesIn = (project: string) => readdirSync(join(project, 'node_modules')).filter((name) => !/^\./.test(name))

/** What a program prints, or its error. */
const runs = (project: string, program: string, env?: NodeJS.ProcessEnv) =>
  run(project, 'node', ['--input-type=module', '--eval', program], env)

const compiles = (project: string, program: string, ...more: string[]) => {
  writeFileSync(join(project, 'typed.mts'), program)
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  const typeRoots = ['--typeRoots', join(ROOT, 'node_modules', '@types')]
  return run(project, 'node', [require.resolve('typescript/bin/tsc'), ...options, ...typeRoots, ...more, 'typed.mts'])
}

/** One of two is allowed, and it says which failed where there is none of them. */
const LIMIT = `const limiter = createLimiter({ store, policies: [{ name: 'p', limit: 1, window: '1h' }] })
  console.log((await limiter.take('a')).allowed, (await limiter.take('a')).allowed)`

describe('a program that counts in memory', () => {
  let project: string
  beforeAll(async () => {
    project = await projectWith(sluice.tarball)
  })

  it(`installs at most ${MAX_LIBRARY_MB} MB, one package, and nothing of AWS`, () => {
    expect(packagesIn(project)).toEqual(['sluice'])
    expect(bytesOf(project) / 1e6).toBeLessThan(MAX_LIBRARY_MB)
  })

  it('limits', async () => {
    const program = `import { createLimiter, MemoryStore } from 'sluice/limiter'\nconst store = new MemoryStore()\n${LIMIT}`
    expect(await runs(project, program)).toBe('true false\n')
  })

  it('loads every entry point but the constructs, and compiles strictly, libraries included', async () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const entries = Object.keys(exports).filter((entry) => entry !== '.' && entry !== './package.json')
    const imports = entries.map((entry, i) => `import * as entry${i} from 'sluice${entry.slice(1)}'`).join('\n')
    const counts = entries.map((_, i) => `Object.keys(entry${i}).length > 0`).join(' && ')
    expect(entries.length).toBeGreaterThan(5)
    expect(await runs(project, `${imports}\nconsole.log(${counts})`)).toBe('true\n')
    expect(await compiles(project, `${imports}\nexport const all: boolean = ${counts}`)).toBe('')
  }, 60_000)

  const INSTALL_SDK = /needs @aws-sdk\/client-dynamodb, which is not installed.*: npm install @aws-sdk\/client-dynamodb/
  const CLIENT = 'const client = { send: () => Promise.reject(new Error("sent")) }'
  it.each([
    ['a DynamoDbStore', 'limiter', 'DynamoDbStore', "await new DynamoDbStore({ client, tableName: 'abc' }).read('a')"],
    ['createStateTable', 'limiter', 'createStateTable', "await createStateTable(client, 'abc')"],
    [
      'createTieredLimiter',
      'tiered',
      'createTieredLimiter',
      "await createTieredLimiter({ client, configTable: 'abc', stateTable: 'abc' }).decide({ method: 'GET', path: '/', address: '1.1.1.1' })",
    ],
  ])('is told by %s what to install', async (_, entry, name, call) => {
    const program = `import { ${name} } from 'sluice/${entry}'\n${CLIENT}
      try { ${call}; console.log('made') } catch (error) { console.log(error.code, error.message) }`
    expect(await runs(project, program)).toMatch(INSTALL_SDK)
  })

  it.each(["require('sluice')", "await import('sluice')"])('is told what the constructs need by %s', async (load) => {
    const program = `import { createRequire } from 'node:module'
      const require = createRequire(process.cwd() + '/')
      try { ${load}; console.log('loaded') } catch (error) { console.log(error.message) }`
    expect(await runs(project, program)).toBe(
      "the constructs of 'sluice' (the limiter alone is 'sluice/limiter') need aws-cdk-lib and constructs, which are not installed. To install them: npm install aws-cdk-lib constructs\n",
    )
  })
})

describe('a program that counts in DynamoDB, with no package of AWS,', () => {
  let project: string
  let engine: Engine
  let client: DynamoDBClient
  beforeAll(async () => {
    ;[project, engine] = await Promise.all([projectWith(sluice.tarball), startEngine({})])
    client = connect(engine.endpoint)
  })
  beforeEach(() => createStateTable(client, 'limits'))
  afterEach(() => client.send(new DeleteTableCommand({ TableName: 'limits' })))
  afterAll(async () => {
    client?.destroy()
    await engine?.stop()
  })

  /** All that the short form needs. */
  const env = () => ({
    AWS_ENDPOINT_URL: engine.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  })
  const STORE = `const store = new DynamoDbStore({ tableName: 'limits' })`

  it('has none', () => {
    expect(packagesIn(project)).toEqual(['sluice'])
  })

  it('limits as an ES module, and ends by itself', async () => {
    const program = `import { createLimiter, DynamoDbStore } from 'sluice/limiter'\n${STORE}\n${LIMIT}`
    expect(await runs(project, program, env())).toBe('true false\n')
  })

  it('limits as a CommonJS module', async () => {
    const program = `const { createLimiter, DynamoDbStore } = require('sluice/limiter')
      void (async () => { ${STORE}\n${LIMIT} })()`
    expect(await run(project, 'node', ['--input-type=commonjs', '--eval', program], env())).toBe('true false\n')
  })

  it('limits as TypeScript that is checked strictly, libraries included', async () => {
    const program = `import { createLimiter, type Decision, DynamoDbStore, type DynamoDbStoreOptions } from 'sluice/limiter'
      import { createTieredLimiter } from 'sluice/tiered'
      const options: DynamoDbStoreOptions = { tableName: 'limits' }
      const store = new DynamoDbStore(options)
      export const more = [
        { tableName: 'limits', region: 'eu-central-1', endpoint: 'http://127.0.0.1:8000' },
        { tableName: 'limits', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } },
        { tableName: 'limits', credentials: async () => ({ accessKeyId: 'a', secretAccessKey: 'b', expiration: new Date() }) },
      ] satisfies DynamoDbStoreOptions[]
      // @ts-expect-error: no such option
      export const wrong: DynamoDbStoreOptions = { tableName: 'limits', regoin: 'eu-central-1' }
      export const tiered = () => createTieredLimiter({ configTable: 'config', stateTable: 'limits' })
      const ONE = { name: 'all', limit: 1, window: '1m' } as const
      export const first = (): Promise<Decision> => createLimiter({ store, policies: [ONE] }).take('a')
      ${LIMIT}`
    expect(await compiles(project, program, '--noEmit', 'false', '--skipLibCheck', 'false')).toBe('')
    expect(await run(project, 'node', ['typed.mjs'], env())).toBe('true false\n')
  }, 60_000)

  it('settles with sluice-backend alone', async () => {
    const backendProject = await projectWith(backend.tarball)
    const store = new DynamoDbStore({ client, tableName: 'limits' })
    const policies = [{ name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1d' }] as const
    const limiter = createLimiter({ store, policies })
    const { reservation } = await limiter.take('a', { cost: 400, reserve: '1m' })
    const left = async () => (await createLimiter({ store, policies }).peek('a', { cost: 0 })).remaining
    expect(await left()).toBe(600)
    const authorizer = { allowed: 'true', reservation }
    const program = `import { reportCost, withRateLimit } from 'sluice-backend'
      const handler = withRateLimit(async (event) => { reportCost(event, 150); return { statusCode: 200 } }, { settleWithinMs: 2000 })
      console.log((await handler({ requestContext: { authorizer: ${JSON.stringify(authorizer)} } })).statusCode)`
    const environment = { ...env(), SLUICE_STATE_TABLE: 'limits' }
    expect(await runs(backendProject, program, environment)).toBe('200\n')
    expect(await left()).toBe(850)
  })

  it('is told what to do for credentials, and for a Region', async () => {
    const program = `import { createLimiter, DynamoDbStore } from 'sluice/limiter'
      try { ${STORE}\n${LIMIT} } catch (error) { console.log(error.code, error.reason, error.message) }`
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
    expect(await runs(project, program, { ...env(), ...none })).toMatch(
      /^store_unavailable unusable-client .*set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, pass credentials .*, or install @aws-sdk\/credential-providers\n$/,
    )
    expect(await runs(project, program, { ...env(), AWS_REGION: '' })).toContain(
      'invalid_config undefined region must be',
    )
  })
})

describe('a program that counts in DynamoDB', () => {
  let project: string
  let engine: Engine
  beforeAll(async () => {
    ;[project, engine] = await Promise.all([projectWith(sluice.tarball, SDK), startEngine({})])
  })
  afterAll(() => engine?.stop())

  const env = () => ({
    AWS_ENDPOINT_URL: engine.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  })

  it(`installs at most ${MAX_LIBRARY_MB} MB beside the SDK, and one client of it`, () => {
    expect(readdirSync(join(project, 'node_modules', '@aws-sdk')).filter((name) => /^client-/.test(name))).toEqual([
      'client-dynamodb',
    ])
    expect(bytesOf(project) / 1e6).toBeLessThan(MAX_LIBRARY_MB)
  })

  it('limits', async () => {
    const program = `import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
      import { createLimiter, createStateTable, DynamoDbStore } from 'sluice/limiter'
      const client = new DynamoDBClient({ maxAttempts: 1 })
      await createStateTable(client, 'limits')
      const store = new DynamoDbStore({ client, tableName: 'limits' })
      ${LIMIT}`
    expect(await runs(project, program, env())).toBe('true false\n')
  })

  it('has the credentials of a file, by the chain of the SDK that it has installed', async () => {
    const file = join(project, 'credentials')
    writeFileSync(file, '[default]\naws_access_key_id = local\naws_secret_access_key = local\n')
    const program = `import { createLimiter, DynamoDbStore } from 'sluice/limiter'
      const store = new DynamoDbStore({ tableName: 'limits' })
      console.log((await createLimiter({ store, policies: [{ name: 'p', limit: 1, window: '1h' }] }).take('b')).degraded)`
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SHARED_CREDENTIALS_FILE: file }
    expect(await runs(project, program, { ...env(), ...none })).toBe('false\n')
  })

  it('has the types of its client checked', async () => {
    const program = `import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
      import { DynamoDbStore } from 'sluice/limiter'
      export const store = new DynamoDbStore({ client: new DynamoDBClient({}), tableName: 'limits' })
      // @ts-expect-error: no client
      export const wrong = new DynamoDbStore({ client: { send: 1 }, tableName: 'limits' })`
    expect(await compiles(project, program, '--skipLibCheck')).toBe('')
  }, 60_000)
})

describe('a function behind a protected API', () => {
  let project: string
  beforeAll(async () => {
    project = await projectWith(backend.tarball)
  })

  const EVENT = `const event = { requestContext: { authorizer: { allowed: 'true', limit: 'x' } } }`
  const TYPED = `import { withRateLimit, rateLimit, reportCost, type UsedUnits } from 'sluice-backend'
    export const handler = withRateLimit(async (event: { path: string }) => ({ statusCode: 200, body: event.path }))
    export const used: UsedUnits = { cost: 3 }
    export const status: Promise<number> = handler({ path: '/' }).then(({ statusCode }) => statusCode)
    export const others = [rateLimit, reportCost]`

  it(`installs at most ${MAX_BACKEND_KB} KB`, () => {
    expect(packagesIn(project)).toEqual(['sluice-backend'])
    expect(bytesOf(project, 'sluice-backend') / 1e3).toBeLessThan(MAX_BACKEND_KB)
  })

  it('has what `sluice/backend` has, and its types', async () => {
    const names = Object.keys(backendSource).filter((name) => !/^(default|__esModule)$/.test(name))
    expect(names).toContain('withRateLimit')
    const program = "import * as all from 'sluice-backend'; console.log(Object.keys(all).sort().join())"
    expect(await runs(project, program)).toBe(`${names.sort().join()}\n`)
    expect(await compiles(project, TYPED)).toBe('')
  }, 60_000)

  it('wraps a handler, and says that its settler lacks a Region', async () => {
    const program = `import { withRateLimit } from 'sluice-backend'
      ${EVENT}
      const handler = withRateLimit(async () => ({ statusCode: 200 }))
      console.log((await handler(event)).statusCode)`
    const env = { SLUICE_STATE_TABLE: 'limits', AWS_REGION: '' }
    const { stdout, stderr } = await promisify(execFile)('node', ['--input-type=module', '--eval', program], {
      cwd: project,
      env: { ...process.env, ...env },
    })
    expect(stdout).toBe('200\n')
    expect(JSON.parse(stderr)).toMatchObject({
      event: 'settler_unavailable',
      message: expect.stringContaining('region must be a Region such as "eu-central-1"'),
    })
  })
})

describe('the command, with nothing else installed', () => {
  let project: string
  let engine: Engine
  beforeAll(async () => {
    ;[project, engine] = await Promise.all([projectWith(sluice.tarball), startEngine({})])
  })
  afterAll(() => engine?.stop())

  const command = (args: readonly string[], env: NodeJS.ProcessEnv) =>
    run(project, 'node', [join('node_modules', 'sluice', 'bin', 'sluice.js'), ...args], env)

  it('asks AWS with the credentials of a profile that assumes a role', async () => {
    const signedBy: string[] = []
    const aws = createServer((request, response) => {
      signedBy.push(/Credential=(\w+)\//.exec(request.headers.authorization ?? '')?.[1] ?? 'nobody')
      const isSts = request.method === 'POST' && request.url === '/'
      response.setHeader('content-type', isSts ? 'text/xml' : 'application/json')
      response.statusCode = isSts ? 200 : 403
      response.end(isSts ? ASSUMED : '{"message":"not you"}')
    })
    await new Promise<void>((resolve) => aws.listen(0, '127.0.0.1', resolve))
    writeFileSync(
      join(project, 'config'),
      `[profile base]\ncredential_process = "${process.execPath}" "${join(project, 'credentials.cjs')}"
[profile shop]\nregion = eu-central-1\nrole_arn = arn:aws:iam::123456789012:role/shop\nsource_profile = base\n`,
    )
    writeFileSync(
      join(project, 'credentials.cjs'),
      'console.log(JSON.stringify({ Version: 1, AccessKeyId: "BASE", SecretAccessKey: "s" }))',
    )
    const attaching = command(['attach', 'a1b2c3d4e5', '--stage', 'prod', '--dry-run'], {
      AWS_CONFIG_FILE: join(project, 'config'),
      AWS_SHARED_CREDENTIALS_FILE: join(project, 'none'),
      AWS_PROFILE: 'shop',
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(aws.address() as AddressInfo).port}`,
      AWS_ACCESS_KEY_ID: undefined,
      AWS_SECRET_ACCESS_KEY: undefined,
    })
    await expect(attaching).rejects.toThrow(/not you|denied|permission/i)
    aws.close()
    expect(signedBy[0]).toBe('BASE')
    expect(new Set(signedBy.slice(1))).toEqual(new Set(['ASSUMED']))
  })
})

const ASSUMED = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`

describe('what is published', () => {
  const packages = () =>
    [sluice, backend].map((packed) => ({ ...packed, folder: packed.tarball.replace(/\.tgz$/, '') }))
  beforeAll(async () => {
    for (const { tarball, folder: unpacked } of packages()) {
      mkdirSync(unpacked)
      await run(unpacked, 'tar', ['-xzf', tarball, '--strip-components', '1'])
    }
  })

  it('has pages whose relative links lead to pages and pictures in it', () => {
    for (const { folder: from, files } of packages()) {
      const has = (path: string) => files.some((file) => file === path || file.startsWith(`${path}/`))
      const lost = files
        .filter((file) => file.endsWith('.md'))
        .flatMap((page) =>
          linksIn(withoutBlocks(readFileSync(join(from, page), 'utf8')))
            .map((target) => decodeURIComponent(target.split('#')[0]!))
            .filter((target) => target !== '')
            .map((target) =>
              normalize(join(page, '..', target))
                .replaceAll('\\', '/')
                .replace(/\/$/, ''),
            )
            .filter((path) => !has(path))
            .map((path) => `${page}: ${path}`),
        )
      expect(lost).toEqual([])
    }
  })

  it('has the licenses of what is brought along, and its own', () => {
    for (const { files } of packages()) {
      expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
      const bundles = files.filter((file) => /^dist\/((authorizer|cli|seed)\/)?[\w-]+\.js$/.test(file))
      expect(bundles.length).toBeGreaterThan(0)
      for (const bundle of bundles) expect(files).toContain(bundle.replace(/[\w-]+\.js$/, 'THIRD-PARTY-NOTICES.txt'))
    }
    const noticed = (part: string) =>
      [
        ...readFileSync(join(ROOT, 'dist', part, 'THIRD-PARTY-NOTICES.txt'), 'utf8').matchAll(
          /^(@?[a-z\d/-]+) [\d.]+ \(/gm,
        ),
      ].map(([, name]) => name!)
    expect(noticed('cli')).toEqual(
      expect.arrayContaining(['commander', 'yaml', '@aws-sdk/client-lambda', '@smithy/core', 'mnemonist']),
    )
    expect(noticed('').sort()).toEqual(['@aws-sdk/util-dynamodb', 'aws-jwt-verify', 'valibot', 'yaml'])
  })

  it('is of one version, license and Node', () => {
    const [one, other] = packages().map((each) => JSON.parse(readFileSync(join(each.folder, 'package.json'), 'utf8')))
    for (const field of ['version', 'license', 'engines', 'type']) expect(other[field]).toEqual(one[field])
    expect([other.dependencies, other.peerDependencies]).toEqual([undefined, undefined])
    expect(readFileSync(join(BACKEND, 'LICENSE'), 'utf8')).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'))
    expect(existsSync(join(ROOT, 'backend', 'package.json'))).toBe(false) // a folder's imports would mean its `main`
  })

  it('is what npm publishes without a warning, but for what the owner says', async () => {
    const told = await run(ROOT, 'node', [
      require.resolve('tsx/cli'),
      'tools/package/check-publish.ts',
      ...packages().map(({ tarball }) => tarball),
    ])
    for (const name of ['sluice', 'sluice-backend']) {
      expect(told).toMatch(new RegExp(`^${name} \\S+: \\d+ files, \\d+ KB to download, \\d+ KB installed$`, 'm'))
      expect(told).toContain(`${name} 0.1.0: open, for the owner to say: repository, homepage, bugs, author\n`)
    }
  }, 60_000)
})

/** What a command prints; throws that together with its errors when it fails. */
async function run(cwd: string, file: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 }
    return (await promisify(execFile)(file, args, options)).stdout
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string }
    throw new Error([message, stdout].join('\n'))
  }
}
