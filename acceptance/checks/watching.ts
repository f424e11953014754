import { setTimeout as sleep } from 'node:timers/promises'
import { signedCall } from '../../cli/facade/tables'
import { QUERIES } from '../../lib/watch/limiter-queries'
import { type Check, found } from '../check'
import type { Scene } from '../scene'

const DEADLINE_MS = 20_000
/** Metrics of a log are there after a minute or two. */
const METRICS_WITHIN_MS = 5 * 60_000

/** CloudWatch, by its query protocol. */
async function cloudWatch({ clients, env }: Scene, parameters: Readonly<Record<string, string>>): Promise<string> {
  const { status, text } = await signedCall(clients.tables, {
    service: 'monitoring',
    endpoint: env.AWS_ENDPOINT_URL || undefined,
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: new URLSearchParams({ Version: '2010-08-01', ...parameters }).toString(),
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  if (status !== 200) throw new Error(`CloudWatch ${parameters.Action}: ${status} ${text.slice(0, 300)}`)
  return text
}

async function logs<T>({ clients, env }: Scene, action: string, parameters: object): Promise<T> {
  const { status, text } = await signedCall(clients.tables, {
    service: 'logs',
    endpoint: env.AWS_ENDPOINT_URL || undefined,
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `Logs_20140328.${action}` },
    body: JSON.stringify(parameters),
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  if (status !== 200) throw new Error(`CloudWatch Logs ${action}: ${status} ${text.slice(0, 300)}`)
  return JSON.parse(text) as T
}

const valuesIn = (xml: string, tag: string): string[] =>
  [...xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map(([, value]) => value!)

export const WATCHING: readonly Check[] = [
  {
    id: 'metrics',
    lines: ['watch'],
    asks: 'Metrics that the function writes into its log',
    expects: 'CloudWatch has Allowed, Denied and StoreLatency of this limiter within five minutes',
    onlyAws: 'MiniStack reads no metrics from logs',
    alone: true,
    async run(scene) {
      const wanted = ['Allowed', 'Denied', 'StoreLatency']
      const began = performance.now()
      for (;;) {
        const xml = await cloudWatch(scene, { Action: 'ListMetrics', Namespace: `${scene.name}-limiter` })
        const names = new Set(valuesIn(xml, 'MetricName'))
        const took = Math.round((performance.now() - began) / 1000)
        if (wanted.every((name) => names.has(name))) return found(true, `${[...names].join(', ')} after ${took} s`)
        if (took * 1000 > METRICS_WITHIN_MS)
          return found(false, `only ${[...names].join(', ') || 'none'} after ${took} s`)
        await sleep(10_000)
      }
    },
  },
  {
    id: 'queries',
    lines: ['watch'],
    asks: 'The saved queries of Logs Insights',
    expects: 'each is taken and completes, and the one of who is denied most finds somebody',
    onlyAws: 'MiniStack runs no queries',
    alone: true,
    async run(scene) {
      const seconds = Math.floor(Date.now() / 1000)
      const said: string[] = []
      let isRight = true
      for (const [name, queryString] of Object.entries(QUERIES)) {
        const range = { startTime: seconds - 3600, endTime: seconds + 60, logGroupName: scene.outputs.limiter.LogGroup }
        const { queryId } = await logs<{ queryId: string }>(scene, 'StartQuery', { ...range, queryString })
        let [status, rows] = ['Running', 0]
        for (let i = 0; i < 60 && /Running|Scheduled/.test(status); i++) {
          await sleep(1000)
          const result = await logs<{ status: string; results?: unknown[] }>(scene, 'GetQueryResults', { queryId })
          status = result.status
          rows = result.results?.length ?? 0
        }
        isRight &&= status === 'Complete' && (name !== 'who was denied most' || rows > 0)
        said.push(`${name}: ${status}, ${rows} rows`)
      }
      return found(isRight, said.join('; '))
    },
  },
  {
    id: 'top',
    lines: ['top'],
    asks: '`sluice top`, which reads the log of a deployment',
    expects: 'it finds callers of the tier few who were denied within the last hour',
    onlyAws: 'MiniStack has no filters of logs',
    alone: true,
    async run(scene) {
      const { code, out, err } = await scene.sluice('top', '--once', '--json', '--since', '1h')
      return found(code === 0 && out.includes('"few"'), code === 0 ? out.slice(0, 300) : err)
    },
  },
  {
    id: 'dashboard',
    lines: ['watch'],
    asks: 'The dashboard, the alarms and the Contributor Insights rule of the sample stack',
    expects: 'they are there; no alarm is in ALARM, and the rule is enabled',
    onlyAws: 'MiniStack has no dashboards',
    async run(scene) {
      const stack = `${scene.name}-sample`
      const boards = valuesIn(await cloudWatch(scene, { Action: 'ListDashboards' }), 'DashboardName')
      const alarms = await cloudWatch(scene, { Action: 'DescribeAlarms', AlarmNamePrefix: stack, MaxRecords: '100' })
      const states = valuesIn(alarms, 'StateValue')
      const rules = await cloudWatch(scene, { Action: 'DescribeInsightRules', MaxResults: '100' })
      const own = valuesIn(rules, 'Name').filter((name) => name.includes(scene.name))
      const isShown = boards.some((name) => name.includes(scene.name))
      return found(
        isShown && states.length > 0 && !states.includes('ALARM') && own.length > 0,
        `dashboard ${isShown ? 'there' : 'missing'}; alarms ${states.join(', ') || 'none'}; rules ${own.length}`,
      )
    },
  },
]
