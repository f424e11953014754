import { type CompiledPolicy, distinct, type Fair, isFair } from '../compiled-policy'
import type { Decider } from '../decider'
import { ignoreUnavailable } from '../errors'
import { type Plan, READ } from '../plan'
import { type Caller, type Charge, takenFrom } from '../request'
import { allAllow } from '../steps'
import type { SubjectVerdicts } from '../view'
import { boardOf, tell } from './share-reports'
import { Shares, unitsFor } from './shares'
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
  /** What a share was made for: by what is shared and the share, and by the caller's own policies. */
  private readonly made = new WeakMap<Shares, Map<number, Made>>()

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
        const share = this.addShare(charges, charge, policy, this.policyOf(shares, key, fair, most))
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
      if (isAllowed) {
        if (own) shares.took(caller, units, share.limit - own.remaining, share.limit)
      } else if (own?.allowed === false) shares.denied(caller)
      else if (verdictOf(policy)?.allowed === false) {
        const left = own?.remaining ?? this.leftOf(caller, share)
        if (left < units) shares.denied(caller)
        else shares.fellShort(caller, units, left, share.limit)
      }
    }
  }

  /** Tells the board, or looks at it, where that is due; what fails is done in the next window. */
  async meet(held: readonly Held[]): Promise<void> {
    const { items } = this
    const calls = held.flatMap(({ key, policy, shares }) => {
      const what = shares.due(items.now())
      if (!what) return []
      const place = `${key}.${policy.prefix}fair`
      const board = () => boardOf(items.view(place)?.item)
      if (what === 'look') {
        shares.looked()
        return items.run(place, reading()).then(() => shares.learn(board()))
      }
      const { window, report } = shares.report()
      const telling = tell(items, place, policy, window, report, shares.limit)
      return items.run(place, telling).then(() => shares.told(board(), items.now()))
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

  /** What a caller has left of its share, as far as that is known here: the shared limit denied without asking it. */
  private leftOf({ key }: Caller, share: CompiledPolicy): number {
    return this.items.standing({ key, policies: [share] })?.[0]?.remaining ?? share.limit
  }

  private policyOf(shares: Shares, key: string, fair: Fair, most: number): Made {
    const byShare = this.made.get(shares) ?? new Map<number, Made>()
    this.made.set(shares, byShare)
    const made = byShare.get(most) ?? { share: fair.share(most, key), lists: new WeakMap() }
    if (byShare.size >= MAX_SHARES) byShare.clear()
    byShare.set(most, made)
    return made
  }

  /** The same lists for the same policies and shares, so that requests can share writes. */
  private addShare(charges: Charge[], shared: Charge, policy: CompiledPolicy, { share, lists }: Made): CompiledPolicy {
    const { key } = shared.caller!
    const units = takenFrom(shared, policy)
    const place = charges.findIndex((one) => one.key === key && takenFrom(one, policy) === units)
    const own = charges[place]?.policies ?? NONE
    const policies = lists.get(own) ?? distinct([...own, share], storedElsewhere)
    lists.set(own, policies)
    if (place >= 0) charges[place] = { ...charges[place]!, policies }
    else charges.push({ key, policies, cost: shared.cost, costs: shared.costs })
    return policies.at(-1)!
  }
}

/** A share, and the lists of policies that it stands in. */
interface Made {
  readonly share: CompiledPolicy
  readonly lists: WeakMap<readonly CompiledPolicy[], readonly CompiledPolicy[]>
}

const NONE: readonly CompiledPolicy[] = []
/** A share whose prefix happens to be that of another policy: no request fails for that, `distinct` moves the share. */
const storedElsewhere = (): void => {}
/** Shares that are remembered of one that is shared. */
const MAX_SHARES = 500

/** The view has what was read. */
function* reading(): Plan<void> {
  yield READ
}
