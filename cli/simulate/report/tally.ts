import type { Charge, CompiledPolicy } from '../../facade/decisions'
import type { EpochMs } from '../../facade/values'
import type { Answer, NamedLimit, PolicyAnswer } from '../decide/limiter'
import type { Prepared, Reason } from '../decide/preparer'
import { Nearness } from './nearness'
import { Series } from './series'

/** Requests of a caller that one limit denied. */
export interface Denials {
  readonly policy: string
  /** As they were for this caller. */
  readonly limit: number
  readonly window: string | undefined
  requests: number
  readonly firstAt: EpochMs
  lastAt: EpochMs
}

/** What became of a caller's requests. */
export interface ClientTally {
  readonly client: string
  /** Of the last request that has one. */
  tier: string
  requests: number
  /** By a limit. */
  denied: number
  /** Not let in, whatever the limits are. */
  refused: number
  /** By what denied them, in the order of the first of each; `undefined` where none was denied. */
  denials: Denials[] | undefined
}

/** What became of the requests that one policy of a tier was asked about. */
export interface PolicyTally {
  readonly tier: string
  readonly policy: string
  readonly limit: number
  readonly window: string | undefined
  /** Requests that passed, and that the policy counted. */
  allowed: number
  /** Requests that were denied, and whose denial names this policy. */
  denied: number
  /** Allowed past the limit: only observed, given a low priority, or inside an overrun. */
  observed: number
  deprioritized: number
  overrun: number
  /** Denied because the caller was locked out. */
  lockedOut: number
  /** Denied because the caller had taken its share. */
  byShare: number
  /** Denied because the request costs more than the policy ever admits. */
  tooExpensive: number
  /** Allowed after a wait. */
  delayed: number
  /** By subject. */
  readonly near: Map<string, Near>
}

/** How near one subject came to one policy. */
class Near extends Nearness {
  constructor(readonly tally: PolicyTally) {
    super()
  }
}

/** Where the counts go of a request that comes to the same as others. */
export interface Slots {
  readonly client: ClientTally
  readonly tierName: string
  readonly route: { allowed: number; denied: number }
  readonly tier: { allowed: number; denied: number }
  /** The policies, in the order in which they are asked. */
  readonly policies: readonly CompiledPolicy[]
  readonly near: readonly Near[]
}

type Numbers = Omit<NamedLimit, 'name'>

/** Counts what becomes of requests. */
export class Tally {
  requests = 0
  allowed = 0
  /** Denied by a limit. */
  denied = 0
  /** Requests that no limit decides, by why. */
  readonly undecided = new Map<Reason, number>()
  readonly clients = new Map<string, ClientTally>()
  readonly policies = new Map<string, PolicyTally>()
  readonly routes = new Map<string, { allowed: number; denied: number }>()
  readonly tiers = new Map<string, { allowed: number; denied: number }>()
  readonly series = new Series()

  /** @param configured finds the policy of a tier as it is configured, without anybody's override. */
  constructor(private readonly configured: (tier: string, policy: string) => Numbers | undefined) {}

  slotsFor(client: string, { tier, route, charges }: Prepared): Slots {
    const none = () => ({ allowed: 0, denied: 0 })
    return {
      client: this.client(client, tier),
      tierName: tier,
      route: made(this.routes, route, none),
      tier: made(this.tiers, tier, none),
      ...this.policySlots(tier, typeof charges === 'string' ? [] : charges),
    }
  }

  /** @returns whether the request passes. */
  add(slots: Slots, at: EpochMs, answer: Answer | Reason): boolean {
    const { client, tierName, route, tier } = slots
    this.requests++
    client.requests++
    if (tierName !== '') client.tier = tierName
    if (typeof answer === 'string') {
      this.undecided.set(answer, (this.undecided.get(answer) ?? 0) + 1)
      const passes = answer === 'uncounted' || answer === 'exempt'
      if (!passes) {
        client.refused++
        return false
      }
      this.allowed++
      route.allowed++
      tier.allowed++
      this.series.add(at, true)
      return true
    }
    const { allowed, deniedBy, policies } = answer
    if (allowed) {
      this.allowed++
      route.allowed++
      tier.allowed++
    } else {
      this.denied++
      route.denied++
      tier.denied++
      client.denied++
      if (deniedBy) noteDenial(client, at, deniedBy)
    }
    this.series.add(at, allowed)
    for (let i = 0; i < policies.length; i++) {
      const one = policies[i]!
      const place = slots.policies[i] === one.policy ? i : slots.policies.indexOf(one.policy)
      if (place >= 0) count(slots.near[place]!, one, allowed, one.isShare || one.policy === deniedBy)
    }
    return allowed
  }

  private client(client: string, tier: string): ClientTally {
    return made(this.clients, client, () => ({
      client,
      tier,
      requests: 0,
      denied: 0,
      refused: 0,
      denials: undefined,
    }))
  }

  private policySlots(tier: string, charges: readonly Charge[]): Pick<Slots, 'policies' | 'near'> {
    return {
      policies: charges.length === 1 ? charges[0]!.policies : charges.flatMap(({ policies }) => policies),
      near: charges.flatMap(({ key, policies }) => policies.map((policy) => this.nearOf(tier, policy, key))),
    }
  }

  private nearOf(tier: string, policy: CompiledPolicy, key: string): Near {
    const { name } = policy
    const tally = made(this.policies, `${tier}\n${name}`, () => ({
      tier,
      policy: name,
      ...numbersOf(this.configured(tier, name) ?? policy),
      allowed: 0,
      denied: 0,
      observed: 0,
      deprioritized: 0,
      overrun: 0,
      lockedOut: 0,
      byShare: 0,
      tooExpensive: 0,
      delayed: 0,
      near: new Map<string, Near>(),
    }))
    return made(tally.near, key, () => new Near(tally))
  }
}

const numbersOf = ({ limit, written }: Numbers) => ({ limit, window: written.window })

function noteDenial(client: ClientTally, at: EpochMs, deniedBy: NamedLimit): void {
  client.denials ??= []
  const known = client.denials.find(({ policy }) => policy === deniedBy.name)
  if (known) {
    known.requests++
    known.lastAt = at
  } else client.denials.push({ policy: deniedBy.name, ...numbersOf(deniedBy), requests: 1, firstAt: at, lastAt: at })
}

function count(near: Near, { policy, verdict, isShare }: PolicyAnswer, passes: boolean, isNamed: boolean): void {
  const { tally } = near
  const { allowed, exceeded, remaining } = verdict
  if (passes) {
    tally.allowed++
    if (exceeded === 'observe') tally.observed++
    else if (exceeded === 'deprioritize') tally.deprioritized++
    else if (exceeded === 'overrun') tally.overrun++
    if ((verdict.delayMs ?? 0) > 0) tally.delayed++
  } else if (isNamed) {
    tally.denied++
    if (isShare) tally.byShare++
    if (verdict.lockedOut) tally.lockedOut++
    if (verdict.retryAfterMs === Infinity) tally.tooExpensive++
  }
  if (isShare) return // the limit itself was not asked
  if (!allowed || exceeded) near.add(1)
  else if (passes) {
    const most = policy.written.burst ?? policy.limit
    near.add(Math.min(1, Math.max(0, 1 - remaining / most)))
  }
}

function made<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const fresh = make()
  map.set(key, fresh)
  return fresh
}
