import { VirtualTime } from '../../bench/virtual-time'
import { type AnyPolicyInput, type Clock, type Decision, type PolicyInput, StoreUnavailableError } from '../../limiter'
import { type CompiledPolicy, compile, distinct } from '../../limiter/compiled-policy'
import { ConfigError, type Mistake } from '../../limiter/errors'
import type { LimiterEvent } from '../../limiter/options'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { type Charge, RateLimiter, type RateLimiterOptions, type RefundOptions } from '../../limiter/rate-limiter'
import type { Meter } from '../../limiter/reservations/meter'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import { toUpdate } from '../../limiter/stores/expressions'
import { MemoryStore } from '../../limiter/stores/memory-store'
import {
  type CallOptions,
  type DeleteOutcome,
  type ItemWrite,
  marksOf,
  type StateStore,
  type WriteOutcome,
} from '../../limiter/stores/store'
import { DYNAMODB, operatorsIn } from '../stores/expression-size'
import { decideHolding, end, type Held, meterOn, unitsOfEach } from './holding'
import type { CallFault, Scenario, Step } from './scenario'

/** 2025-11-21T00:00:00Z: on the edge of every epoch window up to a day. */
const MIDNIGHT = 1_763_683_200_000

/** One release of the library: instances of an old one work beside new ones. */
export interface Library {
  readonly makeLimiter: (
    options: RateLimiterOptions,
  ) => Pick<RateLimiter, 'decide' | 'peek' | 'refund' | 'reset' | 'close'>
  readonly compileAll: (policies: readonly AnyPolicyInput[]) => readonly CompiledPolicy[]
  /** The error by which its own code reports that the store failed. */
  readonly unavailable: (reason: StoreUnavailableError['reason'], message: string) => Error
}

export const NEW: Library = {
  makeLimiter: (options) => new RateLimiter(options),
  compileAll(policies) {
    const issues: Mistake[] = []
    const parsed = parsePolicies(policies, [], issues)
    if (issues.length > 0) throw new Error(issues.join('\n'))
    return distinct(parsed.map((policy) => compile(policy)))
  },
  unavailable: (reason, message) => new StoreUnavailableError(reason, message),
}

/** A request and its outcome. */
export interface Request {
  readonly step: Step
  readonly position: number
  readonly instance: Instance
  keys: readonly string[]
  /** Milliseconds of virtual time since the start. */
  readonly startedAt: number
  readonly startSeq: number
  readonly policies: readonly PolicyInput[]
  /** The difference of the instance's clock when the request began. */
  readonly skewMs: number
  /** Whether the instance's circuit breaker was open. */
  readonly circuitOpen: boolean
  /** One for each of several simultaneous requests. */
  readonly decisions: { readonly decision: Decision; readonly seq: number; readonly endedAt: number }[]
  readonly errors: unknown[]
  /** Of a refund: the request whose units it refunds. */
  refunds?: Request
  refundOptions?: RefundOptions
  /** What each of its decisions holds that was allowed. */
  readonly held: Held[]
  /** Of a settlement or a release: whose, and of which of its decisions. */
  ends?: { readonly request: Request; readonly held: Held }
  /** Of a settlement or a release: whether it ended anything. */
  ended?: boolean
  /** Of a settlement: what the request used in the end. */
  used?: number
  /** Of what a meter takes: whose reservation it is beyond. */
  debits?: Request
  /** The subject that the reservation is stored with, where it is not the first of `keys`. */
  caller?: string
  /** The names of the policies that are asked. @default all */
  asked?: ReadonlySet<string>
  /** The policy on running requests, as the instance had it. */
  readonly running: AnyPolicyInput | undefined
  /** Of policies that count requests. */
  units: number
  /** Of those that count another cost, by its name. */
  costs: Readonly<Record<string, number>> | undefined
  /** The attribute prefix of each policy. */
  readonly prefixes: readonly string[]
  /** Absent if its instance crashed before the end. */
  endedAt?: number
  endSeq?: number
  /** Calls to the store that were made for it. */
  readonly calls: Call[]
}

