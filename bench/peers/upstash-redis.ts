import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import Redis from 'ioredis-mock'

type Command = readonly [name: string, ...args: string[]]
type Reply = { readonly result: unknown } | { readonly error: string }

export interface UpstashRedis {
  /** The URL for `UPSTASH_REDIS_REST_URL`. */
  readonly endpoint: string
  stop(): Promise<void>
}

/**
 * A Redis in memory behind Upstash's REST protocol, for clients that run scripts: `EVAL` and `EVALSHA`, one to a
 * request or several in a pipeline. The scripts are run, by a Lua in JavaScript.
 *
 * @see https://upstash.com/docs/redis/features/restapi
 */
export async function startUpstashRedis(): Promise<UpstashRedis> {
  const redis = new Redis()
  const scripts = new Map<string, string>()

  async function run([name, script, keys, ...args]: Command): Promise<Reply> {
    const command = name.toUpperCase()
    if (command === 'EVAL') scripts.set(sha1(script!), script!)
    else if (command !== 'EVALSHA') return { error: `ERR unknown command '${name}'` }
    const text = command === 'EVAL' ? script : scripts.get(script!)
    if (text === undefined) return { error: 'NOSCRIPT No matching script. Please use EVAL.' }
    try {
      return { result: await redis.eval(withoutShebang(text), Number(keys), ...args.map(String)) }
    } catch (error) {
      return { error: `ERR ${(error as Error).message}` }
    }
  }

  const server = createServer(async (incoming, response) => {
    const body = (await json(incoming)) as Command | Command[]
    const isPipeline = incoming.url === '/pipeline'
    const replies: Reply[] = []
    for (const command of (isPipeline ? body : [body]) as Command[]) replies.push(encoded(await run(command), incoming))
    const failed = !isPipeline && 'error' in replies[0]!
    response.writeHead(failed ? 400 : 200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(isPipeline ? replies : replies[0]))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      redis.disconnect()
    },
  }
}

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')

/** The first line of a script may say how Redis is to run it, which is no Lua. */
const withoutShebang = (script: string): string => script.replace(/^#!.*/, '')

/** Text goes as base64 to a client that asks for it. */
function encoded(reply: Reply, { headers }: IncomingMessage): Reply {
  if ('error' in reply || headers['upstash-encoding'] !== 'base64') return reply
  return { result: inBase64(reply.result) }
}

function inBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inBase64)
  return typeof value === 'string' ? Buffer.from(value).toString('base64') : value
}
