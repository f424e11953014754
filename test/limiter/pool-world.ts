import { VirtualTime } from '../../bench/virtual-time'
import { createLimiter, type Limiter, MemoryStore, type PolicyInput, StoreUnavailableError } from '../../limiter'
import { type Fields, numberOf } from '../../limiter/algorithms/conditional-write'
import { isSlot, slot, slotIndex } from '../../limiter/algorithms/slots'
import { POOL_PREFIX } from '../../limiter/stores/attribute-prefix'
import type { Item, ItemWrite, StateStore } from '../../limiter/stores/store'
import { subjectKey } from '../../limiter/subject-key'
import { seeded } from './fleet'
import { MIDNIGHT } from './limiters'

export const SUBJECT = 'client:big'
const KEY = subjectKey(SUBJECT)

/** How often what goes wrong, of one in all calls. */
export interface Faults {
  readonly requestLost: number
  readonly answerLost: number
  readonly late: number
  readonly copied: number
  readonly sentTwice: number
  /** Of writes to the subject's own item, and to a pool: refused as one too many. */
  readonly hot: number
  readonly hotPool: number
  /** The longest that a call takes that is late, in milliseconds. */
  readonly lateMs: number
}

export const NO_FAULTS: Faults = {
  requestLost: 0,
  answerLost: 0,
  late: 0,
  copied: 0,
  sentTwice: 0,
  hot: 0,
  hotPool: 0,
  lateMs: 0,
}

/** Units that were allowed, asked for and answered within one window; and within half of one. */
interface Allowed {
  readonly within: Map<number, number>
  readonly withinHalf: Map<number, number>
}

/** An instance: frozen until then. */
export interface Instance {
  limiter: Limiter
  frozenUntil: number
  skewMs: number
  /** Units that it has charged or drawn and not put into a pool, by the half of a window in which they were charged. */
  readonly gained: Map<number, number>
  readonly allowed: Allowed
}

export interface Tally extends Allowed {
  allowed: number
  denied: number
  degraded: number
  failed: number
  units: number
}

/** Instances with one store of which calls fail, in virtual time; and a ledger of what the store was charged. */
export class PoolWorld {
  readonly time: VirtualTime
  readonly random: () => number
  readonly store = new MemoryStore()
  faults: Faults = NO_FAULTS
  readonly broken: string[] = []
  /** Each call, in order. */
  readonly asked: string[] = []
  /** Units charged to the own item, by policy and window. */
  readonly charged = new Map<string, number>()
  readonly pooled = { deposited: 0, drawn: 0 }
  readonly tally: Tally = {
    allowed: 0,
    denied: 0,
    degraded: 0,
    failed: 0,
    within: new Map(),
    withinHalf: new Map(),
    units: 0,
  }
  mostPools = 1
  private readonly instances: Instance[] = []
  /** Of the policy with the shortest window. */
  prefix = ''
  /** The time that one of its slots counts. */
  slotMs: number
  /** How long units can be spent after they were charged. */
  heldMs = Number.POSITIVE_INFINITY

  constructor(
    readonly seed: number,
    readonly windowMs = 1000,
  ) {
    this.slotMs = windowMs
    this.random = seeded(seed)
    this.time = new VirtualTime(MIDNIGHT, {
      held: (owner) => {
        const until = (owner as Instance | undefined)?.frozenUntil ?? 0
        return until > this.time.sinceStart ? until : undefined
      },
    })
  }

  instance(policies: readonly PolicyInput[], skewMs = 0, more: object = {}): Instance {
    const allowed: Allowed = { within: new Map(), withinHalf: new Map() }
    const instance = { frozenUntil: 0, skewMs, gained: new Map(), allowed } as unknown as Instance
    instance.limiter = createLimiter({
      store: new Wire(this, instance),
      policies,
      clock: () => Math.floor(this.time.now) + instance.skewMs,
      onStoreError: 'throw',
      ...more,
    })
    this.instances.push(instance)
    return instance
  }

  /** The half of a window that contains an instant. */
  private halfOf(at: number): number {
    return Math.floor((2 * at) / this.windowMs)
  }

  below(count: number): number {
    return Math.floor(this.random() * count)
  }

