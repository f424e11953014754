import type { BenchEngine } from '../engine'
import { usdPerMillion } from '../scale/findings'
import measured from '../scale/measured.json'
import {
  billOf,
  type CheckedGoal,
  checked,
  decided,
  dynamodbUsd,
  type Line,
  lambdaUsd,
  type Peer,
  publishedPeers,
} from './bill'
import type { Decisions } from './decisions'
import type { CostOptions } from './options'
import { PRICES_READ, type Prices } from './prices'
import { measureRival } from './rival'
import { measureSluice } from './sluice'
import { instancesFor, sampled, type Traffic, toTraffic } from './traffic'

/** DynamoDB's part, in US dollars: for a million requests that are allowed, and for a million of which half are not. */
const GOALS = { allowed: 0.7, halfAbuse: 0.36 } as const

/**
 * More abusers than the options say: they cost more, since each instance has to find out by a call that the units which
 * became free for an abuser are used again.
 */
const MORE_ABUSERS = [5, 25] as const

/** Of the simulated fleets those whose limits lie in one item, in several pools, and in the pools of a hot caller. */
const AT_SCALE: readonly string[] = ['even', 'leased-global', 'hot-leased']

/** DynamoDB and Lambda at the highest rate that was simulated, in US dollars for a million requests. */
interface ScaleCost {
  readonly what: string
  readonly rps: number
  readonly usd: number
}

/** Everything that `npm run cost` prints. */
export interface Account {
  readonly region: string
  readonly pricesRead: string
  readonly engine: string
  readonly traffic: Traffic
  readonly policies: number
  readonly decisions: Decisions
  /** Share of the decisions that were denials. */
  readonly denied: number
  readonly bill: readonly Line[]
  readonly dynamodb: number
  /** DynamoDB's part when as much abuse comes from more callers. */
  readonly byAbusers: readonly { readonly abusers: number; readonly usd: number }[]
  readonly atScale: readonly ScaleCost[]
  readonly peers: readonly Peer[]
  readonly withoutLimiter: readonly Line[]
  readonly goals: readonly CheckedGoal[]
}

/** Measures traffic on an engine and puts prices on it. */
export async function accountFor(engine: BenchEngine, options: CostOptions): Promise<Account> {
  const { policies, prices, abuse, requests } = options
  const traffic = trafficOf(options, abuse)
  const count = { warmUp: Math.ceil(requests / 5), requests }
  const decisions = await measureSluice(traffic, policies, count)
  const plain = abuse === 0 ? decisions : await measureSluice(trafficOf(options, 0), policies, count)
  const dynamodb = dynamodbUsd(decisions, prices)
  const byAbusers = []
  for (const abusers of abuse === 0 || !options.peers ? [] : MORE_ABUSERS) {
    const more = await measureSluice(trafficOf({ ...options, abusers }, abuse), policies, count)
    byAbusers.push({ abusers, usd: dynamodbUsd(more, prices) })
  }
  const denied = decisions.denied / decided(decisions)
  return {
    region: options.region,
    pricesRead: PRICES_READ,
    engine: engine.name,
    traffic,
    policies,
    decisions,
    denied,
    bill: billOf(decisions, options, prices),
    dynamodb,
    byAbusers,
    atScale: costsAtScale(prices),
    peers: options.peers
      ? [...(await rivals(engine, options, traffic)), ...publishedPeers(denied, options.rps, policies, prices)]
      : [],
    withoutLimiter: abuseCosts(options),
    goals: [
      checked('DynamoDB, a million allowed requests, no abuse', dynamodbUsd(plain, prices), GOALS.allowed),
      ...(abuse === 0.5
        ? [checked('DynamoDB, a million decisions, half of them denials', dynamodb, GOALS.halfAbuse)]
        : []),
    ],
  }
}

const costsAtScale = (prices: Prices): ScaleCost[] =>
  measured
    .filter(({ id }) => AT_SCALE.includes(id))
    .map(({ title, points }) => {
      const { rps, second } = points.at(-1)!
      return { what: title, rps, usd: usdPerMillion(second, prices) }
    })

function trafficOf({ rps, clients, abusers, instances, lambdaMs, lambdaMsKnown }: CostOptions, abuse: number): Traffic {
  const meanMs = lambdaMs * (1 - abuse) + lambdaMsKnown * abuse
  return toTraffic({ rps, abuse, clients, abusers, instances: instances ?? instancesFor(rps, meanMs) })
}

/**
 * What each million requests over the limit costs where they reach the backend, beside what it costs to turn them away.
 */
function abuseCosts({ prices, backendMs, backendMb }: CostOptions): Line[] {
  return [
    {
      what: 'the backend, called for each',
      amount: `${backendMs} ms at ${backendMb} MB, arm64`,
      basis: 'assumed',
      usd: lambdaUsd(backendMs, backendMb, prices),
    },
  ]
}

/** rate-limiter-flexible with a few of the callers: it needs several calls for each decision. */
async function rivals(
  engine: BenchEngine,
  { policies, prices, requests }: CostOptions,
  traffic: Traffic,
): Promise<Peer[]> {
  const few = sampled(traffic, traffic.abusers > 0 ? 1 / traffic.abusers : 0.1)
  const count = { warmUp: Math.ceil(requests / 50), requests: Math.ceil(requests / 10) }
  const peers: Peer[] = []
  for (const blocks of [false, true]) {
    const decisions = await measureRival(engine, few, policies, blocks, count)
    const each = (count: number, of: number) => (count / of).toFixed(2)
    peers.push({
      name: `rate-limiter-flexible on DynamoDB${blocks ? ', with its block in memory' : ''}`,
      how: `${each(decisions.writeUnits, decided(decisions))} write units a decision, ${each(decisions.refused, decided(decisions))} of them refused`,
      basis: 'measured',
      usd: dynamodbUsd(decisions, prices),
    })
  }
  return peers
}
