import type { Charge, CompiledPolicy } from '../../facade/decisions'
import {
  type Assignment,
  allStepsAllow,
  applyTo,
  type ConditionalWrite,
  chargedOf,
  deniedByRunning,
  FleetClock,
  fieldsOf,
  type Item,
  isCharged,
  isRecent,
  type PolicyWrite,
  refundsOf,
  type Step,
  statesOf,
  stepAll,
  takesNone,
  writeUnitsOfState,
} from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'
import type { Answer, Calls, PolicyAnswer } from './limiter'
import { type Running, RunningRequests, runningOf } from './running'

/** A subject's item, as the store and the instance have it: with one instance, they are the same. */
class Held {
  readonly policies: { [prefix: string]: OwnFields } = {}
  readonly marks = NO_MARKS
  readonly expiresAtSeconds = 0
  readonly shared = false
  readonly consecutiveConflicts = 0
  /** What the writes to it are billed, in units each. */
  writeUnits = 0

  /**
   * @param seenAt when the instance last saw it; `-Infinity` for one that it never saw.
   * @param endsAt from when on nothing of it matters any more.
   */
  constructor(
    public seenAt: EpochMs,
    public endsAt: EpochMs,
  ) {}

  /** What a view of an item has. */
  get item(): Item {
    return this
  }
}

const NO_MARKS: Readonly<Record<string, number>> = Object.freeze({})

/** An item is measured when it is new, and once in so many writes of all items. */
const MEASURED_EVERY = 64
/** How long a denial is trusted that was seen, as the limiter has it by default. */
const DENIAL_TTL_MS = 5000
/** State that no longer matters is kept an hour longer, as the table's time to live does. */
const KEPT_MS = 3_600_000
/** After so many new subjects it is looked for state that no longer matters. */
const SWEEP_AFTER = 50_000

/**
 * Decides by strict policies as a `RateLimiter` of one warm instance does, with the same algorithms, in one synchronous
 * step for each request. No two requests are decided at once, so no write is ever refused.
 */
export class StrictLimiter {
  private readonly subjects = new Map<string, Held>()
  private readonly fleet = new FleetClock()
  private readonly running = new RunningRequests()
  private sweepAt = SWEEP_AFTER

  /** @param queues whether a policy charges requests at a later turn, so that state may lie ahead of the clock. */
  constructor(
    private readonly calls: Calls,
    private readonly queues: boolean,
  ) {}

  /** Charges all subjects or none, as `RateLimiter.decide` does. */
  decide(parts: readonly Charge[], now: EpochMs, durationMs?: number): Answer {
    for (let ended = this.running.endedBy(now); ended; ended = this.running.endedBy(now)) this.end(ended)
    const answer = this.answer(parts, now)
    if (answer.allowed && durationMs !== undefined)
      for (const one of runningOf(parts, now, durationMs)) this.running.add(one)
    return answer
  }

  private answer(parts: readonly Charge[], now: EpochMs): Answer {
    if (parts.length === 1) return this.take(parts[0]!, now)
    const known = parts.flatMap((part) => this.cachedDenial(part, now) ?? [])
    if (known.length > 0) return combined(known)
    const answers = parts.map((part) => this.take(part, now))
    if (answers.every(({ allowed }) => allowed)) return combined(answers)
    for (const [i, part] of parts.entries()) this.giveBack(part, answers[i]!, now)
    return combined(answers.filter(({ allowed }) => !allowed))
  }

  /** The rules are those of `TakeLoop.cachedDenial`. */
  private cachedDenial(part: Charge, now: EpochMs): Answer | undefined {
    const held = this.subjects.get(part.key)
    if (!held || takesNone(part) || !isRecent(held, now, DENIAL_TTL_MS) || this.mayAdmit(held, part, now))
      return undefined
    const steps = stepAll(statesOf(held, part.policies), part.policies, part, now)
    if (allStepsAllow(steps) || steps.some(({ verdict, write }) => !verdict.allowed && write)) return undefined
    if (deniedByRunning(steps, part.policies) && !isRecent(held, now)) return undefined
    return answerOf(part.policies, steps)
  }

  /** The rules are those of `TakeLoop.decideBatch`, for a request that is alone. */
  private take(part: Charge, now: EpochMs): Answer {
    const { key, policies } = part
    const held = this.heldOf(key, now)
    if (this.queues && held.seenAt > -Infinity) this.fleet.observe(held, policies)
    const steps = stepAll(statesOf(held, policies), policies, part, now)
    const answer = answerOf(policies, steps)
    if (takesNone(part)) {
      this.read(held, now)
      return answer
    }
    const { allowed } = answer
    const needsView = !allowed || steps.some(({ write }) => !write)
    const isTrusted = isRecent(held, now, DENIAL_TTL_MS)
    const isUnsure =
      !allowed &&
      isTrusted &&
      (this.mayAdmit(held, part, now) || (deniedByRunning(steps, policies) && !isRecent(held, now)))
    if (needsView && (!isTrusted || isUnsure)) this.read(held, now)
    const writes: PolicyWrite[] = []
    for (let i = 0; i < steps.length; i++) {
      const { verdict, write } = steps[i]!
      if (write && verdict.allowed === allowed) writes.push({ prefix: policies[i]!.prefix, write })
    }
    if (writes.length > 0) this.write(held, policies, writes, now)
    return answer
  }

