import {
  type APIGatewayClient,
  GetApiKeysCommand,
  GetUsageCommand,
  GetUsagePlanKeysCommand,
  GetUsagePlansCommand,
  type ThrottleSettings,
} from '@aws-sdk/client-api-gateway'
import * as v from 'valibot'
import type { Calls } from '../attach/calls'
import { UserError } from '../exit'
import { hashApiKey } from '../facade/callers'
import { type EpochMs, printed } from '../facade/values'

/** API Gateway's own limit for a page. */
const PAGE = 500

/** What API Gateway answers: limits of plans that are not what they seem would be none. */
const text = v.optional(v.string(), '')
const THROTTLE = v.object({ rateLimit: v.optional(v.number()), burstLimit: v.optional(v.number()) })
const PLAN = v.object({
  id: v.string(),
  name: text,
  throttle: v.optional(THROTTLE),
  quota: v.optional(
    v.object({
      limit: v.optional(v.number()),
      offset: v.optional(v.number()),
      period: v.optional(v.picklist(['DAY', 'WEEK', 'MONTH'])),
    }),
  ),
  apiStages: v.optional(
    v.array(
      v.object({
        apiId: v.string(),
        stage: v.string(),
        throttle: v.optional(v.record(v.string(), THROTTLE), {}),
      }),
    ),
    [],
  ),
})
const PLAN_KEY = v.object({ id: v.string() })
const KEY = v.object({
  id: v.string(),
  name: text,
  description: text,
  enabled: v.optional(v.boolean(), false),
  value: v.optional(v.string()),
})
const USAGE = v.record(v.string(), v.array(v.array(v.number())))

/** A usage plan with what it holds. */
export interface Plan {
  readonly id: string
  readonly name: string
  readonly throttle?: ThrottleSettings | undefined
  readonly quota?: v.InferOutput<typeof PLAN>['quota']
  readonly stages: readonly {
    readonly api: string
    readonly stage: string
    /** By `<resource path>/<method>`. */
    readonly methods: Readonly<Record<string, ThrottleSettings>>
  }[]
  /** Ids of keys. */
  readonly keys: readonly string[]
  /** Units left of the quota by id of a key, for those that have used some today or before. */
  readonly left: ReadonlyMap<string, number>
}

/** An API key without its value. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  /** Of its value; absent where API Gateway did not return it. */
  readonly hash?: string
}

interface Source {
  readonly client: Pick<APIGatewayClient, 'send'>
  readonly calls: Calls
}

/** Reads all usage plans, one call after another, as few as the control plane allows are under way. */
export async function readPlans(source: Source, only: readonly string[], now: EpochMs): Promise<Plan[]> {
  const { client, calls } = source
  const all = await pages(async (position) => {
    const page = await calls.make('apigateway:GET', '/usageplans', () =>
      client.send(new GetUsagePlansCommand({ limit: PAGE, position })),
    )
    return { items: understood(v.array(PLAN), page.items ?? [], 'usage plans'), position: page.position }
  })
  const plans: Plan[] = []
  for (const { id, name, throttle, quota, apiStages } of all) {
    if (only.length > 0 && !only.includes(id)) continue
    const keys = await pages(async (position) => {
      const page = await calls.make('apigateway:GET', `/usageplans/${id}/keys`, () =>
        client.send(new GetUsagePlanKeysCommand({ usagePlanId: id, limit: PAGE, position })),
      )
      const items = understood(v.array(PLAN_KEY), page.items ?? [], `keys of usage plan ${id}`)
      return { items: items.map((key) => key.id), position: page.position }
    })
    plans.push({
      id,
      name,
      throttle,
      quota,
      stages: apiStages.map(({ apiId, stage, throttle: methods }) => ({ api: apiId, stage, methods })),
      keys,
      left: quota?.limit === undefined || keys.length === 0 ? new Map() : await readLeft(source, id, now),
    })
  }
  return plans
}

/** What is left of a plan's quota, as API Gateway counted it today. */
async function readLeft({ client, calls }: Source, usagePlanId: string, now: EpochMs): Promise<Map<string, number>> {
  const today = new Date(now).toISOString().slice(0, 10)
  const entries = await pages(async (position) => {
    const page = await calls.make('apigateway:GET', `/usageplans/${usagePlanId}/usage`, () =>
      client.send(new GetUsageCommand({ usagePlanId, startDate: today, endDate: today, limit: PAGE, position })),
    )
    const items = understood(USAGE, page.items ?? {}, `usage of usage plan ${usagePlanId}`)
    return { items: Object.entries(items), position: page.position }
  })
  return new Map(
    entries.flatMap(([key, days]) => {
      const left = days.at(-1)?.[1]
      return left === undefined ? [] : [[key, left] as const]
    }),
  )
}

/** Reads all API keys. A value becomes a hash as soon as it comes, and is kept nowhere. */
export async function readKeys({ client, calls }: Source): Promise<ApiKey[]> {
  return pages(async (position) => {
    const page = await calls.make('apigateway:GET', '/apikeys', () =>
      client.send(new GetApiKeysCommand({ limit: PAGE, position, includeValues: true })),
    )
    const keys = understood(v.array(KEY), page.items ?? [], 'API keys')
    const items = keys.map(({ id, name, description, enabled, value }) => ({
      id,
      name,
      description,
      enabled,
      ...(value !== undefined && { hash: hashApiKey(value.trim()) }),
    }))
    return { items, position: page.position }
  })
}

/** @throws UserError that names the field that is not what API Gateway documents, and never what a key's value is. */
function understood<S extends v.GenericSchema>(schema: S, answer: unknown, what: string): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, answer)
  if (success) return output
  const [{ expected, input }] = issues
  const path = v.getDotPath(issues[0]) ?? ''
  const got = path.endsWith('.value') ? 'something else' : printed(input)
  throw new UserError(`API Gateway’s answer, ${what}: ${path} must be ${expected}, got ${got}`)
}

async function pages<T>(
  read: (position: string | undefined) => Promise<{ readonly items?: readonly T[]; readonly position?: string }>,
): Promise<T[]> {
  const all: T[] = []
  let position: string | undefined
  do {
    const page = await read(position)
    all.push(...(page.items ?? []))
    position = page.position
  } while (position)
  return all
}