/**
 * What a request takes of a policy: 1 unit of a cost that it does not name, unless it takes none of requests either.
 */
export const takenBy = (
  { units, costs, asked }: Pick<Request, 'units' | 'costs' | 'asked'>,
  { name, cost }: PolicyInput,
): number => {
  if (asked && !asked.has(name)) return 0
  return cost === undefined ? units : (costs?.[cost] ?? Math.min(units, 1))
}

/** Whether a request takes nothing of any policy, and no slot. */
export const isLook = (request: Request): boolean =>
  (!request.running || request.step.do === 'peek') && request.policies.every((policy) => takenBy(request, policy) === 0)

/** Whether an entry wipes a subject's item: it is deleted, or emptied where units are reserved. */
export const isReset = ({ call: { kind, write } }: Entry): boolean =>
  kind === 'delete' || resetMoment(write) !== undefined

/** Since when units count in an item that this write empties. */
export function resetMoment(write: ItemWrite | undefined): number | undefined {
  const own = write?.parts.find(({ prefix }) => prefix === RESERVATIONS.prefix)
  const moved = own?.write.assignments.find((one) => 'set' in one && one.field === 'b')
  return moved && 'set' in moved ? moved.set : undefined
}

/** A call to the store. */
export interface Call {
  readonly kind: 'write' | 'read' | 'delete'
  readonly key: string
  readonly instance: Instance
  readonly request: Request | undefined
  readonly fate: CallFault
  readonly sentAt: number
  readonly write?: ItemWrite
}

/** An entry of the store's journal. */
export interface Entry {
  readonly seq: number
  readonly call: Call
  readonly at: number
  /** Of a deletion: `applied` if there was an item. */
  readonly outcome: 'applied' | 'refused' | 'already-applied'
  /** Whether the same call had arrived before. */
  readonly copy: boolean
}

/** One process, from its start until it crashes. */
export interface Instance {
  readonly place: number
  readonly epoch: number
  readonly startedAt: number
  readonly library: Library
  readonly old: boolean
  limiter: Pick<RateLimiter, 'decide' | 'peek' | 'refund' | 'reset' | 'close'>
  skewMs: number
  percent: number
  readonly events: LimiterEvent[]
  readonly fates: CallFault[]
  /** When calls last failed, by virtual time. */
  failedAt: number
  outageUntil: number
  frozenUntil: number
  dead: boolean
  request: Request | undefined
  /** Of reservations, by what holds them, and what they have debited. */
  readonly meters: Map<Held, { readonly meter: Meter; used: number; isSettled?: boolean }>
  busy: Promise<unknown>
}

/** All that happened in a scenario. */
export interface Chronicle {
  readonly scenario: Scenario
  readonly start: number
  readonly instances: readonly Instance[]
  readonly requests: readonly Request[]
  readonly entries: readonly Entry[]
  /** In words, in order. */
  readonly lines: readonly { readonly at: number; readonly text: string }[]
  /** Errors that should not have been thrown. */
  readonly thrown: readonly string[]
  /** Writes that exceed DynamoDB's limits. */
  readonly tooLarge: readonly string[]
  readonly calls: number
  /** By virtual time. */
  readonly endedAt: number
}

export interface SimulationOptions {
  readonly store?: StateStore
  readonly libraries?: { readonly new: Library; readonly old?: Library }
  /** The same items as old instances read and write them. @default the same store */
  readonly oldStore?: StateStore
  /** Chooses which of so many calls under way arrives next. @default the one sent first */
  readonly next?: (underWay: number) => number
  /** The fault of the call with this number, on any instance. */
  readonly meets?: { readonly call: number; readonly fate: CallFault }
  /** A prefix of each subject, for engines that many scenarios share. */
  readonly prefix?: string
}

const LATE_MS = 450
const COPY_MS = 40
const LATE_COPY_MS = 900