  /** @param windowMs of the window in which units are counted. */
  async take(instance: Instance, cost: number, refundOneIn = 0): Promise<boolean | undefined> {
    const { tally, time } = this
    const halfWindow = () => this.halfOf(Math.floor(time.now) + instance.skewMs)
    const begun = halfWindow()
    try {
      const decision = await instance.limiter.take(SUBJECT, { cost })
      const ended = halfWindow()
      const window = Math.floor(begun / 2)
      const counts: [of: Map<number, number>, at: number][] = []
      for (const { within, withinHalf } of [tally, instance.allowed]) {
        if (window === Math.floor(ended / 2)) counts.push([within, window])
        if (begun === ended) counts.push([withinHalf, begun])
      }
      if (decision.degraded) tally.degraded++
      else if (decision.allowed) {
        tally.allowed++
        tally.units += cost
        for (const count of counts) more(...count, cost)
        if (refundOneIn > 0 && this.below(refundOneIn) === 0) {
          tally.units -= cost
          for (const count of counts) more(...count, -cost)
          await instance.limiter.refund(SUBJECT, cost, { chargedAt: decision.chargedAt }).catch(() => {})
        }
      } else {
        tally.denied++
        if (!(decision.retryAfterMs > 0 && (decision.retryAfterMs < 1e9 || cost > decision.limit)))
          this.broken.push(`retryAfterMs ${decision.retryAfterMs}`)
      }
      if (!decision.degraded)
        if (!(decision.remaining >= 0 && decision.remaining <= decision.limit && decision.resetAfterMs >= 0))
          this.broken.push(`verdict ${JSON.stringify(decision)} at ${time.sinceStart}`)
      return decision.allowed
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      tally.failed++
      return undefined
    }
  }

  /** Applies a call, and keeps the ledger. */
  async applied<T>(owner: Instance, key: string, write: ItemWrite | undefined, call: () => Promise<T>): Promise<T> {
    const before = await this.store.read(key)
    const answer = await call()
    const after = await this.store.read(key)
    if (write && after !== before) this.record(owner, key, before, after, write.at)
    return answer
  }

  private record(owner: Instance, key: string, before: Item, after: Item, at: number): void {
    for (const [prefix, fields] of Object.entries(after.policies)) {
      if (key === KEY && prefix === this.prefix) this.recordPace(before, fields, at)
      for (const [name, value] of Object.entries(fields)) {
        for (const one of [value].flat())
          if (!Number.isSafeInteger(one)) this.broken.push(`${key} stores ${prefix}${name} = ${one}`)
        if (key !== KEY || prefix === POOL_PREFIX || !isSlot(name)) continue
        const units = (value as number) - numberOf(before.policies[prefix], name)
        if (units <= 0) continue
        more(this.charged, `${prefix} ${name}`, units)
        if (prefix === this.prefix) more(owner.gained, this.halfOf(slotIndex(name) * this.slotMs), units)
      }
    }
    if (key === KEY) this.mostPools = Math.max(this.mostPools, numberOf(after.policies[POOL_PREFIX], 's'))
    else {
      const [was, is] = [before, after].map(({ policies }) => policies[POOL_PREFIX])
      const [left, now] = [numberOf(was, 'l'), numberOf(is, 'l')]
      if (now < 0) this.broken.push(`a pool has ${now} units`)
      const [drawn, put] =
        numberOf(is, 'g') === numberOf(was, 'g')
          ? [Math.max(0, left - now), 0]
          : [0, numberOf(is, 'e') === numberOf(was, 'e') ? Math.max(0, now - left) : now]
      const heldMs = numberOf(is, 'e') - numberOf(is, 'c')
      if (heldMs > this.heldMs) this.broken.push(`a pool has units for ${heldMs} ms`)
      this.pooled.drawn += drawn
      this.pooled.deposited += put
      // what comes too late is lost, whichever window it was charged in
      more(owner.gained, this.halfOf(numberOf(is, 'c')), drawn - (this.time.now < numberOf(is, 'e') ? put : 0))
    }
  }

  /** Of an algorithm without windows. @param at the writer's clock: what was owed is over then, or still to come. */
  private recordPace(before: Item, { t, e }: Fields, at: number): void {
    if (t === undefined) return
    const units = ((t as number) - Math.max(numberOf(before.policies[this.prefix], 't'), 1000 * at)) / (e as number)
    if (units > 0) more(this.charged, this.prefix, units)
  }

  /** From the beginning on, no more is allowed than was there and has come back. */
  judgePace(limit: number): void {
    const { time, tally, windowMs } = this
    const most = limit * (1 + time.sinceStart / windowMs)
    if (tally.units > most) this.broken.push(`${tally.units} units are allowed, ${most} were there or have come back`)
  }

  /** In each window no more is allowed than the limit, and by an instance no more than it has charged and drawn. */
  judgeWindows(limit: number): void {
    for (const [window, units] of this.tally.within)
      if (units > limit) this.broken.push(`${units} of ${limit} units are allowed in window ${window}`)
    for (const { allowed, gained } of this.instances)
      for (const [window, units] of allowed.within) {
        const own = sumOf(gained, 2 * window, 2 * window + 1)
        if (units > own) this.broken.push(`an instance allows ${units} units in window ${window}, and has ${own}`)
      }
  }

