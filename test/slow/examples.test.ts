import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MINISTACK, type MiniStack, startMiniStack } from '../engines/ministack'

const ROOT = join(__dirname, '..', '..')
const EXAMPLES = join(ROOT, 'examples')
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

describe("a stranger's apps, with the package from its tarball", () => {
  const home = mkdtempSync(join(tmpdir(), 'sluice-stranger-'))
  let aws: MiniStack

  beforeAll(async () => {
    const [{ filename }] = JSON.parse(await run(ROOT, 'npm', ['pack', '--json', '--pack-destination', home]))
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    const beside = ['aws-cdk-lib', 'constructs', 'esbuild'].map((name) => `${name}@${devDependencies[name]}`)
    await run(home, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${filename}`, ...beside])
    cpSync(EXAMPLES, home, { recursive: true })
    aws = await startMiniStack()
  }, 300_000)
  afterAll(async () => {
    await aws?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  /** Deploys an example, and returns its outputs. */
  async function deploy(example: string): Promise<Record<string, string>> {
    const folder = join(home, example)
    await aws.cdk(
      folder,
      'deploy',
      '--require-approval',
      'never',
      '--app',
      'node app.mjs',
      '--output',
      'cdk.out',
      '--outputs-file',
      'outputs.json',
    )
    const [outputs] = Object.values(JSON.parse(readFileSync(join(folder, 'outputs.json'), 'utf8')))
    return outputs as Record<string, string>
  }

  /** How often the functions of an example said that they served a request. */
  async function served(): Promise<number> {
    const call = async (action: string, body: object) => {
      const headers = { 'X-Amz-Target': `Logs_20140328.${action}`, 'Content-Type': 'application/x-amz-json-1.1', Authorization: SIGNED }
      return (await fetch(aws.env.AWS_ENDPOINT_URL!, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    const { logGroups = [] } = (await call('DescribeLogGroups', {})) as { logGroups?: { logGroupName: string }[] }
    const events = await Promise.all(logGroups.map(({ logGroupName }) => call('FilterLogEvents', { logGroupName, limit: 10_000 })))
    const messages = (events as { events?: { message: string }[] }[]).flatMap(({ events = [] }) => events.map(({ message }) => message))
    return messages.filter((message) => message.includes('served')).length
  }

  /** Logs arrive a little after the answers do. */
  async function expectServed(count: number): Promise<void> {
    for (let attempt = 0; attempt < 20 && (await served()) < count; attempt++) await new Promise((resolve) => setTimeout(resolve, 250))
    expect(await served()).toBe(count)
  }

  test('rest-api: the sixth request is a 429, and never reaches the backend', async () => {
    const [url] = Object.values(await deploy('rest-api')) // which the CDK gives every REST API
    const things = `${url}things`
    const statuses: number[] = []
    for (let i = 0; i < 8; i++) statuses.push((await aws.send(things)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
    expect(JSON.parse((await aws.send(things)).body)).toMatchObject({ status: 429 })
    await expectServed(5)
    await aws.cdk(join(home, 'rest-api'), 'destroy', '--force', '--app', 'cdk.out')
  })

  test('http-api: 429 from the backend with headers and body, 403 from the gateway, and a health check that nobody counts', async () => {
    const outputs = await deploy('http-api')
    const [news, plainNews] = [`${outputs.ApiUrl}/news`, `${outputs.PlainUrl}/news`]
    const before = await served() // by the other example
    const answers = []
    for (let i = 0; i < 7; i++) answers.push(await aws.send(news))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(answers[0]).toMatchObject({ body: '{"news":"none"}', headers: { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' } })
    const denied = answers[5]!
    expect(denied.headers).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': expect.stringMatching(/^\d+$/) })
    expect(JSON.parse(denied.body)).toMatchObject({ status: 429, policy: 'per-hour', limit: '5', remaining: '0' })
    await expectServed(before + 5)

    expect((await aws.send(`${outputs.ApiUrl}/health`)).status).toBe(200)
    const plain: number[] = []
    for (let i = 0; i < 7; i++) plain.push((await aws.send(plainNews)).status)
    expect(plain).toEqual([200, 200, 200, 200, 200, 403, 403])
    await expectServed(before + 5 + 1 + 5)
    await aws.cdk(join(home, 'http-api'), 'destroy', '--force', '--app', 'cdk.out')
  })

  test.each(readdirSync(EXAMPLES))('%s: cfn-lint finds nothing in the template that was deployed', async (example) => {
    const folder = join(home, example)
    const templates = readdirSync(join(folder, 'cdk.out')).filter((name) => name.endsWith('.template.json'))
    expect(templates).toHaveLength(1)
    // W3005: a dependency that the CDK writes down though it follows from a reference.
    await run(folder, join(MINISTACK, 'cfn-lint'), ['--ignore-checks', 'W3005', '--', ...templates.map((name) => join('cdk.out', name))])
  })
})

/** As much of a signature as MiniStack looks at. */
const SIGNED = 'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/logs/aws4_request, SignedHeaders=host, Signature=0'

async function run(cwd: string, command: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, maxBuffer: 64 * 2 ** 20 })).stdout
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string }
    throw new Error([message, stdout].join('\n'))
  }
}