/** Runs a scenario in virtual time. */
export class Simulation {
  private readonly time: VirtualTime
  private readonly store: StateStore
  private readonly instances: Instance[] = []
  private readonly all: Instance[] = []
  private readonly requests: Request[] = []
  private readonly entries: Entry[] = []
  private readonly lines: { at: number; text: string }[] = []
  private readonly thrown: string[] = []
  private readonly oversized: string[] = []
  private readonly compiled = new Map<string, readonly CompiledPolicy[]>()
  private calls = 0
  /** Calls that were sent and have not arrived, if their order is chosen. */
  private readonly underWay: (() => Promise<void>)[] = []

  constructor(
    private readonly scenario: Scenario,
    private readonly options: SimulationOptions = {},
  ) {
    const { start = MIDNIGHT } = scenario
    this.time = new VirtualTime(start, { held: (owner) => this.heldUntil(owner as Instance | undefined) })
    this.store = options.store ?? new MemoryStore()
    const { next } = options
    if (next) {
      this.time.idle = () => {
        if (this.underWay.length === 0) return false
        const [arrival] = this.underWay.splice(this.underWay.length > 1 ? next(this.underWay.length) : 0, 1)
        this.time.after(1, arrival!, undefined)
        return true
      }
    }
  }

  async run(): Promise<Chronicle> {
    const { time, scenario } = this
    const giveBack = time.install(scenario.seed)
    try {
      for (const [place] of scenario.instances.entries()) this.begin(place)
      let at = 0
      for (const [position, step] of scenario.steps.entries()) {
        at += step.after
        time.after(at, () => this.perform(step, position), undefined)
      }
      await time.runUntil(at + 20_000)
    } finally {
      giveBack()
    }
    return {
      scenario,
      start: time.start,
      instances: this.all,
      requests: this.requests,
      entries: this.entries,
      lines: this.lines,
      thrown: this.thrown,
      tooLarge: this.oversized,
      calls: this.calls,
      endedAt: this.time.sinceStart,
    }
  }

  private heldUntil(owner: Instance | undefined): number | undefined {
    if (!owner) return undefined
    if (owner.dead) return Infinity
    return owner.frozenUntil > this.time.sinceStart ? owner.frozenUntil : undefined
  }

  private begin(place: number): void {
    const { skewMs, old = false } = this.scenario.instances[place]!
    const { libraries = { new: NEW } } = this.options
    const library = old ? libraries.old! : libraries.new
    const before = this.instances[place]
    const instance: Instance = {
      place,
      epoch: this.all.length,
      startedAt: this.time.sinceStart,
      library,
      old,
      limiter: undefined as never,
      skewMs: before?.skewMs ?? skewMs,
      percent: before?.percent ?? 100,
      events: [],
      fates: [],
      failedAt: -Infinity,
      outageUntil: before?.outageUntil ?? -Infinity,
      frozenUntil: -Infinity,
      dead: false,
      request: undefined,
      meters: new Map(),
      busy: Promise.resolve(),
    }
    const clock: Clock = () => Math.floor(this.time.now) + instance.skewMs
    const { denialTtlMs, localShare = 0.5, onStoreError = 'local' } = this.scenario
    instance.limiter = library.makeLimiter({
      store: this.storeOf(instance),
      clock,
      onStoreError,
      localShare,
      ...(denialTtlMs !== undefined && { denialTtlMs }),
      onEvent: (event) => instance.events.push(event),
    })
    this.instances[place] = instance
    this.all.push(instance)
  }

  /** The policies of an instance at this moment. Always the same array for the same numbers. */
  private policiesOf({ percent, library }: Instance): {
    written: readonly PolicyInput[]
    running: AnyPolicyInput | undefined
    compiled: readonly CompiledPolicy[]
  } {
    const { policies, running: asWritten } = this.scenario
    const written = changed(policies, percent)
    const [running] = changed(asWritten ? [asWritten] : [], percent)
    const id = `${library === NEW} ${percent}`
    const compiled = this.compiled.get(id) ?? library.compileAll([...written, ...(running ? [running] : [])])
    this.compiled.set(id, compiled)
    return { written, running, compiled }
  }

