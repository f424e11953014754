import type { Clock } from '../../limiter/clock'
import type { StoreFailure } from '../../limiter/errors'
import { embeddedMetrics, MAX_VALUES, type MetricName, type MetricValues } from './emf'
import type { WriteLine } from './log'

export interface MetricsOptions {
  readonly write: WriteLine
  readonly clock: Clock
  /** Counts are written at most this often, in milliseconds; 0: with every request. @default 10,000 */
  readonly flushMs?: number
  /** The CloudWatch namespace of the metrics. @default 'Sluice' */
  readonly namespace?: string
  /** Whether outcomes are also counted by API. @default false */
  readonly byApi?: boolean
}

export interface Metrics {
  /**
   * Counts one, in total and for this tier and policy if both are given; also by API, where metrics by API are enabled.
   */
  count(name: MetricName, tier?: string, policy?: string, api?: string): void
  /** Records one call to the store. */
  called(ms: number, failure?: StoreFailure): void
  /** Writes the counts, if that is due. */
  flush(): void
}

/**
 * Pairs of tier and policy that one instance ever counts: CloudWatch charges for each, and there may be thousands. The
 * others are in the totals only.
 */
const MAX_PAIRS = 100
/** The same for APIs. */
const MAX_APIS = 100
/** Latencies kept between two lines, as a fair sample where there are more calls. */
const MAX_LATENCIES = 1000
/** Counts that are older than this when the next one comes are written on their own, whether due or not. */
const OLD_MS = 1000

/**
 * Counts in memory, and writes the counts when `flush` is called and they are due: a line for every request would cost
 * more than its decision. It uses no timer, since between two requests an instance is frozen, or ends and loses what it
 * counted since its last line.
 */
export function makeMetrics({
  write,
  clock,
  flushMs = 10_000,
  namespace = 'Sluice',
  byApi = false,
}: MetricsOptions): Metrics {
  type Counts = { [Name in MetricName]?: number }
  const groups = new Map<string, { readonly pair?: Readonly<Record<string, string>>; counts: Counts }>()
  const apis = new Map<string, Counts>()
  let latencies: number[] = []
  let calls = 0
  let failures: { [Reason in StoreFailure]?: number } = {}
  let countedAt = -Infinity
  let writtenAt = -Infinity

  const line = (
    values: MetricValues,
    dimensions?: Readonly<Record<string, string>>,
    details?: object,
    alone = false,
  ) => {
    if (Object.keys(values).length === 0) return
    write(JSON.stringify({ ...embeddedMetrics(namespace, countedAt, values, dimensions, alone), ...details }))
  }

  const writeAll = () => {
    for (let i = 0; i < latencies.length; i += MAX_VALUES) line({ StoreLatency: latencies.slice(i, i + MAX_VALUES) })
    for (const group of groups.values()) {
      line(group.counts, group.pair, group.counts.StoreFailures ? { failures } : undefined)
      group.counts = {}
    }
    for (const [Api, counts] of apis) {
      line(counts, { Api }, undefined, true)
      apis.set(Api, {})
    }
    latencies = []
    calls = 0
    failures = {}
  }

  /** What an instance counted before it was frozen for long belongs to another time than what it counts now. */
  const tick = () => {
    const now = clock()
    if (now - countedAt > Math.max(flushMs, OLD_MS)) writeAll()
    countedAt = now
  }

  const count: Metrics['count'] = (name, tier, policy, api) => {
    tick()
    if (byApi && api !== undefined && (apis.has(api) || apis.size < MAX_APIS)) {
      const counts = apis.get(api) ?? {}
      apis.set(api, { ...counts, [name]: (counts[name] ?? 0) + 1 })
    }
    let key = tier && policy ? `${tier} ${policy}` : ''
    if (!groups.has(key) && groups.size > MAX_PAIRS) key = ''
    const group = groups.get(key) ?? { pair: key ? { tier: tier!, policy: policy! } : undefined, counts: {} }
    groups.set(key, group)
    group.counts[name] = (group.counts[name] ?? 0) + 1
  }
  groups.set('', { counts: {} })

  return {
    count,
    called(ms, failure) {
      tick()
      const place = calls++ < MAX_LATENCIES ? latencies.length : Math.floor(Math.random() * calls)
      if (place < MAX_LATENCIES) latencies[place] = Math.round(ms * 10) / 10
      if (!failure) return
      count('StoreFailures')
      failures[failure] = (failures[failure] ?? 0) + 1
    },
    flush() {
      const now = clock()
      if (Math.abs(now - writtenAt) < flushMs) return
      writtenAt = now
      writeAll()
    },
  }
}