  /** Gives back what a request took of one subject that another subject denies, as `RateLimiter` does. */
  private giveBack(part: Charge, { allowed, policies: answers }: Answer, now: EpochMs): void {
    if (!allowed || takesNone(part)) return
    const verdicts = answers.map(({ verdict }) => (isCharged(verdict) ? { ...verdict, chargedAt: now } : verdict))
    const charged = chargedOf(verdicts)
    if (!charged) return
    const policies = part.policies.filter((_, i) => isCharged(verdicts[i]!))
    const held = this.heldOf(part.key, now)
    const states = policies.map((policy) => fieldsOf(held.item, policy)!)
    const writes = refundsOf({ ...part, policies }, states, charged, now)
    if (writes.length > 0) this.write(held, policies, writes, now)
  }

  /** Gives slots back. */
  private end({ key, policies, holds, startedAt, endsAt }: Running): void {
    const held = this.subjects.get(key)
    if (!held) return
    const writes = policies.flatMap((policy): PolicyWrite[] => {
      const write = policy.counter.refund(fieldsOf(held.item, policy)!, 1, startedAt, endsAt, holds)
      return write ? [{ prefix: policy.prefix, write }] : []
    })
    if (writes.length > 0) this.write(held, policies, writes, Math.max(endsAt, held.seenAt))
  }

  private mayAdmit(held: Held, part: Charge, now: EpochMs): boolean {
    return this.queues && this.fleet.mayAdmit(held, part.policies, [part], now)
  }

  private read(held: Held, now: EpochMs): void {
    held.seenAt = now
    this.calls.reads++
  }

  private write(held: Held, policies: readonly CompiledPolicy[], writes: readonly PolicyWrite[], now: EpochMs): void {
    const { policies: fields } = held
    for (const { prefix, write } of writes) fields[prefix] = after(fields[prefix], write)
    held.seenAt = now
    for (const { counter } of policies) held.endsAt = Math.max(held.endsAt, now + counter.retentionMs + KEPT_MS)
    if (this.calls.writes++ % MEASURED_EVERY === 0 || held.writeUnits === 0) held.writeUnits = writeUnitsOfState(fields)
    this.calls.writeUnits += held.writeUnits
  }

  private heldOf(key: string, now: EpochMs): Held {
    const known = this.subjects.get(key)
    if (known && known.endsAt > now) return known
    if (!known && this.subjects.size >= this.sweepAt) this.sweep(now)
    const made = new Held(-Infinity, now + KEPT_MS)
    this.subjects.set(key, made)
    return made
  }

  private sweep(now: EpochMs): void {
    for (const [key, { endsAt }] of this.subjects) if (endsAt <= now) this.subjects.delete(key)
    this.sweepAt = this.subjects.size + Math.max(SWEEP_AFTER, this.subjects.size >> 1)
  }
}

/** What a policy keeps, which nobody else has. */
type OwnFields = Record<string, number | number[]>

/**
 * The fields after a write, changed in place; but where some are removed, copied without them: an object of which
 * something was deleted is slow and large for ever.
 */
function after(before: OwnFields | undefined, write: ConditionalWrite): OwnFields {
  const removed = write.assignments.filter(isRemoval)
  const fields = before && removed.length === 0 ? before : without(before, removed)
  applyTo(fields, write)
  return fields
}

const isRemoval = (one: Assignment): one is Removal => 'purge' in one || 'remove' in one
type Removal = Extract<Assignment, { readonly purge: true } | { readonly remove: true }>

function without(before: OwnFields | undefined, removed: readonly Removal[]): OwnFields {
  const fields: OwnFields = {}
  for (const name in before) if (!removed.some(({ field }) => field === name)) fields[name] = before[name]!
  return fields
}

function answerOf(policies: readonly CompiledPolicy[], steps: readonly Step[]): Answer {
  const answers: PolicyAnswer[] = []
  let deniedBy: CompiledPolicy | undefined
  for (let i = 0; i < policies.length; i++) {
    const policy = policies[i]!
    const { verdict } = steps[i]!
    answers.push({ policy, verdict })
    if (!verdict.allowed) deniedBy ??= policy
  }
  return { allowed: deniedBy === undefined, deniedBy, policies: answers }
}

/** The answer of all subjects: named after the first policy that denies. */
function combined(answers: readonly Answer[]): Answer {
  const deniedBy = answers.find(({ allowed }) => !allowed)?.deniedBy
  return { allowed: deniedBy === undefined, deniedBy, policies: answers.flatMap(({ policies }) => policies) }
}