  private keyOf(subject: number): string {
    return `${this.options.prefix ?? ''}subject-${'abcdefgh'[subject]}`
  }

  private perform(step: Step, position: number): void {
    const instance = this.instances[step.on]!
    switch (step.do) {
      case 'crash':
        instance.dead = true
        this.say(`instance ${step.on} crashes`)
        this.begin(step.on)
        return
      case 'freeze':
        instance.failedAt = this.time.sinceStart + step.ms
        instance.frozenUntil = Math.max(instance.frozenUntil, this.time.sinceStart + step.ms)
        this.say(`instance ${step.on} is frozen for ${step.ms} ms`)
        return
      case 'change':
        instance.percent = step.percent
        this.say(`instance ${step.on} has other limits: ${step.percent} %`)
        return
      case 'outage':
        instance.outageUntil = this.time.sinceStart + step.ms
        this.say(`the store is away from instance ${step.on} for ${step.ms} ms`)
        return
      case 'clock':
        // Between two requests: a clock that is set in the middle of one is another scenario.
        instance.busy = instance.busy.then(() => {
          instance.skewMs = step.skewMs
          this.say(`instance ${step.on} has its clock set to ${step.skewMs} ms`)
        })
        return
      case 'ttl':
        return void this.time.after(0, () => this.expire(), undefined)
      default:
        // One request at a time, as in Lambda: the next waits.
        instance.busy = instance.busy.then(
          () =>
            new Promise<void>((done) => {
              this.time.after(0, () => void this.request(step, position, instance).finally(done), instance)
            }),
        )
    }
  }

  private async expire(): Promise<void> {
    for (const subject of [0, 1, 2]) {
      const key = this.keyOf(subject)
      const item = await this.store.read(key)
      if (item.expiresAtSeconds > 0 && item.expiresAtSeconds * 1000 < this.time.now) {
        await this.store.delete(key, marksOf(item))
        this.say(`the item of ${key} expires`)
      }
    }
  }

  private async request(step: Step, position: number, instance: Instance): Promise<void> {
    const { written, running, compiled } = this.policiesOf(instance)
    const of = step.do === 'takeAll' ? [...new Set(step.of)] : 'of' in step ? [step.of] : []
    const keys = of.map((subject) => this.keyOf(subject))
    const request: Request = {
      step,
      position,
      instance,
      keys,
      startedAt: this.time.sinceStart,
      startSeq: this.entries.length,
      policies: written,
      skewMs: instance.skewMs,
      circuitOpen: isOpen(instance.events),
      decisions: [],
      errors: [],
      held: [],
      running,
      units: 'cost' in step ? step.cost : 0,
      costs: 'costs' in step ? step.costs : undefined,
      prefixes: compiled.map(({ prefix }) => prefix),
      calls: [],
    }
    if (step.do === 'refund' && !this.findRefund(request)) return
    if ((step.do === 'settle' || step.do === 'release' || step.do === 'debit') && !this.findHeld(request, step)) return
    if (step.do === 'takeAll' && step.caller !== undefined) request.caller = this.keyOf(step.caller)
    this.requests.push(request)
    instance.request = request
    instance.fates.splice(0, Infinity, ...(step.faults ?? []))
    const { limiter } = instance
    const charge = (key: string) => ({ key, policies: compiled, cost: request.units, costs: request.costs })
    const answered = (decision: Decision) => {
      request.decisions.push({ decision, seq: this.entries.length, endedAt: this.time.sinceStart })
      return decision
    }
    const failed = (error: unknown) => {
      request.errors.push(error)
    }
    const decide = async (charges: readonly Charge[], forMs: number | undefined) => {
      if (forMs === undefined && !running) return limiter.decide(charges)
      const held = await decideHolding(limiter as RateLimiter, charges, forMs, request.caller)
      if (held.decision.allowed) request.held.push(held)
      return held.decision
    }
    switch (step.do) {
      case 'take':
        await Promise.all(
          Array.from({ length: step.times ?? 1 }, () =>
            decide([charge(keys[0]!)], step.reserve).then(answered, failed),
          ),
        )
        break
      case 'takeAll':
        await decide(keys.map(charge), step.reserve).then(answered, failed)
        break
      case 'debit':
        await this.debit(request, compiled, step.used).catch(failed)
        break
      case 'settle':
      case 'release': {
        const { held } = request.ends!
        const metered = step.do === 'settle' ? instance.meters.get(held) : undefined
        if (step.do === 'settle') request.used = metered?.used ?? step.used
        const ending = metered ? metered.meter.settle() : end(limiter as RateLimiter, compiled, held, request.used)
        await ending.then((ended) => {
          request.ended = ended
          if (metered) metered.isSettled = true
        }, failed)
        break
      }
      case 'peek':
        await limiter.peek([charge(keys[0]!)]).then(answered, failed)
        break
      case 'refund':
        await limiter.refund(charge(keys[0]!), request.refundOptions).catch(failed)
        break
      case 'reset':
        await limiter.reset(keys[0]!).catch(failed)
        break
      case 'close':
        await limiter.close().catch(failed)
    }
    request.endedAt = this.time.sinceStart
    request.endSeq = this.entries.length
    for (const error of request.errors) {
      const expected =
        (error as Error)?.name === 'StoreUnavailableError' &&
        step.do !== 'take' &&
        step.do !== 'takeAll' &&
        step.do !== 'close'
      if (!expected)
        this.thrown.push(`${step.do} of step ${position} threw ${(error as Error)?.stack ?? String(error)}`)
    }
    this.say(told(request), request.startedAt)
    instance.request = undefined
  }

