import type { Goal } from '../figure'
import type { Decisions } from './decisions'
import type { Prices } from './prices'

const MILLION = 1e6
const SECONDS_A_MONTH = 30 * 86_400

/** Where a number comes from. */
type Basis = 'measured' | 'assumed' | 'published'

/** A line of a bill. */
export interface Line {
  readonly what: string
  /** How much of it, per decision. */
  readonly amount: string
  readonly basis: Basis
  /** For a million decisions. */
  readonly usd: number
}

/** Assumptions about AWS, which cannot be measured here. */
export interface Assumptions {
  /** Milliseconds that Lambda bills for a decision that calls DynamoDB. */
  readonly lambdaMs: number
  /** Milliseconds that Lambda bills for a decision from memory. */
  readonly lambdaMsKnown: number
  /** The function's memory in MiB. */
  readonly memoryMb: number
  /** The function behind the API, which a denied request does not reach. */
  readonly backendMs: number
  readonly backendMb: number
}

export const decided = ({ allowed, denied }: Pick<Decisions, 'allowed' | 'denied'>): number => allowed + denied

/** What DynamoDB bills for a million decisions. */
export const dynamodbUsd = (decisions: Decisions, prices: Prices): number =>
  (decisions.writeUnits * prices.dynamodbMillionWriteUnits + decisions.readUnits * prices.dynamodbMillionReadUnits) /
  decided(decisions)

/** A million calls of a function. */
export const lambdaUsd = (ms: number, memoryMb: number, prices: Prices): number =>
  prices.lambdaMillionRequests + MILLION * (ms / 1000) * (memoryMb / 1024) * prices.lambdaGbSecond

/** Milliseconds billed for the mean decision. */
const meanMs = ({ asked, ...rest }: Decisions, { lambdaMs, lambdaMsKnown }: Assumptions): number =>
  lambdaMsKnown + (lambdaMs - lambdaMsKnown) * (asked / decided(rest))

/** What a million decisions cost, DynamoDB, Lambda and API Gateway apart. */
export function billOf(decisions: Decisions, assumptions: Assumptions, prices: Prices): Line[] {
  const each = (count: number) => (count / decided(decisions)).toFixed(3)
  const { memoryMb } = assumptions
  const ms = meanMs(decisions, assumptions)
  return [
    {
      what: 'DynamoDB, writes',
      amount: `${each(decisions.writeUnits)} write units, ${each(decisions.refused)} of them refused`,
      basis: 'measured',
      usd: (decisions.writeUnits * prices.dynamodbMillionWriteUnits) / decided(decisions),
    },
    {
      what: 'DynamoDB, reads of both tables',
      amount: `${each(decisions.readUnits)} read units`,
      basis: 'measured',
      usd: (decisions.readUnits * prices.dynamodbMillionReadUnits) / decided(decisions),
    },
    { what: 'Lambda, requests', amount: '1 request', basis: 'measured', usd: prices.lambdaMillionRequests },
    {
      what: 'Lambda, duration',
      amount: `${ms.toFixed(1)} ms at ${memoryMb} MB, arm64`,
      basis: 'assumed',
      usd: lambdaUsd(ms, memoryMb, prices) - prices.lambdaMillionRequests,
    },
    { what: 'API Gateway, REST API', amount: '1 request', basis: 'published', usd: prices.restApiMillionRequests },
    {
      what: 'API Gateway, HTTP API instead',
      amount: '1 request',
      basis: 'published',
      usd: prices.httpApiMillionRequests,
    },
  ]
}

/** A limiter beside which the bill is put: what it adds to a million requests. */
export interface Peer {
  readonly name: string
  readonly how: string
  readonly basis: Basis
  readonly usd: number
}

/** Commands of @upstash/ratelimit's sliding window. @see https://upstash.com/docs/redis/sdks/ratelimit-ts/costs */
const REDIS_COMMANDS = { allowed: 4, denied: 3, deniedFromCache: 0 } as const

/** Limiters that are paid for by the request, under the same traffic. */
export function publishedPeers(abuse: number, rps: number, policies: number, prices: Prices): Peer[] {
  const redis = (denied: number) =>
    ((REDIS_COMMANDS.allowed * (1 - abuse) + denied * abuse) * policies * prices.redisMillionCommands).toFixed(2)
  const [cached, uncached] = [Number(redis(REDIS_COMMANDS.deniedFromCache)), Number(redis(REDIS_COMMANDS.denied))]
  const monthly = (prices.wafAclMonth + policies * prices.wafRuleMonth) / ((rps * SECONDS_A_MONTH) / MILLION)
  return [
    {
      name: 'Upstash Redis, @upstash/ratelimit sliding window',
      how: `4 commands per limit and allowed request; denied from its cache at best, else $${uncached.toFixed(2)}`,
      basis: 'published',
      usd: cached,
    },
    {
      name: 'AWS WAF, rate-based rules',
      how: `$0.60 a million, and $${(prices.wafAclMonth + policies * prices.wafRuleMonth).toFixed(0)} a month at this rate; near the limit, after up to minutes; REST APIs only`,
      basis: 'published',
      usd: prices.wafMillionRequests + monthly,
    },
    {
      name: 'Usage plans of API Gateway',
      how: 'no charge; best effort, by API key, REST APIs only',
      basis: 'published',
      usd: 0,
    },
  ]
}

/** A goal, and whether the measured cost is within it. */
export interface CheckedGoal {
  readonly what: string
  readonly usd: number
  readonly goal: Goal & { readonly atMost: number }
  readonly met: boolean
}

export const checked = (what: string, usd: number, atMost: number): CheckedGoal => ({
  what,
  usd,
  goal: { atMost },
  met: usd <= atMost,
})
