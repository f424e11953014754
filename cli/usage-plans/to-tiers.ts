import type { ThrottleSettings } from '@aws-sdk/client-api-gateway'
import type { TiersFile } from '../../provisioning/tiers-file'
import { printed } from '../facade/values'
import { distinctNames } from './distinct-names'
import type { Plan } from './read-plans'

/** Something of a plan that is not imported, or not as it is there. */
export interface Left {
  /** `plan "gold" (a1b2c3)`. */
  readonly what: string
  readonly why: string
}

/** What becomes of usage plans. */
export interface Tiers {
  readonly file: TiersFile & { readonly routes: Readonly<Record<string, Policy>> }
  /** By id of a key; keys in no plan that is imported have none. */
  readonly tierOf: ReadonlyMap<string, string>
  /** Keys of plans that admit nothing. */
  readonly closed: ReadonlySet<string>
  readonly left: readonly Left[]
}

type Policy = Readonly<Record<string, unknown>>

/** The limits of the config table for one tier. */
const MAX_STAGES = 32
const MAX_NAME_LENGTH = 64

export const planText = ({ name, id }: Plan): string => `plan ${printed(name)} (${id})`

/**
 * Makes tiers of usage plans: a tier for each plan that keys are in, for the plan's stages; and for keys in several
 * plans a tier that has the policies of each of them at its own stages.
 */
export function toTiers(plans: readonly Plan[]): Tiers {
  const left: Left[] = []
  const usable = plans.filter((plan) => isUsable(plan, left))
  const policies = new Map(usable.map((plan) => [plan, policiesOf(plan, left)]))
  const plansOf = new Map<string, Plan[]>()
  for (const plan of usable) for (const key of new Set(plan.keys)) plansOf.set(key, [...(plansOf.get(key) ?? []), plan])
  const sets = new Map([...usable.map((plan) => [plan]), ...plansOf.values()].map((those) => [idOf(those), those]))
  const names = namesOf(sets)
  const nameOf = (those: readonly Plan[]) => names.get(idOf(those))!
  const tierOf = new Map([...plansOf].map(([key, those]) => [key, nameOf(those)]))
  const closed = new Set(
    [...plansOf].flatMap(([key, those]) => (those.some((plan) => policies.get(plan) === undefined) ? [key] : [])),
  )
  const tiers: Record<string, Policy> = {}
  for (const those of sets.values()) {
    for (const plan of those) {
      const word = those.length > 1 ? ` @${nameOf([plan])}` : ''
      tiers[`${nameOf(those)}${word}`] = { apis: stagesOf(plan), policies: policies.get(plan) ?? MINIMAL_POLICIES }
    }
  }
  const routes = routesOf(
    usable,
    (plan) => [...sets.values()].filter((those) => those.includes(plan)).map(nameOf),
    left,
  )
  return { file: { tiers, routes }, tierOf, closed, left }
}

function isUsable(plan: Plan, left: Left[]): boolean {
  const why =
    plan.stages.length === 0
      ? 'it has no API stages, so API Gateway rejects its keys everywhere'
      : plan.stages.length > MAX_STAGES
        ? `it has ${plan.stages.length} API stages, and a tier names at most ${MAX_STAGES}`
        : undefined
  if (why !== undefined) left.push({ what: planText(plan), why })
  return why === undefined
}

/** What no other set of plans has; their order says nothing. */
const idOf = (plans: readonly Plan[]): string =>
  plans
    .map(({ id }) => id)
    .sort()
    .join('.')

/** Names of tiers by the ids of their plans: `gold`, and `gold.silver` of keys that are in both. */
function namesOf(sets: ReadonlyMap<string, readonly Plan[]>): ReadonlyMap<string, string> {
  const all = [...sets].map(([id, plans]) => ({
    id,
    wanted: plans
      .map((plan) => slugOf(plan.name) || plan.id)
      .sort()
      .join('.'),
  }))
  return distinctNames(all, (name) => name === 'anonymous', MAX_NAME_LENGTH)
}

const slugOf = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, MAX_NAME_LENGTH)