  /** Each call that a meter makes is a request of its own. */
  private async debit(request: Request, own: readonly CompiledPolicy[], used: number): Promise<void> {
    const { instance, ends, policies: counted } = request
    const { held, request: reserving } = ends!
    const limiter = instance.limiter as RateLimiter
    const decide = async (charges: readonly Charge[]): Promise<Decision> => {
      const { cost, costs, policies } = charges[0]!
      const debit = instance.request!
      const part: Request = {
        ...debit,
        policies: counted, // which the meter was begun with
        step: { ...debit.step, do: charges.length > 1 ? 'takeAll' : 'take', cost } as unknown as Step,
        keys: charges.map(({ key }) => key),
        startedAt: this.time.sinceStart,
        startSeq: this.entries.length,
        decisions: [],
        ends: undefined,
        debits: reserving,
        errors: [],
        units: cost,
        costs,
        asked: new Set(policies.map(({ name }) => name)),
        calls: [],
      }
      this.requests.push(part)
      instance.request = part
      const decision = await limiter.decide(charges)
      part.decisions.push({ decision, seq: this.entries.length, endedAt: this.time.sinceStart })
      part.endedAt = this.time.sinceStart
      part.endSeq = this.entries.length
      this.say(told(part), part.startedAt)
      instance.request = debit
      return decision
    }
    const metered = instance.meters.get(held) ?? { meter: meterOn(limiter, own, held.token!, decide), used: 0 }
    instance.meters.set(held, metered)
    metered.used += used
    await metered.meter.debit(unitsOfEach(held.token!, used)!).catch((error) => {
      if (!(metered.isSettled && error instanceof ConfigError)) throw error
      metered.used -= used // which nothing charges any more
    })
  }

  /** Only what was really taken is given back, and that once. */
  private findRefund(request: Request): boolean {
    const { step, keys } = request
    if (step.do !== 'refund') return false
    const { withTime } = step
    const isAdmitted = ({ decision }: Request['decisions'][number]) => decision.allowed
    const takes = this.requests.filter(
      ({ step, keys: [key], decisions, debits }) =>
        step.do === 'take' &&
        !debits &&
        (step.reserve === undefined || withTime) &&
        key === keys[0] &&
        decisions.some(isAdmitted),
    )
    const refunded = new Set(this.requests.map(({ refunds }) => refunds))
    const take = takes.filter((one) => !refunded.has(one)).at(-1 - step.back)
    if (!take) return false
    const first = take.decisions.find(isAdmitted)!
    request.refunds = take
    request.units = take.units
    request.costs = take.costs
    const { chargedAt, delayMs } = first.decision
    if (step.withTime) request.refundOptions = { chargedAt, delayMs }
    return true
  }

