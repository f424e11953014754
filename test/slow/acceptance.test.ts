import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { GetRestApisCommand } from '@aws-sdk/client-api-gateway'
import { GetApisCommand } from '@aws-sdk/client-apigatewayv2'
import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { ListFunctionsCommand } from '@aws-sdk/client-lambda'
import { CHECKS } from '../../acceptance/checks/index'
import { Clients } from '../../acceptance/scene'
import { type MiniStack, startMiniStack } from '../engines/ministack'

const ROOT = join(__dirname, '..', '..')
const PAGE = join(ROOT, 'docs', 'acceptance.md')

/** Stands before an emulator's CloudFormation, and refuses the stack that is deployed last. */
async function startRefusing(endpoint: string): Promise<Server> {
  const server = createServer(async (incoming, answer) => {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece)
    const body = Buffer.concat(pieces)
    if (/Action=CreateChangeSet/.test(String(body)) && /StackName=[\w-]+-other(&|$)/.test(String(body))) {
      const error = '<Error><Type>Sender</Type><Code>ValidationError</Code><Message>no more stacks</Message></Error>'
      return void answer.writeHead(400, { 'content-type': 'text/xml' }).end(`<ErrorResponse>${error}</ErrorResponse>`)
    }
    const { method, url, headers } = incoming
    const outgoing = request(new URL(url!, endpoint), { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 0, got.headers)
      got.pipe(answer)
    })
    outgoing.on('error', () => answer.destroy()).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/**
 * Stands before an emulator, and makes a 200 of the 403 that it answers for `/hello`: the one check that looks at that
 * has to say so.
 */
async function startLiar(endpoint: string): Promise<Server> {
  const { hostname, port } = new URL(endpoint)
  const server = createServer((incoming, answer) => {
    const { method, url: path, headers } = incoming
    const outgoing = request({ hostname, port, method, path, headers }, (got: IncomingMessage) => {
      const { statusCode = 0 } = got
      answer.writeHead(path === '/hello' && statusCode === 403 ? 200 : statusCode, got.headers)
      got.pipe(answer)
    })
    outgoing.on('error', () => answer.destroy())
    incoming.pipe(outgoing)
  })
  server.on('upgrade', ({ method, url, rawHeaders }, socket, head) => {
    const upstream = connect(Number(port), hostname, () => {
      const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []))
      upstream.write([`${method} ${url} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    upstream.on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const urlOf = (server: Server) => `http://localhost:${(server.address() as AddressInfo).port}`

/** When the page was written; undefined where there is none. */
const savedAt = () => statSync(PAGE, { throwIfNoEntry: false })?.mtimeMs

interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the command, and tells what it says while it runs. */
async function acceptance(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onErr: (said: string, end: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<Run> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'acceptance/main.ts', ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
    onErr(err, (signal) => child.kill(signal))
  })
  const [code] = await once(child, 'close')
  return { code, out, err }
}

describe('npm run acceptance, on an emulator', () => {
  const environment = { ...process.env }
  let aws: MiniStack
  let liar: Server
  let refuser: Server
  let refusing: string
  let env: NodeJS.ProcessEnv
  let clients: Clients

  beforeAll(async () => {
    aws = await startMiniStack()
    liar = await startLiar(aws.env.AWS_ENDPOINT_URL!)
    refuser = await startRefusing(aws.env.AWS_ENDPOINT_URL!)
    refusing = urlOf(refuser)
    env = { ...process.env, ...aws.env, AWS_ENDPOINT_URL: urlOf(liar) }
    Object.assign(process.env, aws.env)
    clients = new Clients()
  }, 120_000)
  afterAll(async () => {
    clients?.destroy()
    for (const server of [liar, refuser]) {
      server?.closeAllConnections()
      server?.close()
    }
    await aws?.stop()
    process.env = environment
  })

  /** All that a run could have made. */
  async function present(): Promise<unknown> {
    const { Stacks = [] } = await clients.stacks.send(new DescribeStacksCommand({}))
    const { TableNames } = await clients.tables.send(new ListTablesCommand({}))
    const { Functions = [] } = await clients.lambda.send(new ListFunctionsCommand({}))
    const { items = [] } = await clients.rest.send(new GetRestApisCommand({}))
    const { Items = [] } = await clients.http.send(new GetApisCommand({}))
    return {
      stacks: Stacks.filter(({ StackStatus }) => StackStatus !== 'DELETE_COMPLETE').map(({ StackName }) => StackName),
      tables: TableNames,
      others: [...Functions, ...items, ...Items].length,
    }
  }
  const NOTHING = { stacks: ['CDKToolkit'], tables: [], others: 0 }

  it('says what it will cost, answers what an emulator can tell, sees the one answer that is changed, saves nothing and leaves nothing', async () => {
    const before = savedAt()
    const { code, out, err } = await acceptance(['--yes'], env)
    expect(err).toMatch(/Three stacks named sluice-acceptance-[0-9a-f]{8}-… will be created in account 000000000000/)
    expect(err).toMatch(/At most \d+ cents, by prices of 20/)
    const cells = out.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    expect(cells).toHaveLength(CHECKS.length + 1)
    const verdicts = CHECKS.map(({ id, onlyAws }, i) => {
      const verdict = cells[i + 1]!.split(/(?<!\\)\| /).at(-1)!
      return [id, verdict.replace(/: an emulator: .*/, '').replace(' |', ''), onlyAws === undefined]
    })
    const wanted = CHECKS.map(({ id, onlyAws }) => {
      const verdict = onlyAws ? 'could not be told' : id === 'http-denial' ? 'differs' : 'as expected'
      return [id, verdict, onlyAws === undefined]
    })
    expect([verdicts, out]).toEqual([wanted, out])
    expect(err).toContain('not saved: an emulator has answered, and not AWS')
    expect(savedAt()).toBe(before)
    expect(code).toBe(3)
    expect(await present()).toEqual(NOTHING)
  })

  it.each([
    ['without credentials', { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }, [], 'no AWS credentials'],
    [
      'without anything',
      { AWS_REGION: '', AWS_DEFAULT_REGION: '', AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' },
      [],
      'no AWS Region: set AWS_REGION, or a Region in the profile\nno AWS credentials',
    ],
    ['without a Region', { AWS_REGION: '', AWS_DEFAULT_REGION: '' }, [], 'no AWS Region'],
    ['with a check that is none', {}, ['--only', 'all'], '--only must name checks, got all, wanted some of: sample'],
    ['for what is no run', {}, ['--clean', 'Sluice'], '--clean must be the name of a run'],
    ['where nobody can say yes', {}, [], 'nobody can be asked here: --yes says yes'],
  ])('refuses %s, and deploys nothing', async (_, other, args, said) => {
    const none = join(ROOT, 'no-such-file')
    const home = { AWS_CONFIG_FILE: none, AWS_SHARED_CREDENTIALS_FILE: none, AWS_EC2_METADATA_DISABLED: 'true' }
    const { code, err } = await acceptance(args, { ...env, ...home, ...other })
    expect([code, err]).toEqual([1, expect.stringContaining(said)])
    expect(await present()).toEqual(NOTHING)
  })

  it.each([
    ['SIGINT', 'the deployment', ['--yes'], /-limiter \|.* CREATE_COMPLETE/],
    ['SIGTERM', 'a check', ['--yes', '--only', 'runtime,tiers-apply'], /runtime: as expected/],
  ] as const)('destroys what it has made after %s in the middle of %s', async (signal, _, args, moment) => {
    let isSent = false
    const { code, out, err } = await acceptance(args, env, (said, end) => {
      if (isSent || !moment.test(said)) return
      isSent = true
      end(signal)
    })
    expect(err).toContain('stopping: what was made is destroyed')
    expect(err).toMatch(/destroying sluice-acceptance-[0-9a-f]{8}-limiter/)
    expect([code, out, err]).toEqual([130, '', err])
    expect(await present()).toEqual(NOTHING)
  })

  it('destroys what it has made when the last of its stacks cannot be deployed, and says why', async () => {
    const { code, out, err } = await acceptance(['--yes'], { ...env, AWS_ENDPOINT_URL_CLOUDFORMATION: refusing })
    expect([code, out, err]).toEqual([2, '', expect.stringContaining('the deployment failed:')])
    expect(err).toContain('no more stacks')
    expect(err).toMatch(/destroying sluice-acceptance-[0-9a-f]{8}-limiter/)
    expect(await present()).toEqual(NOTHING)
  })
})
