import { type Check, found } from '../check'
import type { Scene } from '../scene'
import { FEW } from '../tiers'
import type { Answer } from '../traffic'

/** Requests to the sample stack, one after another. */
const MAX_REQUESTS = 100

/** What a caller of the tier `few` gets, one request after another, and what the one over the limit got. */
async function useUp(scene: Scene, url: string): Promise<{ readonly statuses: number[]; readonly denied: Answer }> {
  const headers = await scene.newCaller('few')
  const answers: Answer[] = []
  for (let i = 0; i <= FEW; i++) answers.push(await scene.traffic.send(url, { headers }))
  return { statuses: answers.map(({ status }) => status), denied: answers.at(-1)! }
}

const upTo = (limit: number, status: number): string => [...Array(limit).fill(200), status].join(' ')

const parsed = (body: string): Record<string, unknown> => {
  try {
    return JSON.parse(body)
  } catch {
    return {}
  }
}

export const DENIALS: readonly Check[] = [
  {
    id: 'sample',
    lines: ['aws'],
    asks: 'The sample stack of bin/app.ts',
    expects: `20 requests pass, as tiers.yaml has it, and 429 is the answer within ${MAX_REQUESTS}`,
    alone: true,
    async run({ traffic, outputs }) {
      const statuses: number[] = []
      while (statuses.length < MAX_REQUESTS && !statuses.includes(429))
        statuses.push((await traffic.send(`${outputs.sample.ApiUrl}hello`)).status)
      const passed = statuses.filter((status) => status === 200).length
      // Where a minute ends in between, more pass.
      const isRight = statuses.at(-1) === 429 && passed === statuses.length - 1 && passed >= 20
      return found(isRight, `${passed} times 200, then ${statuses.at(-1)}`)
    },
  },
  {
    id: 'rest-denial',
    lines: ['aws'],
    asks: 'A REST API over the limit',
    expects: `${upTo(FEW, 429)}, with a JSON body`,
    async run(scene) {
      const { statuses, denied } = await useUp(scene, `${scene.outputs.limiter.RestUrl}hello`)
      const { status } = parsed(denied.body)
      return found(
        statuses.join(' ') === upTo(FEW, 429) && status === 429,
        `${statuses.join(' ')}, body: ${denied.body.slice(0, 300)}`,
      )
    },
  },
  {
    id: 'gateway-response',
    lines: ['aws', 'header-mapping'],
    asks: '`context.authorizer.*` in the headers and the body of a 429',
    expects: 'Retry-After in whole seconds, the same in the body, X-RateLimit-Limit, RateLimit and the policy’s name',
    onlyAws: 'MiniStack fills nothing in',
    async run(scene) {
      const { headers, body } = (await useUp(scene, `${scene.outputs.limiter.RestUrl}hello`)).denied
      const problem = parsed(body)
      const after = String(headers['retry-after'])
      const isRight =
        /^\d+$/.test(after) &&
        problem.retryAfter === after &&
        problem.policy === 'per-hour' &&
        headers['x-ratelimit-limit'] === String(FEW) &&
        headers['x-ratelimit-remaining'] === '0' &&
        /"per-hour";r=0/.test(String(headers.ratelimit))
      const shown = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'ratelimit']
      return found(isRight, `${shown.map((name) => `${name}: ${headers[name]}`).join('; ')}; body: ${body}`)
    },
  },
  {
    id: 'missing-key',
    lines: ['missing-key'],
    asks: 'A context key that is missing, in a header of a 429',
    expects: 'a 429 whose header is missing or empty; Sluice sends every key, so nothing depends on it',
    onlyAws: 'MiniStack fills nothing in',
    async run(scene) {
      const { status, headers } = (await useUp(scene, `${scene.outputs.limiter.RestUrl}hello`)).denied
      const value = headers['x-not-there']
      return found(status === 429 && !value, value === undefined ? `${status}, no header` : `${status}, "${value}"`)
    },
  },
  {
    id: 'content-type',
    lines: ['content-type'],
    asks: 'A `Content-Type` of `application/problem+json` from a gateway response’s header mapping',
    expects: 'either: the body of a 429 is sent as application/json',
    onlyAws: 'MiniStack applies no header mapping',
    async run({ traffic, outputs }) {
      const { status, headers } = await traffic.send(`${outputs.limiter.RestUrl}open`, { method: 'DELETE' })
      return found(true, `${status} with Content-Type ${headers['content-type']}`)
    },
  },
  {
    id: 'http-denial',
    lines: ['aws'],
    asks: 'An HTTP API over the limit',
    expects: upTo(FEW, 403),
    async run(scene) {
      const { statuses, denied } = await useUp(scene, `${scene.outputs.limiter.HttpUrl}hello`)
      return found(statuses.join(' ') === upTo(FEW, 403), `${statuses.join(' ')}, body: ${denied.body.slice(0, 100)}`)
    },
  },
  {
    id: 'http-headers',
    lines: ['aws'],
    asks: 'Response mapping of an HTTP API: `overwrite:header.…` from `$context.authorizer.…`',
    expects: `X-RateLimit-Limit: ${FEW}, X-RateLimit-Remaining: ${FEW - 1}, RateLimit with the policy’s name`,
    onlyAws: 'MiniStack maps no headers of HTTP APIs',
    async run(scene) {
      const headers = await scene.newCaller('few')
      const { headers: got } = await scene.traffic.send(`${scene.outputs.limiter.HttpUrl}hello`, { headers })
      const [limit, remaining] = [got['x-ratelimit-limit'], got['x-ratelimit-remaining']]
      return found(
        limit === String(FEW) && remaining === String(FEW - 1) && /per-hour/.test(String(got.ratelimit)),
        `X-RateLimit-Limit: ${limit}, X-RateLimit-Remaining: ${remaining}, RateLimit: ${got.ratelimit}`,
      )
    },
  },
  {
    id: 'preflight',
    lines: ['aws'],
    asks: 'A preflight of an HTTP API without CORS of its own',
    expects: 'it is not counted: the next request has as much left as if there were none',
    onlyAws: 'MiniStack answers preflights by itself',
    async run(scene) {
      const caller = await scene.newCaller('few')
      const url = `${scene.outputs.limiter.HttpUrl}hello`
      const headers = { ...caller, origin: 'https://example.com', 'access-control-request-method': 'GET' }
      const statuses: number[] = []
      for (let i = 0; i < FEW + 1; i++)
        statuses.push((await scene.traffic.send(url, { method: 'OPTIONS', headers })).status)
      const left = (await scene.traffic.send(url, { headers: caller })).headers['x-ratelimit-remaining']
      return found(
        !statuses.includes(403) && left === String(FEW - 1),
        `preflights ${statuses.join(' ')}, then ${left} left`,
      )
    },
  },
  {
    id: 'authorizer-cache',
    lines: ['aws'],
    asks: 'The result cache of authorizers, switched off by a TTL of 0',
    expects: 'each of three requests is counted',
    async run(scene) {
      const headers = await scene.newCaller('few')
      const left: unknown[] = []
      for (let i = 0; i < 3; i++) {
        const { body } = await scene.traffic.send(`${scene.outputs.limiter.RestUrl}hello`, { headers })
        left.push((parsed(body).context as Record<string, unknown> | undefined)?.remaining)
      }
      const wanted = [FEW - 1, FEW - 2, FEW - 3].join(' ')
      return found(left.join(' ') === wanted, `remaining ${left.join(' ')}`)
    },
  },
]