  /** What was held is settled and released as often as the scenario says. */
  private findHeld(request: Request, { back }: { readonly back: number }): boolean {
    const holding = this.requests.filter(({ keys, held }) => keys.includes(request.keys[0]!) && held.length > 0)
    const found = holding.at(-1 - back)
    if (!found) return false
    const [held] = found.held as [Held]
    if (request.step.do === 'debit' && (held.token === undefined || !unitsOfEach(held.token, 0))) return false
    request.ends = { request: found, held }
    request.keys = found.keys
    request.caller = found.caller
    return true
  }

  private say(text: string, at = this.time.sinceStart): void {
    this.lines.push({ at, text })
  }

  /** The store as one instance reaches it. */
  private storeOf(instance: Instance): StateStore {
    const store = (instance.old && this.options.oldStore) || this.store
    return {
      write: (key, write, options) => {
        if (!instance.old) this.measure(write)
        return this.call({ kind: 'write', key, write }, instance, options, () => store.write(key, write))
      },
      read: (key, options) => this.call({ kind: 'read', key }, instance, options, () => store.read(key)),
      delete: (key, whileMarks, options) =>
        this.call({ kind: 'delete', key }, instance, options, () => store.delete(key, whileMarks)),
    }
  }

  private measure(write: ItemWrite): void {
    const { ConditionExpression: condition, UpdateExpression: update } = toUpdate(write)
    const operators = Math.max(operatorsIn(condition, 'condition'), operatorsIn(update, 'update'))
    const bytes = Math.max(condition.length, update.length)
    if (operators > DYNAMODB.operators || bytes > DYNAMODB.bytes)
      this.oversized.push(`a write has ${operators} operators and ${bytes} bytes`)
  }

  private call<Answer>(
    { kind, key, write }: Pick<Call, 'kind' | 'key' | 'write'>,
    instance: Instance,
    _options: CallOptions | undefined,
    apply: () => Promise<Answer>,
  ): Promise<Answer> {
    const { time } = this
    const away = instance.outageUntil > time.sinceStart
    const { meets, next } = this.options
    const planned = meets?.call === this.calls ? meets.fate : (instance.fates.shift() ?? 'ok')
    const fate = away ? 'unreachable' : planned
    const isOf = (one: Request) => one.step.do !== 'debit' && (one.keys.includes(key) || one.caller === key)
    const now = instance.request && (isOf(instance.request) || instance.request.step.do === 'close')
    const request = now ? instance.request : this.requests.findLast((one) => one.instance === instance && isOf(one))
    const call: Call = { kind, key, instance, request, fate, sentAt: time.sinceStart, write }
    const [there, back] = [2, 2]
    this.calls++
    request?.calls.push(call)
    if (fate !== 'ok') instance.failedAt = Math.max(instance.failedAt, time.sinceStart)

    return new Promise<Answer>((resolve, reject) => {
      const fail = (reason: StoreUnavailableError['reason']) =>
        time.after(there + back, () => reject(instance.library.unavailable(reason, `the call met: ${fate}`)), instance)
      const arrive = (afterMs: number, copy: boolean, then: (answer: Answer) => void) => {
        const arrival = async () => then(await this.applied(call, copy, apply))
        if (next && afterMs === there) this.underWay.push(arrival)
        else time.after(afterMs, arrival, undefined)
      }
      const answer = (value: Answer, ms: number) => time.after(ms, () => resolve(value), instance)
      switch (fate) {
        case 'ok':
          return void arrive(there, false, (value) => answer(value, back))
        case 'request lost':
          return
        case 'answer lost':
          return void arrive(there, false, () => {})
        case 'answer late':
          return void arrive(there, false, (value) => answer(value, LATE_MS))
        case 'arrives late':
          return void arrive(LATE_MS, false, (value) => answer(value, back))
        case 'copied':
        case 'copied late':
          arrive(there, false, (value) => answer(value, back))
          return void arrive(there + (fate === 'copied' ? COPY_MS : LATE_COPY_MS), true, () => {})
        case 'reset after':
          arrive(there, false, () => {})
          return void fail('unreachable')
        case 'hot':
          return void fail('hot-key')
        default:
          return void fail(fate)
      }
    })
  }