  /** In half a window, an instance allows no more than what was charged since some halves before that. */
  private judgeHeld(halves: (half: number) => number): void {
    for (const { allowed, gained } of this.instances)
      for (const [half, units] of allowed.withinHalf) {
        const own = sumOf(gained, half - halves(half), half)
        if (units > own) this.broken.push(`an instance allows ${units} units in half a window, and has ${own}`)
      }
  }

  /** Half a window after a window's beginning, no units are spent that were charged before it. */
  judgeSecondHalves(): void {
    for (const [half, units] of this.tally.withinHalf) {
      if (half % 2 === 0) continue
      const window = (half - 1) / 2
      const charged = this.charged.get(`${this.prefix} ${slot(window)}`) ?? 0
      if (units > charged)
        this.broken.push(`${units} units are allowed late in window ${window}, ${charged} were charged in it`)
    }
    this.judgeHeld((half) => (half % 2 === 1 ? 1 : 2))
  }

  /** In half a window no more is allowed than the limit: it was charged in that half or the one before. */
  judgeHalves(limit: number): void {
    for (const [half, units] of this.tally.withinHalf)
      if (units > limit) this.broken.push(`${units} of ${limit} units are allowed in half a window, ${half}`)
    this.judgeHeld(() => 1)
  }

  /** What is allowed was charged before, and what is drawn was deposited. */
  judgeUnits(): void {
    const charged = [...this.charged.values()].reduce((sum, units) => sum + units, 0)
    if (this.tally.units > charged) this.broken.push(`${this.tally.units} units are allowed, ${charged} were charged`)
    const { deposited, drawn } = this.pooled
    if (drawn > deposited) this.broken.push(`${drawn} units are drawn, ${deposited} were deposited`)
  }
}

/** An instance's way to the store. */
class Wire implements StateStore {
  constructor(
    private readonly world: PoolWorld,
    private readonly owner: Instance,
  ) {}

  write: StateStore['write'] = (key, write) =>
    this.sent(key, () => this.world.applied(this.owner, key, write, () => this.world.store.write(key, write)), true)
  read: StateStore['read'] = (key) => this.sent(key, () => this.world.store.read(key))
  delete: StateStore['delete'] = (key, marks) =>
    this.sent(key, () => this.world.applied(this.owner, key, undefined, () => this.world.store.delete(key, marks)))

  private async sent<T extends object>(key: string, call: () => Promise<T>, isWrite = false): Promise<T> {
    const { time, faults, random } = this.world
    this.world.asked.push(`${isWrite ? 'write' : 'read'} ${key === KEY ? 'the own item' : 'a pool'}`)
    const isHot = isWrite && random() < (key === KEY ? faults.hot : faults.hotPool)
    let chance = random()
    const isFate = (share: number) => {
      chance -= share
      return chance < 0
    }
    const fate = isHot ? undefined : FATES.find((one) => isFate(faults[one]))
    const wayMs = 1 + 4 * random()
    const lateMs = random() * faults.lateMs
    // what the store does, it does while its caller is frozen, too
    const atStore = (ms: number) => new Promise<T>((resolve) => time.after(ms, () => void call().then(resolve), STORE))
    const answer = new Promise<T>((resolve, reject) => {
      const answered = (value: () => void) => time.after(wayMs, value, this.owner)
      if (isHot) return answered(() => reject(new StoreUnavailableError('hot-key', 'too many writes')))
      if (fate === 'requestLost') return
      if (fate === 'late' || fate === 'answerLost') return void atStore(wayMs + (fate === 'late' ? lateMs : 0))
      const first = atStore(wayMs)
      if (fate === 'copied') void atStore(wayMs + lateMs)
      const last =
        fate === 'sentTwice' ? first.then(() => atStore(1)).then((found) => ({ ...found, resent: true })) : first
      return void last.then((found) => answered(() => resolve(found)))
    })
    if (fate !== undefined && fate !== 'copied' && fate !== 'sentTwice')
      if (random() < 0.5) {
        await new Promise<void>((resolve) => time.after(2 * wayMs, () => resolve(), this.owner))
        throw new StoreUnavailableError('timeout', fate)
      }
    return answer
  }
}

function more<K>(map: Map<K, number>, key: K, units: number): void {
  map.set(key, (map.get(key) ?? 0) + units)
}

const sumOf = (map: Map<number, number>, from: number, to: number): number =>
  [...map].reduce((sum, [at, units]) => (at < from || at > to ? sum : sum + units), 0)

const FATES = ['requestLost', 'answerLost', 'late', 'copied', 'sentTwice'] as const
const STORE = { frozenUntil: 0 }