/** Of a plan that admits nothing, for whoever enables one of its clients: no policy admits less. */
const MINIMAL_POLICIES: readonly Policy[] = [{ name: 'per-day', algorithm: 'fixed-window', limit: 1, window: 'day' }]

const stagesOf = ({ stages }: Plan): string[] => stages.map(({ api, stage }) => `${api}/${stage}`).sort()

/** The policies of a plan; `undefined` where it admits nothing. */
function policiesOf(plan: Plan, left: Left[]): Policy[] | undefined {
  const { throttle, quota } = plan
  const what = planText(plan)
  const paced = throttle && paceOf(throttle, what, left)
  if (paced === 'nothing' || quota?.limit === 0) {
    left.push({
      what,
      why: 'it admits nothing: its keys are imported as disabled clients, of a tier with one request a day',
    })
    return undefined
  }
  const { limit, period, offset = 0 } = quota ?? {}
  if (offset !== 0)
    left.push({
      what: `${what}, quota offset ${offset}`,
      why: 'windows begin with the calendar’s day, week or month, whole: AWS calls it the first day of a period in one place, and requests taken off the first period in another',
    })
  if (limit !== undefined && period === 'WEEK')
    left.push({ what: `${what}, quota by week`, why: 'imported as weeks that begin on Monday, in UTC' })
  const window = period?.toLowerCase()
  return [
    ...(paced ? [{ name: 'per-second', ...paced }] : []),
    ...(limit === undefined || window === undefined
      ? []
      : [{ name: `per-${window}`, algorithm: 'fixed-window', limit, window }]),
  ]
}

/** A rate that is no whole number a second takes a longer window; where none is exact, the next lower rate. */
function paceOf(
  { rateLimit, burstLimit }: ThrottleSettings,
  what: string,
  left: Left[],
): Policy | 'nothing' | undefined {
  if (rateLimit === undefined) {
    if (burstLimit !== undefined) left.push({ what: `${what}, burst ${burstLimit}`, why: 'it has no rate' })
    return burstLimit === 0 ? 'nothing' : undefined
  }
  if (rateLimit <= 0 || burstLimit === 0) return 'nothing'
  const isWhole = (units: number) => Math.abs(units - Math.round(units)) < 1e-9
  const seconds = Array.from({ length: 60 }, (_, i) => i + 1).find((n) => isWhole(rateLimit * n))
  const burst = burstLimit === undefined ? {} : { burst: burstLimit }
  if (seconds !== undefined)
    return { algorithm: 'token-bucket', limit: Math.round(rateLimit * seconds), window: `${seconds}s`, ...burst }
  const limit = Math.floor(rateLimit * 1000)
  if (limit === 0) return 'nothing'
  left.push({ what: `${what}, ${rateLimit} requests a second`, why: `imported as ${limit} in 1000 s` })
  return { algorithm: 'token-bucket', limit, window: '1000s', ...burst }
}

/** A route for each method that has a throttle of its own, with a policy for the tiers of each plan. */
function routesOf(
  plans: readonly Plan[],
  tiersOf: (plan: Plan) => readonly string[],
  left: Left[],
): Record<string, Policy> {
  const routes: Record<string, { apis: string[]; policies: Policy[] }> = {}
  for (const plan of plans) {
    for (const { api, stage, methods } of plan.stages) {
      for (const [path, throttle] of Object.entries(methods)) {
        const [, resource, method] = /^(\/.*)\/([A-Z]+)$/.exec(path) ?? []
        const what = `${planText(plan)}, ${path} of ${api}/${stage}`
        const word = `${api}-${stage}`
        const paced = resource === undefined ? undefined : paceOf(throttle, what, left)
        if (resource === undefined || word.length > MAX_NAME_LENGTH || !/^[\w.-]+$/.test(word))
          left.push({ what, why: 'no route can be named like this' })
        else if (paced === 'nothing') left.push({ what, why: 'it admits nothing: block the route in the API' })
        else if (paced) {
          const key = `${method} ${resource} @${word}`
          routes[key] ??= { apis: [`${api}/${stage}`], policies: [] }
          routes[key].policies.push({ name: 'per-second', ...paced, tiers: [...tiersOf(plan)].sort() })
        }
      }
    }
  }
  return routes
}
