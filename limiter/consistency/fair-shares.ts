import { type CompiledPolicy, type Fair, isFair } from '../compiled-policy'
import type { Decider } from '../decider'
import { ignoreUnavailable } from '../errors'
import { type Plan, READ } from '../plan'
import { type Caller, type Charge, takenFrom } from '../request'
import { allAllow } from '../steps'
import type { SubjectVerdicts } from '../view'
import { boardOf, tell } from './share-board'
import { Shares } from './shares'
import { allowedByAll, type Part, take } from './strategy'

/** A fair policy of a request, and the caller whose share it takes. */
interface Held {
  readonly key: string
  readonly policy: CompiledPolicy
  readonly caller: Caller
  readonly shares: Shares
  readonly share: CompiledPolicy
  readonly units: number
}

/** A request's charges, with those of its caller's shares. */
export interface FairCharges {
  readonly charges: readonly Charge[]
  readonly held: readonly Held[]
}

/**
 * Shares what callers take of a limit among them while it is contended.
 *
 * What a caller took is counted in its own item, by a policy whose limit is the share that holds now. What all of them
 * did is added up on a board, an item beside the shared one, to which each instance comes twice a window at most.
 */
export class FairShares {
  /** By the caller's own policies, the fair policy and the share. */
  private readonly lists = new WeakMap<readonly CompiledPolicy[], Map<string, readonly CompiledPolicy[]>>()

  constructor(private readonly items: Decider) {}

  /** Adds what the caller may take to its own charge. */
  hold(given: readonly Charge[]): FairCharges {
    const now = this.items.now()
    const charges = [...given]
    const held = given.flatMap((charge): Held[] => {
      const { key, policies, caller } = charge
      return policies.flatMap((policy): Held[] => {
        const { fair } = policy
        if (!fair || !caller) return []
        const shares = this.sharesOf(key, policy, fair)
        const most = unitsFor(shares.shareAt(now), caller.weight)
        const share = this.addShare(charges, charge, policy, most)
        return [{ key, policy, caller, shares, share, units: takenFrom(charge, policy) }]
      })
    })
    // what is fair goes last
    return { charges: charges.sort((one, other) => Number(isFair(one)) - Number(isFair(other))), held }
  }

  /** Takes in what became of a request. */
  learn(held: readonly Held[], answers: readonly SubjectVerdicts[]): void {
    const verdictOf = (wanted: CompiledPolicy) => {
      for (const { policies, verdicts } of answers) {
        const place = policies.indexOf(wanted)
        if (place >= 0) return verdicts[place]
      }
      return undefined
    }
    const isAllowed = answers.every(({ verdicts }) => allAllow(verdicts))
    for (const { policy, caller, shares, share, units } of held) {
      const own = verdictOf(share)
      if (isAllowed) shares.took(units, share.limit - (own?.remaining ?? 0), share.limit, caller.weight)
      else if (own?.allowed === false) shares.denied(caller.key, caller.weight)
      else if (verdictOf(policy)?.allowed === false) shares.fellShort(units)
    }
  }

  /** Tells the board, or looks at it, where that is due; what fails is done in the next window. */
  async meet(held: readonly Held[]): Promise<void> {
    const { items } = this
    const calls = held.flatMap(({ key, policy, shares }) => {
      const what = shares.due(items.now())
      if (!what) return []
      const place = `${key}.${policy.prefix}fair`
      if (what === 'look') {
        shares.looked()
        return items.run(place, reading()).then(() => shares.learn(boardOf(items.view(place)?.item)))
      }
      const { window, report } = shares.report()
      return items.run(place, tell(items, place, policy, window, report, shares.limit))
    })
    await Promise.all(calls.map((call) => call.catch(ignoreUnavailable)))
  }

  /**
   * Takes from what is fair, which stands last, once the others have allowed it: what a share denies takes no lease.
   */
  async takeLast(parts: readonly Part[]): Promise<readonly PromiseSettledResult<SubjectVerdicts>[]> {
    const first = parts.findIndex(isFair)
    const results = await Promise.allSettled(parts.slice(0, first).map((part) => take(part)))
    const isAllowed = results.every((one) => one.status === 'fulfilled' && allowedByAll([one.value]))
    return isAllowed
      ? [...results, ...(await Promise.allSettled(parts.slice(first).map((part) => take(part))))]
      : results
  }

  /** The same charges with the shares that the board says, for a request that only looks. */
  async withKnownShares(given: readonly Charge[]): Promise<readonly Charge[]> {
    await this.meet(this.hold(given).held)
    return this.hold(given).charges
  }

  private sharesOf(key: string, { prefix }: CompiledPolicy, fair: Fair): Shares {
    const record = this.items.subjects.of(key)
    record.shares ??= new Map()
    const shares = record.shares.get(prefix)?.update(fair) ?? new Shares(fair)
    record.shares.set(prefix, shares)
    return shares
  }

  /** The same lists for the same policies and shares, so that requests can share writes. */
  private addShare(charges: Charge[], shared: Charge, policy: CompiledPolicy, most: number): CompiledPolicy {
    const { key } = shared.caller!
    const units = takenFrom(shared, policy)
    const place = charges.findIndex((one) => one.key === key && takenFrom(one, policy) === units)
    const own = charges[place]?.policies ?? NONE
    const lists = this.lists.get(own) ?? new Map<string, readonly CompiledPolicy[]>()
    this.lists.set(own, lists)
    const id = `${policy.prefix}${most}`
    const policies = lists.get(id) ?? [...own, policy.fair!.share(most)]
    if (lists.size >= MAX_LISTS) lists.clear()
    lists.set(id, policies)
    if (place >= 0) charges[place] = { ...charges[place]!, policies }
    else charges.push({ key, policies, cost: shared.cost, costs: shared.costs })
    return policies.at(-1)!
  }
}

const NONE: readonly CompiledPolicy[] = []
/** Lists that are remembered for one caller's policies. */
const MAX_LISTS = 500

/** The view has what was read. */
function* reading(): Plan<void> {
  yield READ
}

/**
 * Whole units of a caller, one at least; `Infinity` where it has no share. They are rounded down by a thirtieth at
 * most, so that callers' lists of policies are a hundred and not thousands.
 */
function unitsFor(share: number, weight: number): number {
  if (share === Infinity) return share
  const units = Math.max(1, Math.floor(weight * share))
  const step = 2 ** Math.max(0, Math.floor(Math.log2(units)) - 5)
  return units - (units % step)
}