  /**
   * What the store does with a call that has arrived. A real engine may take its time: virtual time stands still
   * meanwhile.
   */
  private async applied<Answer>(call: Call, copy: boolean, apply: () => Promise<Answer>): Promise<Answer> {
    const answer = await apply()
    if (call.kind === 'read') return answer
    const { kind, item } = answer as WriteOutcome | DeleteOutcome
    const outcome = kind === 'deleted' ? (Object.keys(item.marks).length > 0 ? 'applied' : 'refused') : kind
    this.entries.push({ seq: this.entries.length, call, at: this.time.sinceStart, outcome, copy })
    const which = call.kind === 'delete' ? 'deletion' : `write ${call.write!.id.mark}:${call.write!.id.value % 1000}`
    this.say(`  the store ${outcome === 'applied' ? 'applies' : outcome === 'refused' ? 'refuses' : 'knows'} ${copy ? 'a copy of ' : ''}a ${which} \
by instance ${call.instance.place} to ${call.key}${call.fate === 'ok' ? '' : ` (${call.fate})`}`)
    return answer
  }
}

function isOpen(events: readonly LimiterEvent[]): boolean {
  const last = events.findLast(({ kind }) => kind === 'circuit')
  return last?.kind === 'circuit' && last.state === 'open'
}

/** The same policies with other numbers. */
function changed<P extends AnyPolicyInput>(policies: readonly P[], percent: number): readonly P[] {
  if (percent === 100) return policies
  const part = (units: number) => Math.max(1, Math.floor((units * percent) / 100))
  return policies.map((policy) => ({
    ...policy,
    limit: part(policy.limit),
    ...(policy.burst !== undefined && { burst: part(policy.burst) }),
  }))
}

function told({
  step,
  instance,
  keys,
  decisions,
  errors,
  units,
  costs,
  refundOptions: { chargedAt } = {},
  ends,
  ended,
  used: settledTo,
}: Request): string {
  const who = `instance ${instance.place}${instance.old ? ' (old)' : ''}`
  const outcomes = decisions.map(({ decision: { allowed, degraded, policies, retryAfterMs } }) => {
    const left = Object.entries(policies).map(([name, { remaining }]) => `${name} ${remaining}`)
    const what = allowed ? 'allowed' : `denied, retry in ${retryAfterMs} ms`
    return `${what}${degraded ? ', degraded' : ''} [${left.join(', ')} left]`
  })
  const ending = ended === undefined ? [] : [ended ? 'ended' : 'nothing to end']
  const told =
    [...outcomes, ...ending, ...errors.map((error) => `threw ${(error as Error)?.message}`)].join('; ') || 'done'
  const what = {
    take: 'takes',
    takeAll: 'takes from each',
    peek: 'peeks at',
    refund: 'gives back',
    reset: 'resets',
    debit: 'debits',
    settle: 'settles',
    release: 'releases',
    close: 'closes',
  }[step.do as 'take']
  const hits = step.faults ? ` (its calls meet: ${step.faults.join(', ')})` : ''
  const at = chargedAt === undefined ? '' : ` charged at ${chargedAt}`
  if (ends) {
    const used = 'used' in step ? ` ${step.do === 'settle' ? 'to' : 'by'} ${settledTo ?? step.used}` : ''
    return `${who} ${what} step ${ends.request.position}${used} of ${keys.join(', ')}${hits}: ${told}`
  }
  return `${who} ${what} ${step.do === 'reset' ? '' : `${units}${costs ? ` and ${JSON.stringify(costs)}` : ''} `}of ${keys.join(', ')}${at}${hits}: ${told}`
}
