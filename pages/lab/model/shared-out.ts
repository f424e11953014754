import { MAX_UNITS } from '../../../limiter/algorithms/algorithm'
import { applyTo } from '../../../limiter/algorithms/conditional-write'
import type { EpochMs } from '../../../limiter/clock'
import { boardIn, reported } from '../../../limiter/consistency/share-board'
import { Shares, unitsFor } from '../../../limiter/consistency/shares'
import { sharedFor, shareOf } from '../../../limiter/policies/fair'
import type { Policy } from '../../../limiter/policies/policy'

/** What one client may take of a limit that all share, and the verdict of its share for one request. */
export interface ShareVerdict {
  readonly allowed: boolean
  /** Units of the window; `Infinity` while nobody is held to a share. */
  readonly share: number
  readonly retryAfterMs: number
  /** Takes in what the limit said of the request that the share allowed. */
  settle(allowed: boolean): void
}

/** The shares of `fair: true`, by the limiter's own code: one instance, and its board in memory. */
export class SharedOut {
  private readonly shares: Shares
  private readonly board: Record<string, number | number[]> = {}
  private readonly taken: Record<string, number | number[]>[] = []
  private readonly policies = new Map<number, Policy>()
  private readonly windowMs: number

  /** @param random chooses the moments at which the instance comes to the board. */
  constructor(
    private readonly policy: Policy,
    random: () => number,
  ) {
    const fair = sharedFor(policy) ?? { windowMs: policy.windowMs, limit: policy.limit }
    this.windowMs = fair.windowMs
    this.shares = new Shares(fair, random)
  }

  /** Asks a client's share for one unit. */
  ask(client: number, now: EpochMs): ShareVerdict {
    this.meet(now)
    const caller = { key: String(client), weight: 1 }
    const { shares } = this
    const share = unitsFor(shares.shareAt(now), caller.weight)
    this.taken[client] ??= {}
    const fields = this.taken[client]
    const policy = this.policyOf(share)
    const { verdict, write } = policy.counter.step(fields, 1, now)
    const before = policy.limit - verdict.remaining - (verdict.allowed ? 1 : 0)
    if (!verdict.allowed) shares.denied(caller)
    return {
      allowed: verdict.allowed,
      share,
      retryAfterMs: verdict.retryAfterMs,
      settle: (allowed) => {
        if (!allowed) return shares.fellShort(caller, 1, policy.limit - before, policy.limit)
        applyTo(fields, write!)
        shares.took(caller, 1, before + 1, policy.limit)
      },
    }
  }

  private meet(now: EpochMs): void {
    const { shares } = this
    const due = shares.due(now)
    if (due === 'look') {
      shares.looked()
      shares.learn(boardIn(this.board))
    } else if (due === 'tell') {
      const { window, report } = shares.report()
      applyTo(this.board, reported(boardIn(this.board), window, report, shares.limit))
      shares.told(boardIn(this.board), now)
    }
  }

  private policyOf(share: number): Policy {
    const units = Math.min(share, MAX_UNITS)
    const policy = this.policies.get(units) ?? shareOf(this.policy, this.windowMs, units)
    this.policies.set(units, policy)
    return policy
  }
}
