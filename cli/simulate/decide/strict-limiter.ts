import type { Charge } from '../../facade/decisions'
import {
  cachedDenial,
  chargedIn,
  decide,
  fieldsOf,
  knownDenial,
  peek,
  refund,
  refundsOf,
  takesNone,
  type Verdicts,
  verdictsNow,
} from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'
import type { Answer, Calls } from './limiter'
import { type Running, RunningRequests, runningOf } from './running'
import { StrictItems } from './strict-items'

/**
 * Decides by strict policies as a `RateLimiter` of one warm instance does, by the same plans, without a promise. No two
 * requests are decided at once.
 */
export class StrictLimiter {
  private readonly items: StrictItems
  private readonly running = new RunningRequests()

  constructor(calls: Calls) {
    this.items = new StrictItems(calls)
  }

  /** Charges all subjects or none, as `RateLimiter.decide` does. */
  decide(parts: readonly Charge[], now: EpochMs, durationMs?: number): Answer {
    for (let ended = this.running.endedBy(now); ended; ended = this.running.endedBy(now)) this.end(ended)
    this.items.clock = now
    const answer = this.answer(parts)
    if (answer.allowed && durationMs !== undefined)
      for (const one of runningOf(parts, now, durationMs)) this.running.add(one)
    return answer
  }

  private answer(parts: readonly Charge[]): Answer {
    if (parts.length === 1) return answerOf(parts[0]!, this.take(parts[0]!))
    const known = parts.flatMap((part): Answer[] => {
      const verdicts = takesNone(part) ? undefined : cachedDenial(this.items, part)
      return verdicts ? [answerOf(part, verdicts)] : []
    })
    if (known.length > 0) return combined(known)
    const taken = parts.map((part) => this.take(part))
    const answers = taken.map((verdicts, i) => answerOf(parts[i]!, verdicts))
    if (answers.every(({ allowed }) => allowed)) return combined(answers)
    for (const [i, part] of parts.entries()) this.giveBack(part, taken[i]!)
    return combined(answers.filter(({ allowed }) => !allowed))
  }

  private take(part: Charge): Verdicts {
    const { items } = this
    const { key, policies } = part
    if (takesNone(part)) return items.run(key, peek(items, part))
    const known = knownDenial(items, part)
    return known ? verdictsNow(known) : items.run(key, decide(items, { key, policies, requests: [part] }))[0]!
  }

  /** Gives back what a request took of one subject that another subject denies. */
  private giveBack(part: Charge, verdicts: Verdicts): void {
    const found = chargedIn(part, verdicts)
    if (found) this.items.run(part.key, refund(this.items, found.charge, found.charged))
  }

  /** Gives slots back, in a write that needs no look before it. */
  private end({ key, policies, holds, startedAt, endsAt }: Running): void {
    const { items } = this
    items.clock = Math.max(items.clock, endsAt)
    const item = items.view(key)?.item
    if (!item) return
    const states = policies.map((policy) => fieldsOf(item, policy)!)
    const parts = refundsOf({ policies, holds, cost: 1 }, states, { at: startedAt }, items.clock)
    if (parts.length > 0) items.write(key, items.fit(parts, policies, item, items.clock))
  }
}

function answerOf({ policies }: Charge, verdicts: Verdicts): Answer {
  const deniedBy = policies.find((_, i) => !verdicts[i]!.allowed)
  return {
    allowed: deniedBy === undefined,
    deniedBy,
    policies: policies.map((policy, i) => ({ policy, verdict: verdicts[i]! })),
  }
}

/** The answer of all subjects: named after the first policy that denies. */
function combined(answers: readonly Answer[]): Answer {
  const deniedBy = answers.find(({ allowed }) => !allowed)?.deniedBy
  return { allowed: deniedBy === undefined, deniedBy, policies: answers.flatMap(({ policies }) => policies) }
}
