import type { Charge } from '../facade/decisions'
import { CONCURRENCY } from '../facade/policies'
import { Reservation, toUnits } from '../facade/simulation'
import type { Caller } from './decide/caller'
import { Fleet } from './decide/fleet'
import type { Answer, Calls, SimulatedLimiter } from './decide/limiter'
import { isPreflight, type Prepared, Preparer, type Reason, type RequestClass, wasRefused } from './decide/preparer'
import { isStrict, policyOf, type RuleSet } from './decide/rule-set'
import { StrictLimiter } from './decide/strict-limiter'
import { type Slots, Tally } from './report/tally'
import type { LoggedRequest } from './requests/logged-request'

/** What a class of requests of one caller comes to, and where it is counted. */
interface Known {
  readonly asked: RequestClass
  readonly prepared: Prepared
  readonly slots: Slots
  /** Of another class. */
  readonly next: Known | undefined
}

/** Classes of requests remembered of a caller. */
const MAX_CLASSES = 8

/** What is remembered of a caller: what its last few classes of requests came to. */
export class CallerMemory {
  private newest: Known | undefined
  private count = 0

  get(asked: RequestClass): Known | undefined {
    let one = this.newest
    while (one && one.asked !== asked) one = one.next
    return one
  }

  add(one: Omit<Known, 'next'>): void {
    const isFull = this.count >= MAX_CLASSES
    this.newest = { ...one, next: isFull ? undefined : this.newest }
    this.count = isFull ? 1 : this.count + 1
  }
}

/** What became of one request. */
export interface Decided {
  readonly passes: boolean
  readonly prepared: Prepared
  readonly answer: Answer | Reason
}

/** One set of rules, and what it makes of the requests. */
export class Side {
  readonly tally: Tally
  readonly calls: Calls = { writes: 0, writeUnits: 0, reads: 0 }
  readonly isStrict: boolean
  /** Requests whose cost depends on what the log does not tell. */
  unknownCosts = 0
  readonly preparer: Preparer
  private readonly limiter: SimulatedLimiter
  /** Requests that hold slots, and of which the log does not say how long they ran. */
  unknownDurations = 0
  /** Requests whose units are settled when their true number is known. */
  settled = 0

  /** @param instances of the authorizer, for policies that are not strict. */
  constructor(
    readonly rules: RuleSet,
    instances: number,
    ipv6Prefix: number,
  ) {
    const { policies } = rules.configuration
    this.tally = new Tally((tier, policy) => policyOf(policies, tier, policy))
    this.isStrict = isStrict(policies)
    this.preparer = new Preparer(rules, ipv6Prefix)
    this.limiter = this.isStrict ? new StrictLimiter(this.calls) : new Fleet(instances, this.calls)
  }

  /** Decides one request, in the order of their times. */
  decide(line: LoggedRequest, caller: Caller, asked: RequestClass, memory: CallerMemory): Decided | Promise<Decided> {
    const { prepared, slots } = this.known(line, caller, asked, memory)
    if (prepared.unknownCost) this.unknownCosts++
    const answer = typeof prepared.charges === 'string' ? prepared.charges : this.ask(prepared, line)
    if (answer instanceof Promise) return answer.then((one) => this.counted(slots, line, prepared, one))
    return this.counted(slots, line, prepared, answer)
  }

  /** Holds are named anew for each request, as `reserve` names them. */
  private ask({ charges, holding }: Prepared, { at, durationMs }: LoggedRequest): Answer | Promise<Answer> {
    if (!holding) return this.limiter.decide(charges as readonly Charge[], at)
    const reservation = new Reservation(charges as readonly Charge[], holding.forMs, holding.isSettled, holding.caller)
    const runs = reservation.charges.some(({ policies }) =>
      policies.some(({ written }) => written.algorithm === CONCURRENCY),
    )
    if (runs && durationMs === undefined) this.unknownDurations++
    if (holding.forMs > 0) this.settled++
    return this.limiter.decide(reservation.charges.map(toUnits), at, durationMs)
  }

  private counted(slots: Slots, line: LoggedRequest, prepared: Prepared, answer: Answer | Reason): Decided {
    return { passes: this.tally.add(slots, line.at, answer), prepared, answer }
  }

  private known(line: LoggedRequest, caller: Caller, asked: RequestClass, memory: CallerMemory): Omit<Known, 'next'> {
    const isUsual = !wasRefused(line) && !isPreflight(line)
    const known = isUsual ? memory.get(asked) : undefined
    if (known) return known
    const prepared = this.preparer.prepare(line, caller, asked)
    const made = { asked, prepared, slots: this.tally.slotsFor(caller.name, prepared) }
    if (isUsual && prepared.isLasting) memory.add(made)
    return made
  }
}
