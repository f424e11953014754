import {
  type APIGatewayClient,
  GetApiKeysCommand,
  GetUsageCommand,
  GetUsagePlanKeysCommand,
  GetUsagePlansCommand,
  type ThrottleSettings,
  type UsagePlan,
} from '@aws-sdk/client-api-gateway'
import type { Calls } from '../attach/calls'
import { hashApiKey } from '../facade/callers'
import type { EpochMs } from '../facade/values'

/** API Gateway's own limit for a page. */
const PAGE = 500

/** A usage plan with what it holds. */
export interface Plan {
  readonly id: string
  readonly name: string
  readonly throttle?: ThrottleSettings
  readonly quota?: UsagePlan['quota']
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
  /** Of its value; absent where values were not asked for. */
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
    return { items: page.items, position: page.position }
  })
  const plans: Plan[] = []
  for (const { id = '', name = '', throttle, quota, apiStages = [] } of all) {
    if (only.length > 0 && !only.includes(id)) continue
    const keys = await pages(async (position) => {
      const page = await calls.make('apigateway:GET', `/usageplans/${id}/keys`, () =>
        client.send(new GetUsagePlanKeysCommand({ usagePlanId: id, limit: PAGE, position })),
      )
      return { items: page.items?.map((key) => key.id ?? ''), position: page.position }
    })
    plans.push({
      id,
      name,
      throttle,
      quota,
      stages: apiStages.map(({ apiId = '', stage = '', throttle: methods = {} }) => ({ api: apiId, stage, methods })),
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
    return { items: Object.entries(page.items ?? {}), position: page.position }
  })
  return new Map(
    entries.flatMap(([key, days]) => {
      const left = days.at(-1)?.[1]
      return left === undefined ? [] : [[key, left] as const]
    }),
  )
}

/**
 * Reads all API keys. A value becomes a hash as soon as it comes, and is kept nowhere.
 *
 * @param withValues whether values are asked for.
 */
export async function readKeys({ client, calls }: Source, withValues: boolean): Promise<ApiKey[]> {
  return pages(async (position) => {
    const page = await calls.make('apigateway:GET', '/apikeys', () =>
      client.send(new GetApiKeysCommand({ limit: PAGE, position, includeValues: withValues })),
    )
    const items = page.items?.map(({ id = '', name = '', description = '', enabled = false, value }) => ({
      id,
      name,
      description,
      enabled,
      ...(withValues && value !== undefined && { hash: hashApiKey(value.trim()) }),
    }))
    return { items, position: page.position }
  })
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
