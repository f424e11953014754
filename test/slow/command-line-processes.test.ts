import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import { type Deployment, deploy, NOBODY, type Said, TIERS } from '../cli/command-line'

const BINARY = join(__dirname, '..', '..', 'bin', 'sluice.js')
const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
const children: ChildProcess[] = []
const servers: Server[] = []

let at: Deployment
beforeAll(async () => {
  at = await deploy(dynoxideBinary() === undefined ? 'dynalite' : 'dynoxide')
  await at.put(...TIERS)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
  await at?.close()
})

/** Runs the binary in an environment that has nothing of AWS but what is said. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const bare = { PATH: process.env.PATH, HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', ...NOBODY }
  const child = spawn(process.execPath, [BINARY, ...args], { env: { ...bare, ...env }, cwd: folder })
  children.push(child)
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code, signal]): Said => ({ code: code ?? signal, out, err }))
  return { child, ended }
}
const sluice = (args: readonly string[], env?: Readonly<Record<string, string>>) => start(args, env).ended

async function listen(server: Server): Promise<string> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const KEYS = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' }

describe('the binary', () => {
  it('is done with 0, says mistakes with 1 and failures of the service with 2; in a pipe it is not coloured', async () => {
    const [list, mistake, away] = await Promise.all([
      sluice(['tiers', 'list', '--endpoint', at.endpoint]),
      sluice(['tiers', 'get', 'gold', '--endpoint', at.endpoint]),
      sluice(['tiers', 'list', '--endpoint', 'http://127.0.0.1:1']),
    ])
    expect(list).toEqual({
      code: 0,
      err: '',
      out: expect.stringMatching(/^tier anonymous +ip +per-minute: 20 per 1m$/m),
    })
    expect(list.out).not.toContain('\u001b')
    expect(mistake).toEqual({ code: 1, out: '', err: 'there is no tier "gold": known are anonymous, free, pro\n' })
    expect(away).toEqual({ code: 2, out: '', err: 'the service failed: connect ECONNREFUSED 127.0.0.1:1\n' })
  })

  it('says in one line what to set where credentials or the Region are missing', async () => {
    const [noRegion, noCredentials] = await Promise.all([
      sluice(['tiers', 'list']),
      sluice(['tiers', 'list', '--region', 'eu-central-1', '--table', 'x']),
    ])
    expect(noRegion).toEqual({
      code: 1,
      out: '',
      err: 'no AWS Region: set AWS_REGION or use --region, or use --endpoint for another DynamoDB\n',
    })
    expect(noCredentials).toMatchObject({ code: 1, out: '' })
    expect(noCredentials.err).toMatch(
      /^no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or with npm start SLUICE_DYNAMODB_ENDPOINT \(.*\)\n$/,
    )
  })

  it('takes the environment for options', async () => {
    const env = { SLUICE_DYNAMODB_ENDPOINT: at.endpoint, SLUICE_CONFIG_TABLE: 'nowhere' }
    const { code, err } = await sluice(['tiers', 'list'], env)
    expect([code, err]).toEqual([
      1,
      'there is no table "nowhere" here: name it with --table or SLUICE_CONFIG_TABLE, or use --stack\n',
    ])
  })
})

describe('tables of a deployed stack', () => {
  const stack = (name: string, outputs: Readonly<Record<string, string>>) =>
    `<member><StackName>${name}</StackName><CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${Object.entries(
      outputs,
    )
      .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
      .join('')}</Outputs></member>`
  const sluiceStack = (name: string) =>
    stack(name, { ConfigTableName: 'sluice-config', StateTableName: 'sluice-state' })

  /** CloudFormation that has these stacks. */
  const cloudFormation = (...stacks: string[]) =>
    listen(
      createServer((_, response) => {
        response.setHeader('Content-Type', 'text/xml')
        response.end(
          `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks>${stacks.join('')}</Stacks></DescribeStacksResult></DescribeStacksResponse>`,
        )
      }),
    )
  const deployed = async (...stacks: string[]) => ({
    ...KEYS,
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_CLOUDFORMATION: await cloudFormation(...stacks),
    AWS_ENDPOINT_URL_DYNAMODB: at.endpoint,
  })

  it('are found by its outputs; where there are several stacks or none, it is said in a line', async () => {
    const [one, several, none] = await Promise.all([
      sluice(['doctor'], await deployed(stack('Other', { Url: 'x' }), sluiceStack('Sluice'))),
      sluice(['tiers', 'list'], await deployed(sluiceStack('One'), sluiceStack('Two'))),
      sluice(['tiers', 'list'], await deployed(stack('Other', { Url: 'x' }))),
    ])
    expect([one.err, one.out]).toEqual([
      expect.stringMatching(/^limiter Sluice in us-east-1$/m),
      expect.stringMatching(
        /^ok {6}connection: DynamoDB in us-east-1; tables named by the outputs of limiter Sluice$/m,
      ),
    ])
    expect(one.out).toMatch(/^ok {6}config table: sluice-config is reachable$/m)
    expect(several).toEqual({
      code: 1,
      out: '',
      err: 'there are 2 limiters in us-east-1, choose one with --limiter: One, Two\n',
    })
    expect(none).toEqual({
      code: 1,
      out: '',
      err: 'no table: no stack in us-east-1 has the outputs of a limiter; use --table and --state-table, or --endpoint\n',
    })
  })
})

