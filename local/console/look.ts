import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { type Counted, countedOf, planOf } from '../../cli/callers/counted'
import { openSubject } from '../../cli/callers/limits'
import type { Subject } from '../../cli/callers/subjects'
import type { Session } from '../../cli/command'
import { rulesOf } from '../../cli/facade/decisions'
import { fieldsOf } from '../../limiter/compiled-policy'
import type { Item } from '../../limiter/stores/store'
import type { Gauge, Look } from '../../pages/console/protocol'
import { TABLES } from '../dynamodb'
import { algorithmOf, meaningOf, type Prefixes, prefixesOf, valueText } from './item-text'

/** The number of moments in a forecast. */
const FORECAST = 60

interface Looked {
  readonly look: Look
  readonly prefixes: Prefixes
  /** Keys of its items in the state table, existing or not. */
  readonly keys: readonly string[]
}

/**
 * A subject's state under all its policies, and its stored items. Nothing is charged.
 *
 * @param request `GET /search?q=water`, of which each policy says whether it counts it.
 */
export async function lookAt(
  session: Session,
  client: DynamoDBClient,
  endpoint: string,
  name: string,
  request: string,
): Promise<Looked> {
  const { subject, store } = await openSubject(session, name, { endpoint })
  const counted = countedOf(subject)
  const prefixes = prefixesOf(counted)
  const charged = chargedBy(subject, request)
  const keys = [...new Set(counted.map(({ key }) => key))]
  const now = session.io.clock()
  const items = await Promise.all(
    keys.map(async (key) => ({ key, item: await store.read(key), raw: await rawItem(client, key) })),
  )
  const itemOf = (key: string) => items.find((one) => one.key === key)!.item
  return {
    prefixes,
    keys,
    look: {
      subject: subject.name,
      tier: subject.tier?.name ?? null,
      blocked: subject.beforeLimits === 'blocked',
      withoutTable: {
        failureMode: subject.tier?.failureMode ?? 'local', // as configured for the authorizers of a local gateway
        localShare: subject.configuration.policies.settings.localShare,
      },
      gauges: counted.map((one) => ({
        ...gaugeOf(one, itemOf(one.key), now),
        isCharged: charged.has(idOf(one.compiled, one.key)),
      })),
      items: items.flatMap(({ key, raw }) =>
        raw === undefined
          ? []
          : [
              {
                key,
                of: subject.name,
                bytes: Object.entries(raw).reduce((sum, [field, text]) => sum + field.length + text.length, 0),
                attributes: Object.entries(raw)
                  .sort(([a], [b]) => (a === 'pk' ? -1 : b === 'pk' ? 1 : a.localeCompare(b, 'en')))
                  .map(([field, value]) => ({ name: field, value, meaning: meaningOf(field, prefixes) })),
              },
            ],
      ),
    },
  }
}

/** The policies that a request is charged to, each where it counts. */
function chargedBy(subject: Subject, request: string): ReadonlySet<string> {
  const [method = '', target = ''] = request.split(' ')
  const { routes } = rulesOf(subject.configuration.policies, method, target.split('?')[0]!)
  const { charges } = planOf(subject, routes.length > 0 ? request : undefined)
  return new Set(charges.flatMap(({ key, policies }) => policies.map((policy) => idOf(policy, key))))
}

const idOf = ({ prefix }: { readonly prefix: string }, key: string): string => `${prefix} ${key}`

async function rawItem(client: DynamoDBClient, pk: string): Promise<Record<string, string> | undefined> {
  const { Item } = await client.send(new GetItemCommand({ TableName: TABLES.state, Key: { pk: { S: pk } } }))
  return Item && Object.fromEntries(Object.entries(Item).map(([name, value]) => [name, valueText(value)]))
}

/** A policy's state now, and its algorithm's forecast. */
function gaugeOf({ policy, route, compiled }: Counted, item: Item, now: number): Omit<Gauge, 'isCharged'> {
  const fields = fieldsOf(item, compiled)!
  const { counter, costName, limit, written } = compiled
  const at = (ms: number) => Math.floor(counter.step(fields, 0, now + ms).verdict.remaining)
  const { resetAfterMs } = counter.step(fields, 0, now).verdict
  const whole = Math.floor(counter.step({}, 0, now).verdict.remaining)
  const remaining = at(0)
  const end = Math.ceil(resetAfterMs)
  const forecast = Array.from({ length: FORECAST + 1 }, (_, i) => {
    const inMs = Math.round((end * i) / FORECAST)
    return [inMs, at(inMs)] as const
  })
  return {
    policy,
    route: route ?? null,
    counts: counter.isEndedByOthers ? 'running requests' : (costName ?? null),
    algorithm: algorithmOf(written.algorithm),
    limit,
    whole,
    window: written.window ?? `${written.timeout ?? ''}`,
    remaining,
    nextUnitMs: remaining >= whole ? null : firstMoment(end, (ms) => at(ms) > remaining),
    wholeMs: end,
    forecast: forecast.filter(([, units], i) => i === 0 || units !== forecast[i - 1]![1] || i === FORECAST),
  }
}

/** The first millisecond up to `end` for which a monotonic claim holds. */
function firstMoment(end: number, holds: (ms: number) => boolean): number {
  let [low, high] = [0, end]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
