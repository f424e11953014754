import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { freePort } from '../../local/engines/free-port'

const ROOT = join(__dirname, '..', '..')

/** Where `.ci/ministack` puts MiniStack, cfn-lint and the Node that functions run on. */
export const MINISTACK = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'sluice/ministack-1.5.33-cfn-lint-1.58.0-sam-1.115.0-cryptography-50.0.2-node-24.21.0/bin',
)

/** Texts by file name. */
type Files = Readonly<Record<string, string>>

/** The authorizer's code, which is built in a folder. */
export function authorizerCode(folder: string): Files {
  const outdir = dirname(buildAuthorizerBundle(mkdtempSync(join(folder, 'authorizer-'))))
  return Object.fromEntries(readdirSync(outdir).map((file) => [file, readFileSync(join(outdir, file), 'utf8')]))
}

const MAKE_ZIP = `
import io, json, sys, zipfile
made = io.BytesIO()
with zipfile.ZipFile(made, 'w') as archive:
    for name, text in json.load(sys.stdin.buffer).items():
        archive.writestr(name, text)
sys.stdout.buffer.write(made.getvalue())
`

/** An archive of a function's code. No library for archives is at hand, and Python is there: MiniStack runs on it. */
export const zipped = (code: Files): Buffer =>
  execFileSync(join(MINISTACK, 'python3'), ['-c', MAKE_ZIP], { input: JSON.stringify(code), maxBuffer: 2 ** 24 })

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An AWS account of our own. */
export interface MiniStack {
  /** For the SDK and the CDK. */
  readonly env: Readonly<Record<string, string>>
  /** Runs the CDK's command line in a folder, and returns what it printed. */
  cdk(cwd: string, ...args: string[]): Promise<string>
  /** The same as another account, which its 12 digits as an access key make. */
  cdkAs(account: string, cwd: string, ...args: string[]): Promise<string>
  /** Sends a request to a deployed API, by the URL that AWS would have given it. */
  send(
    url: string,
    options?: {
      readonly method?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    },
  ): Promise<Answer>
  /** Opens a connection to a deployed WebSocket API, closes it again, and returns the status: 101 if it was opened. */
  connect(url: string): Promise<number>
  stop(): Promise<void>
}

/** Starts MiniStack on a free port, bootstrapped for the CDK. */
export async function startMiniStack(): Promise<MiniStack> {
  if (!existsSync(MINISTACK)) throw new Error(`MiniStack is not in ${MINISTACK}: run .ci/ministack`)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-ministack-'))
  const port = await freePort()
  const path = `${MINISTACK}:${process.env.PATH}`
  const server = spawn(join(MINISTACK, 'ministack'), [], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: path,
      GATEWAY_PORT: String(port),
      MINISTACK_HOST: 'localhost',
      BIND_HOST: '127.0.0.1', // it listens on all interfaces otherwise, and takes any credentials
      IOT_MTLS_ENABLED: '0', // and on a port of its own
    },
    stdio: ['ignore', 'ignore', 'ignore'],
    detached: true, // a group of its own, with the functions' processes
  })
  const env = {
    AWS_ENDPOINT_URL: `http://localhost:${port}`,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: 'us-east-1',
    CDK_HOME: folder, // the CLI remembers accounts by key there
    CDK_DISABLE_CLI_TELEMETRY: '1',
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })

  const ministack: MiniStack = {
    env,

    cdk: (cwd, ...args) => ministack.cdkAs(env.AWS_ACCESS_KEY_ID, cwd, ...args),

    async cdkAs(AWS_ACCESS_KEY_ID, cwd, ...args) {
      const cli = join(ROOT, 'node_modules', 'aws-cdk', 'bin', 'cdk')
      const options = { cwd, env: { ...process.env, ...env, AWS_ACCESS_KEY_ID }, maxBuffer: 64 * 2 ** 20 }
      const flags = ['--ci', '--no-notices', '--no-color']
      try {
        return (await promisify(execFile)(process.execPath, [cli, ...args, ...flags], options)).stdout
      } catch (error) {
        const { message, stdout } = error as Error & { stdout?: string }
        throw new Error([message, stdout].join('\n'))
      }
    },

    send(url, { method = 'GET', headers = {}, body } = {}) {
      const { pathname, search } = new URL(url)
      const host = hostOf(url)
      return new Promise((resolve, reject) => {
        const outgoing = request(
          { host: 'localhost', port, method, path: pathname + search, headers: { ...headers, host }, agent },
          (incoming) => {
            let body = ''
            incoming.setEncoding('utf8')
            incoming.on('data', (chunk: string) => {
              body += chunk
            })
            incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }))
          },
        )
        outgoing.on('error', reject).end(body)
      })
    },

    connect(url) {
      const handshake = {
        host: hostOf(url),
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
      }
      return new Promise((resolve, reject) => {
        const outgoing = request({ host: 'localhost', port, path: new URL(url).pathname, headers: handshake })
        const ends = ({ statusCode = 0 }: IncomingMessage) => {
          outgoing.destroy()
          resolve(statusCode)
        }
        outgoing.on('upgrade', ends).on('response', ends).on('error', reject).end()
      })
    },

    async stop() {
      agent.destroy()
      await end(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }

  try {
    await answers(`${env.AWS_ENDPOINT_URL}/_ministack/health`, server)
    await ministack.cdk(folder, 'bootstrap', 'aws://000000000000/us-east-1')
  } catch (error) {
    await ministack.stop()
    throw error
  }
  return ministack
}

/** By what MiniStack knows the API of a URL that AWS would have given it. */
const hostOf = (url: string) => `${new URL(url).hostname.split('.')[0]}.execute-api.localhost`

async function answers(url: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (server.exitCode !== null) throw new Error(`MiniStack ended with ${server.exitCode}`)
    const response = await fetch(url).catch(() => undefined)
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('MiniStack does not answer')
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  process.kill(-server.pid!, 'SIGKILL')
  await exited
}