describe('Ctrl-C', () => {
  const limit = (count: number) => ({ policies: [{ name: 'per-minute', limit: count, window: '1m' }] })

  let slow: Awaited<ReturnType<typeof deploy>>
  beforeAll(async () => {
    slow = await deploy('dynalite') // whose writes come one at a time
  })
  afterAll(async () => slow?.close())

  it('in the middle of an apply finishes the write under way, says what is done, and the next run goes on', async () => {
    await slow.put(...TIERS)
    const file = join(folder, 'tiers.yaml')
    const { out: before } = await slow.sluice(['tiers', 'export'])
    const tiers = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name, i) => [name, limit(i + 1)]))
    writeFileSync(
      file,
      before.replace(
        'tiers:\n',
        `tiers:\n${Object.entries(tiers)
          .map(([name, tier]) => `  ${name}: ${JSON.stringify(tier)}\n`)
          .join('')}`,
      ),
    )

    // A way to the engine on which the third tier waits until the process has been told to stop: after each, what
    // happened to it is written.
    let puts = 0
    let third: () => void
    const thirdWrite = new Promise<void>((resolve) => {
      third = resolve
    })
    let goOn: () => void
    const told = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const way = await listen(
      createServer(async (incoming, outgoing) => {
        if (String(incoming.headers['x-amz-target']).endsWith('.PutItem') && ++puts === 5) {
          third()
          await told
        }
        incoming.pipe(
          request(slow.endpoint, { method: incoming.method, headers: incoming.headers }, (answer) => {
            outgoing.writeHead(answer.statusCode!, answer.headers)
            answer.pipe(outgoing)
          }),
        )
      }),
    )

    const { child, ended } = start(['tiers', 'apply', file, '--yes', '--endpoint', way])
    await thirdWrite
    child.kill('SIGINT')
    child.kill('SIGINT') // npx passes the same key press on once more
    await new Promise((resolve) => setTimeout(resolve, 50)) // for the signal to arrive, which nothing tells
    goOn!()
    const { code, err } = await ended
    expect(code).toBe(130)
    expect(err).toContain('stopped\nwritten, 3 of 5: tier a, tier b, tier c\nnot written: tier d, tier e\n')
    const keys = async () => (await slow.json(['tiers', 'list'])).map(({ sk }: { sk: string }) => sk)
    expect(await keys()).toEqual(['tier#a', 'tier#anonymous', 'tier#b', 'tier#c', 'tier#free', 'tier#pro'])
    expect(readFileSync(file, 'utf8')).toContain('"tier#c"')

    const again = await slow.sluice(['tiers', 'apply', file, '--yes'])
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('applied: 2 added\n')])
    expect(await keys()).toHaveLength(8)
  })

  it('ends a command that has nothing to finish, and a watch is then done', async () => {
    let asked: () => void
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const silent = await listen(createServer(() => asked()))
    const list = start(['tiers', 'list', '--endpoint', silent])
    await wasAsked
    list.child.kill('SIGINT')
    expect((await list.ended).code).toBe(130)

    const watch = start(['usage', 'ip:1.2.3.4', '--watch', '--endpoint', at.endpoint])
    await once(watch.child.stdout, 'data')
    watch.child.kill('SIGINT')
    expect(await watch.ended).toMatchObject({ code: 0, err: '' })
  })
})
