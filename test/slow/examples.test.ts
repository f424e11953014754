import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MINISTACK, type MiniStack, startMiniStack } from '../engines/ministack'
import { minuteWith } from '../minute-with'
import { packInto } from './packed'

const ROOT = join(__dirname, '..', '..')
const EXAMPLES = join(ROOT, 'examples')
/** CDK apps of one stack; templates.test.ts and existing-system.test.ts deploy the others. */
const APPS = readdirSync(EXAMPLES).filter(
  (name) => existsSync(join(EXAMPLES, name, 'app.mjs')) && !existsSync(join(EXAMPLES, name, 'before.mjs')),
)
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

describe("a stranger's apps, with the package from its tarball", () => {
  const home = mkdtempSync(join(tmpdir(), 'sluice-stranger-'))
  let aws: MiniStack

  beforeAll(async () => {
    const { tarball } = await packInto(home)
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    const beside = ['aws-cdk-lib', 'constructs', 'esbuild', '@aws-sdk/client-dynamodb'].map(
      (name) => `${name}@${devDependencies[name]}`,
    )
    await run(home, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball, ...beside])
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

  /** Calls MiniStack's CloudWatch Logs, which believes any signature. */
  // biome-ignore lint/suspicious/noExplicitAny: what it is stands in the test
  async function logs(action: string, input: object): Promise<any> {
    const credential = 'Credential=test/20260101/us-east-1/logs/aws4_request'
    const answer = await fetch(aws.env.AWS_ENDPOINT_URL!, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': `Logs_20140328.${action}`,
        authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=0`,
      },
      body: JSON.stringify(input),
    })
    return answer.json()
  }

  /**
   * How many requests a backend has served, the one that asks included; requests one after another meet one instance.
   */
  const served = async (url: string) => JSON.parse((await aws.send(url)).body).served

  test('rest-api: the sixth request is a 429, and never reaches the backend', async () => {
    const [url] = Object.values(await deploy('rest-api')) // which the CDK gives every REST API
    const things = `${url}things`
    const statuses: number[] = []
    for (let i = 0; i < 8; i++) statuses.push((await aws.send(things)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
    expect(JSON.parse((await aws.send(things)).body)).toMatchObject({ status: 429 })
    expect(await served(`${url}health`)).toBe(5 + 1)
    await aws.cdk(join(home, 'rest-api'), 'destroy', '--force', '--app', 'cdk.out')
  })

  test('http-api: 429 from the backend with headers and body, 403 from the gateway, and a status page that nobody counts', async () => {
    const outputs = await deploy('http-api')
    const [news, plainNews] = [`${outputs.ApiUrl}/news`, `${outputs.PlainUrl}/news`]
    const answers = []
    for (let i = 0; i < 7; i++) answers.push(await aws.send(news))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(answers[0]).toMatchObject({
      body: '{"news":"none","served":1}',
      headers: { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' },
    })
    const denied = answers[5]!
    expect(denied.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'retry-after': expect.stringMatching(/^\d+$/),
    })
    expect(JSON.parse(denied.body)).toMatchObject({ status: 429, policy: 'per-hour', limit: 5, remaining: 0 })
    expect(await served(`${outputs.ApiUrl}/status`)).toBe(5 + 1)

    const plain: number[] = []
    for (let i = 0; i < 7; i++) plain.push((await aws.send(plainNews)).status)
    expect(plain).toEqual([200, 200, 200, 200, 200, 403, 403])
    expect(await served(`${outputs.ApiUrl}/status`)).toBe(5 + 1 + 5 + 1)
    await aws.cdk(join(home, 'http-api'), 'destroy', '--force', '--app', 'cdk.out')
  })

  test('llm-gateway: tokens are settled to what was used, a debt denies, and two of a caller run at once', async () => {
    const [url] = Object.values(await deploy('llm-gateway'))
    const chat = (asked: object) => aws.send(`${url}chat`, { method: 'POST', body: JSON.stringify(asked) })
    const left = ({ headers }: Awaited<ReturnType<typeof chat>>) =>
      Object.fromEntries(
        [...String(headers.ratelimit).matchAll(/"([\w-]+)";r=(\d+)/g)].map(([, name, units]) => [name, Number(units)]),
      )
    const first = await chat({ prompt: 'a'.repeat(40), words: 90 })
    expect([first.status, JSON.parse(first.body).usage]).toEqual([200, { total_tokens: 100 }])
    expect(left(first)).toMatchObject({ 'tokens-per-day': 19_500, running: 1 })

    await minuteWith(30_000)
    const second = await chat({ words: 40 })
    expect(left(second)).toMatchObject({ 'tokens-per-day': 20_000 - 100 - 500, running: 1 })
    expect((await chat({ prompt: 'fail' })).status).toBe(502)
    expect(left(await chat({ words: 0 }))).toMatchObject({
      'tokens-per-day': 20_000 - 100 - 40 - 500 - 500,
      running: 1,
    })

    const slow = { words: 20, wordsPerSecond: 4 }
    const atOnce = await Promise.all([slow, slow, slow, slow].map(chat))
    expect(atOnce.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429])
    const refused = atOnce.find(({ status }) => status === 429)!
    // MiniStack shows gateway responses as they are written, and fills nothing in
    expect(JSON.parse(refused.body)).toMatchObject({ status: 429, policy: '$context.authorizer.policy' })
    expect((await chat({ words: 2900, wordsPerSecond: 1e6 })).status).toBe(200)
    expect((await chat({ words: 1 })).status).toBe(429)
    await aws.cdk(join(home, 'llm-gateway'), 'destroy', '--force', '--app', 'cdk.out')
  })

  // MiniStack has the subscription filter and the rule, and delivers no lines: test/lib/nearing-rule.test.ts goes on.
  test('nearing-a-limit: a caller is told at the third of five requests, and sluice top reads the denials', async () => {
    const outputs = await deploy('nearing-a-limit')
    const url = Object.entries(outputs).find(([name]) => name.includes('Endpoint'))![1]
    const statuses: number[] = []
    for (let i = 0; i < 7; i++) statuses.push((await aws.send(url)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    const top = ['top', '--once', '--json', '--endpoint', aws.env.AWS_ENDPOINT_URL!, '--stack', 'Shop']
    const bin = join(home, 'node_modules', 'sluice', 'bin', 'sluice.js')
    const told = await promisify(execFile)(process.execPath, [bin, ...top], { env: { ...process.env, ...aws.env } })
    const { source, denials, isLowerBound, rows } = JSON.parse(told.stdout)
    expect(source).toEqual({ kind: 'log', name: expect.stringContaining('LimiterAuthorizerLogs') })
    expect([denials >= 1 && denials <= 2, isLowerBound]).toEqual([true, true])
    expect(rows).toMatchObject([{ tier: 'anonymous', policy: 'per-day', subject: expect.stringMatching(/^ip~/) }])
    const { events } = await logs('FilterLogEvents', { logGroupName: source.name, filterPattern: '"limit_nearing"' })
    const near = events.map(({ message }: { message: string }) => JSON.parse(message))
    expect(near).toMatchObject([{ event: 'limit_nearing', limit: 5, used: 3, nearings: 1, subject: rows[0].subject }])
    const { subscriptionFilters } = await logs('DescribeSubscriptionFilters', { logGroupName: source.name })
    expect(subscriptionFilters).toMatchObject([{ filterPattern: '{ $.event = "limit_nearing" }' }])
    await aws.cdk(join(home, 'nearing-a-limit'), 'destroy', '--force', '--app', 'cdk.out')
  })

  // MiniStack looks for an authorizer's function in the API's account only, so no request can be sent here.
  test('several-accounts: both accounts take their stacks, which fit each other, and cfn-lint finds nothing', async () => {
    const folder = join(home, 'several-accounts')
    for (const [account, app] of [
      ['111111111111', 'limiter'],
      ['222222222222', 'shop'],
    ] as const) {
      const command = ['--app', `node ${app}.mjs`, '--output', `${app}.out`]
      await aws.cdkAs(account, folder, 'bootstrap', `aws://${account}/us-east-1`, ...command)
      await aws.cdkAs(account, folder, 'deploy', '--require-approval', 'never', ...command)
    }
    const templates = ['limiter.out/Limiter.template.json', 'shop.out/Shop.template.json']
    const [limiter, shop] = templates.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).Resources)
    const of = (resources: object, type: string) => Object.values(resources).filter(({ Type }) => Type === type)
    const [permission] = of(limiter, 'AWS::Lambda::Permission')
    expect(JSON.stringify(permission.Properties.SourceArn)).toContain(':222222222222:*/authorizers/*')
    const [authorizer] = of(shop, 'AWS::ApiGateway::Authorizer')
    expect(JSON.stringify(authorizer.Properties.AuthorizerUri)).toContain(':111111111111:function:rate-limiter:live/')
    await run(folder, join(MINISTACK, 'cfn-lint'), ['--ignore-checks', 'W3005', '--', ...templates])
  })

  test.each(APPS)('%s: cfn-lint finds nothing in the template that was deployed', async (example) => {
    const folder = join(home, example)
    const templates = readdirSync(join(folder, 'cdk.out')).filter((name) => name.endsWith('.template.json'))
    expect(templates).toHaveLength(1)
    // W3005: a dependency that the CDK writes down though it follows from a reference.
    await run(folder, join(MINISTACK, 'cfn-lint'), [
      '--ignore-checks',
      'W3005',
      '--',
      ...templates.map((name) => join('cdk.out', name)),
    ])
  })
})

async function run(cwd: string, command: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, maxBuffer: 64 * 2 ** 20 })).stdout
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string }
    throw new Error([message, stdout].join('\n'))
  }
}
