import type { Hold, Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import { ChargedAtError, CostError, invalidValue, printed } from './errors'
import { RUNNING } from './policies/policy'

/** Units that one request takes from each of several policies. */
export interface Units {
  /** Whole units of each policy, 0 to peek. */
  readonly cost: number
  /**
   * Whole units of the policies with a `cost` of their own, by its name; then `cost` is for the others. Absent where
   * every policy takes the same.
   */
  readonly costs?: Readonly<Record<string, number>> | undefined
  /** What the request holds while it runs, of each policy that counts running requests. */
  readonly holds?: readonly Hold[] | undefined
  /** Who asks paces itself, and is never held back: a request that waits for its turn, a lease. */
  readonly isPaced?: boolean | undefined
  /** Where others are faster it is denied: who asks then asks for less. */
  readonly isSentOnce?: boolean | undefined
}

/** A subject under some of its policies. */
export interface Subject {
  /** Where the subject's state is, see `subjectKey`. */
  readonly key: string
  readonly policies: readonly CompiledPolicy[]
}

/** Units that one request takes from one subject. */
export interface Charge extends Subject, Units {
  /** Whose share of a fair policy it takes. */
  readonly caller?: Caller | undefined
  /** A reservation owes the units: what is admitted without the store is written when that is settled. */
  readonly isOwed?: boolean
}

/** Who takes units of a policy that callers share. */
export interface Caller {
  /** Where the caller's state is, see `subjectKey`. */
  readonly key: string
  /** Its part of what is shared out, 1 or more. */
  readonly weight: number
}

/** Several requests of one subject that are decided together. */
export interface Batch extends Subject {
  /** What each takes. */
  readonly requests: readonly Units[]
}

/** One of several requests that are decided together. */
export interface Pending extends Units {
  /** The answer, once there is one. */
  verdicts: Verdicts | undefined
}

/** Requests of one subject: those without an answer are decided. */
export interface PendingBatch extends Subject {
  readonly requests: readonly Pending[]
}

export const isUnanswered = ({ verdicts }: Pending): boolean => !verdicts

/** Whether a request's units can be leased, or are, where the item is throttled. */
export const isLeasable = ({ policies, costs, holds }: Subject & Partial<Units>): boolean =>
  !costs && !holds && policies.every(({ autoLease, consistency }) => autoLease || consistency === 'leased')

/** When units were charged that are given back. */
export interface ChargeTime {
  /** By the clock, at the request, or at the lease that it was spent from: `Verdict.chargedAt`. */
  readonly at: EpochMs
  /**
   * How much later than that the request's turn was, in milliseconds: policies that let requests wait charge them
   * there. Absent where that is not known.
   */
  readonly delayMs?: number
}

/** Of a policy, the name of the cost that it counts, such as `tokens`; absent where it counts requests. */
export interface Counting {
  readonly costName?: string | undefined
}

/** The names of the costs that policies count, and a request may name. */
export const costNames = (policies: readonly Counting[]): string[] => [
  ...new Set(policies.flatMap(({ costName = RUNNING }) => (costName === RUNNING ? [] : costName))),
]

/**
 * Refuses costs by name that are not known: a misspelt one would be charged as 1 unit.
 *
 * @throws ConfigError
 */
export function checkCosts(costs: unknown, known: readonly string[]): void {
  const isRecord = typeof costs === 'object' && costs !== null && !Array.isArray(costs)
  const unknown = isRecord ? Object.keys(costs).filter((name) => !known.includes(name)) : [costs]
  if (unknown.length === 0) return
  const wanted = known.length > 0 ? `some of ${known.join(', ')}` : 'left out, for no policy has a `cost`'
  throw invalidValue(`costs must be ${wanted}, got ${unknown.map(printed).join(', ')}`)
}

/** Charges nothing. */
export const NO_UNITS: Units = { cost: 0 }

/** Whether a request only looks. */
export const takesNone = ({ cost, costs }: Units): boolean => cost === 0 && costs === undefined

/** What a request takes from one policy. */
export const unitsOf = ({ cost, costs }: Units, { costName }: Counting): number =>
  costs === undefined || costName === undefined ? cost : costs[costName]!

/**
 * What a request takes from a policy by what it says, before `namedUnits`: of a cost that it does not name 1 unit, or
 * none where it only looks; of running requests 1, where it takes anything.
 */
export function takenFrom({ cost, costs = {} }: Units, { costName }: Counting): number {
  if (costName === undefined) return cost
  if (costName === RUNNING) return Number(cost > 0 || Object.values(costs).some((units) => units > 0))
  return Object.hasOwn(costs, costName) ? costs[costName]! : Math.min(cost, 1)
}

/** What several requests of the same policies take together. */
export function sumOf(requests: readonly Units[]): Units {
  if (requests.length === 1) return requests[0]!
  return requests.length === 0 ? NO_UNITS : requests.reduce(plus)
}

function plus(one: Units, other: Units): Units {
  const cost = one.cost + other.cost
  const { costs = other.costs } = one
  const holds = one.holds || other.holds ? [...(one.holds ?? []), ...(other.holds ?? [])] : undefined
  if (!costs) return { cost, holds }
  const sum = (costName: string) => [costName, unitsOf(one, { costName }) + unitsOf(other, { costName })]
  return { cost, costs: Object.fromEntries(Object.keys(costs).map(sum)), holds }
}

/** Units of several policies. */
export type UnitsOfAll<P> = Units & { readonly policies: readonly P[] }

/**
 * What a request takes from policies of which some count a cost by name: one that the request does not name is 1 unit,
 * and a policy of which it takes nothing is not asked. The policies are the same array for the same kind of request, so
 * that requests can share writes.
 */
function namedUnits<P extends Counting, C extends UnitsOfAll<P>>(charge: C): C {
  const { policies, costs } = charge
  if (policies.every(({ costName }) => costName === undefined)) return costs ? { ...charge, costs: undefined } : charge
  const units = policies.map((policy) => takenFrom(charge, policy))
  if (units.every((one) => one === units[0])) return { ...charge, cost: units[0], costs: undefined }
  const own: Record<string, number> = Object.create(null)
  for (const [i, { costName }] of policies.entries()) if (costName !== undefined) own[costName] = units[i]!
  const all = { ...charge, costs: own }
  return units.includes(0) ? split(all, units.map(Math.sign))[1]! : all
}

/** Splits units that differ from policy to policy into parts of which each takes the same from all its policies. */
export function evenly<P extends Counting, C extends UnitsOfAll<P>>(charge: C): C[] {
  if (charge.costs === undefined) return [charge]
  const units = charge.policies.map((policy) => unitsOf(charge, policy))
  const amounts = [...new Set(units)]
  const groups = split(
    charge,
    units.map((one) => amounts.indexOf(one)),
  )
  return groups.map((group, i) => ({ ...group, cost: amounts[i]!, costs: undefined }))
}

const lists = new WeakMap<readonly unknown[], Map<string, readonly (readonly unknown[])[]>>()

/** @param group of each policy, counted from 0. */
function split<P, C extends UnitsOfAll<P>>(charge: C, group: readonly number[]): C[] {
  const { policies } = charge
  const shapes = lists.get(policies) ?? new Map<string, readonly (readonly P[])[]>()
  lists.set(policies, shapes)
  const shape = group.join()
  const found =
    (shapes.get(shape) as readonly (readonly P[])[]) ??
    Array.from({ length: Math.max(...group) + 1 }, (_, i) => policies.filter((_, j) => group[j] === i))
  shapes.set(shape, found) // as many shapes as ways for a handful of policies to differ
  return found.map((some) => ({ ...charge, policies: some }))
}

/**
 * @param name of one of several costs.
 * @throws CostError unless the cost is a whole number of units, `least` or more.
 */
export function checkCost(cost: number, least: 0 | 1, name?: string): void {
  if (!Number.isSafeInteger(cost) || cost < least) throw new CostError(cost, least, name)
}

/** What a request takes from each policy. @throws CostError of the first cost that is none. */
export function toUnits(charge: Charge): Charge {
  checkCost(charge.cost, 0)
  if (charge.costs) for (const [name, cost] of Object.entries(charge.costs)) checkCost(cost, 0, name)
  return namedUnits(charge)
}

/** How far clocks may differ, in milliseconds. */
const SKEW_MS = 60_000

/**
 * Checks what a refund says of its charge; both may be left out.
 *
 * @throws ChargedAtError that names the one that is wrong.
 */
export function checkChargedAt(chargedAt: EpochMs | null | undefined, delayMs: number | undefined, now: EpochMs): void {
  const latest = now + SKEW_MS
  if (
    chargedAt !== undefined &&
    chargedAt !== null &&
    !(Number.isSafeInteger(chargedAt) && chargedAt >= 0 && chargedAt <= latest)
  ) {
    throw new ChargedAtError(
      'chargedAt',
      chargedAt,
      `epoch milliseconds, at most ${SKEW_MS / 1000} s ahead of now (${now})`,
    )
  }
  if (delayMs !== undefined && !(Number.isSafeInteger(delayMs) && delayMs >= 0)) {
    throw new ChargedAtError('delayMs', delayMs, 'whole milliseconds from 0')
  }
}
