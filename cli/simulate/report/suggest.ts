import type { Charge, CompiledPolicy } from '../../facade/decisions'
import type { PolicySet } from '../../facade/policies'
import { apply, type Fields, unitsOf } from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'
import { policiesOfTier } from '../decide/rule-set'
import type { PolicyTally } from './tally'

/** What a policy would have to be so that hardly anybody meets it. */
export interface Suggestion {
  /** `null` for a policy of a route, or of all requests, which counts callers of all tiers. */
  readonly tier: string | null
  readonly policy: string
  readonly limit: number
  /** The lowest limit that at most this share of the subjects meets; `null` where none was found. */
  readonly suggested: number | null
  /** Subjects that meet the suggested limit, of all that the policy counts. */
  readonly met: number
  readonly subjects: number
}

/** At most one subject in so many shall meet a limit. */
const ONE_IN = 1000
const HIGHEST = 1e12

/** Requests of one subject: their times, and what kind each is of. */
interface Demand {
  readonly times: number[]
  readonly shapes: number[]
}

interface Shape {
  readonly tier: string
  readonly charge: Charge
}

/** A policy wherever it counts: in one tier, or in all of them. */
interface Suggested {
  /** `null`: in all that have none of this name themselves. */
  readonly tier: string | null
  readonly policy: string
  readonly limit: number
  readonly subjects: readonly string[]
}

/** Keeps what subjects asked for, to find limits that they would not have met. 16 bytes a request and subject. */
export class DemandRecorder {
  private readonly demands = new Map<string, Demand>()
  private readonly shapes: Shape[] = []
  private readonly known = new WeakMap<readonly CompiledPolicy[], Map<string, number>>()

  /** @param set says whose a policy is. */
  constructor(private readonly set: PolicySet) {}

  add(tier: string, charges: readonly Charge[], at: EpochMs): void {
    for (const charge of charges) {
      const demand = this.demands.get(charge.key) ?? { times: [], shapes: [] }
      if (demand.times.length === 0) this.demands.set(charge.key, demand)
      demand.times.push(at)
      demand.shapes.push(this.shapeOf(tier, charge))
    }
  }

  /**
   * For each policy the lowest limit that at most one subject in a thousand would have met, by this policy alone: with
   * all their requests, also those that another policy denies.
   */
  suggest(tallies: Iterable<PolicyTally>): Suggestion[] {
    const all = new Map<string, Suggested>()
    for (const { tier, policy, limit, near } of tallies) {
      const owner = this.isOf(tier, policy) ? tier : null
      const key = JSON.stringify([owner, policy])
      const known = all.get(key)?.subjects ?? []
      all.set(key, { tier: owner, policy, limit, subjects: [...new Set([...known, ...near.keys()])] })
    }
    return [...all.values()].flatMap((one) => this.suggestFor(one) ?? [])
  }

  /** Whether a tier itself has a policy of this name, for whichever APIs. */
  private isOf(tier: string, policy: string): boolean {
    return policiesOfTier(this.set, tier).some(({ name }) => name === policy)
  }

  /** The policy by which a shape of request is counted, if it is this one. */
  private policyOf({ tier, charge }: Shape, { tier: wanted, policy }: Suggested): CompiledPolicy | undefined {
    const counts = wanted === null ? !this.isOf(tier, policy) : tier === wanted
    return counts ? charge.policies.find(({ name }) => name === policy) : undefined
  }

  private suggestFor(suggested: Suggested): Suggestion | undefined {
    const { tier, policy, limit, subjects } = suggested
    const most = Math.floor(subjects.length / ONE_IN)
    const byShape = this.shapes.map((shape) => this.policyOf(shape, suggested))
    const first = byShape.find((one) => one !== undefined)
    if (!first || first.counter.isEndedByOthers) return undefined
    let candidates = subjects
    let metBelow = 0
    let [low, high] = [0, 0]
    let met = 0
    const meeting = (units: number) => {
      const scaled = new Map<CompiledPolicy, CompiledPolicy | undefined>()
      return candidates.filter((key) => this.meets(key, byShape, units, scaled))
    }
    for (let units = limit; high === 0; units = Math.min(HIGHEST, units * 2)) {
      const those = meeting(units)
      if (those.length <= most) {
        high = units
        met = those.length
        metBelow = those.length
        candidates = candidates.filter((key) => !those.includes(key))
      } else if (units === HIGHEST)
        return { tier, policy, limit, suggested: null, met: those.length, subjects: subjects.length }
      else {
        low = units
        candidates = those
      }
    }
    while (high - low > 1) {
      const units = Math.floor((low + high) / 2)
      const those = meeting(units)
      if (metBelow + those.length <= most) {
        high = units
        metBelow += those.length
        met = metBelow
        const gone = new Set(those)
        candidates = candidates.filter((key) => !gone.has(key))
      } else {
        low = units
        candidates = those
      }
    }
    return { tier, policy, limit, suggested: high, met, subjects: subjects.length }
  }

  /** @param byShape the policy by which each shape of request is counted. */
  private meets(
    key: string,
    byShape: readonly (CompiledPolicy | undefined)[],
    units: number,
    scaled: Map<CompiledPolicy, CompiledPolicy | undefined>,
  ): boolean {
    const { times, shapes } = this.demands.get(key) ?? { times: [], shapes: [] }
    let fields: Fields = {}
    for (const [i, at] of times.entries()) {
      const shape = shapes[i]!
      const own = byShape[shape]
      if (!own) continue
      if (!scaled.has(own)) scaled.set(own, withLimit(own, units))
      const policy = scaled.get(own)
      if (!policy) return true
      const { verdict, write } = policy.counter.step(fields, unitsOf(this.shapes[shape]!.charge, own), at)
      if (!verdict.allowed || verdict.exceeded) return true
      if (write) fields = apply(write, fields)
    }
    return false
  }

  private shapeOf(tier: string, charge: Charge): number {
    const ids = this.known.get(charge.policies) ?? new Map<string, number>()
    this.known.set(charge.policies, ids)
    const id = `${tier} ${charge.cost}${charge.costs ? JSON.stringify(charge.costs) : ''}`
    const known = ids.get(id)
    if (known !== undefined) return known
    ids.set(id, this.shapes.length)
    return this.shapes.push({ tier, charge }) - 1
  }
}

/** The policy with another limit, and a burst that grows with it; `undefined` where it cannot have that. */
function withLimit(policy: CompiledPolicy, limit: number): CompiledPolicy | undefined {
  const made = policy.shareOf((limit + 0.5) / policy.limit)
  return made.limit === limit ? made : undefined
}
