import type { Decision, PolicyInput, Standing } from '../../limiter'
import { REFUND_MARK } from '../../limiter/stores/store'
import { keepsBounds } from './bounds'
import { holdsLaws, isDeniedBySlots } from './holds-laws'
import type { Breach, Law } from './laws'
import { distinct, NOTHING, type Numbers, type Quota, quotaOf, type Tally } from './quotas'
import { type Call, type Chronicle, type Entry, isLook, isReset, type Request, takenBy } from './simulation'
import { degradedOnes, localShares } from './without-store'

/** All breaches of laws in a chronicle. */
export function judge(chronicle: Chronicle): Breach[] {
  return [
    ...new StrictJudge(chronicle).breaches(),
    ...holdsLaws(chronicle),
    ...keepsBounds(chronicle),
    ...answers(chronicle),
    ...degradedOnes(chronicle),
    ...localShares(chronicle),
  ]
}

/** The states that an item may have at one moment: for each policy, every tally that the laws permit. */
interface Moment {
  readonly seq: number
  readonly at: number
  readonly tallies: readonly (readonly Tally[])[]
}

const MOST_TALLIES = 40

/** A refund of a denied request that takes longer goes on beside the next requests. */
const PATIENCE_MS = 250

/**
 * Compares each decision of `strict` policies with the exact model, in the order in which the store applied the writes.
 *
 * From the store's journal it reads which write was applied when, and nothing else: the number of units follows from
 * the request.
 */
class StrictJudge {
  private readonly found: Breach[] = []
  private readonly moments = new Map<string, Moment[]>()
  /** Keys whose state is unknown from this entry on. */
  private readonly blurred = new Map<string, number>()
  private readonly quotas: readonly Quota[]
  private readonly largest: readonly Numbers[]
  private readonly mixed: boolean
  private readonly clocksSet: boolean
  /** Applied writes that recorded a denial. */
  private readonly records = new Set<Entry>()
  /** Applied writes that were charges, by request. */
  private readonly charges = new Map<
    Request,
    { readonly key: string; readonly entry: Entry; readonly exact: boolean }[]
  >()

  constructor(private readonly chronicle: Chronicle) {
    const { scenario, requests } = chronicle
    this.quotas = scenario.policies.map(quotaOf)
    const percents = [100, ...scenario.steps.flatMap((step) => (step.do === 'change' ? [step.percent] : []))]
    this.mixed = new Set(percents).size > 1
    this.clocksSet = scenario.steps.some((step) => step.do === 'clock')
    this.largest = scenario.policies.map((policy, i) => {
      const all = [policy, ...requests.map(({ policies }) => policies[i]!)].map((one) => this.quotas[i]!.numbersOf(one))
      return { limit: Math.max(...all.map(({ limit }) => limit)), burst: Math.max(...all.map(({ burst }) => burst)) }
    })
  }

  breaches(): Breach[] {
    const { scenario, entries, requests } = this.chronicle
    if (scenario.policies.some(({ consistency = 'strict' }) => consistency !== 'strict')) return []
    for (const { calls } of requests) {
      // and is leased from then on, which another law checks
      for (const { fate, key } of calls) if (fate === 'hot') this.blur(key, -1)
    }
    if (this.mixed && this.quotas.some(({ sharesCounts }) => !sharesCounts) && this.clocksDiffer()) {
      // a clock that is ahead does not owe units
      for (const { key } of requests.flatMap(({ calls }) => calls)) this.blur(key, -1)
    }
    if (this.mixed && this.quotas.some(({ sharesCounts, deny }) => deny && !sharesCounts)) {
      // a denial by a smaller burst is written down
      for (const { key } of requests.flatMap(({ calls }) => calls)) this.blur(key, -1)
    }
    for (const { step, keys, startedAt, endedAt = Infinity, endSeq = 0 } of requests) {
      if (step.do === 'takeAll' && endedAt - startedAt > PATIENCE_MS) for (const key of keys) this.blur(key, endSeq - 1)
    }
    for (const entry of entries) this.follow(entry)
    for (const request of requests) this.check(request)
    return this.found
  }

  private clocksDiffer(): boolean {
    const { instances } = this.chronicle.scenario
    return this.clocksSet || instances.some(({ skewMs }) => skewMs !== instances[0]!.skewMs)
  }

  private breach(law: Law, at: number, text: string): void {
    this.found.push({ law, at, text })
  }

  private momentsOf(key: string): Moment[] {
    let moments = this.moments.get(key)
    if (!moments) {
      moments = [{ seq: -1, at: -Infinity, tallies: this.quotas.map(() => [NOTHING]) }]
      this.moments.set(key, moments)
    }
    return moments
  }

  private move(entry: Entry, tallies: readonly (readonly Tally[])[]): void {
    const { key } = entry.call
    const different = tallies.map(distinct)
    if (different.some(({ length }) => length > MOST_TALLIES)) this.blur(key, entry.seq)
    this.momentsOf(key).push({
      seq: entry.seq,
      at: entry.at,
      tallies: different.map((some) => some.slice(0, MOST_TALLIES)),
    })
  }

  /** Applies a write of the store to the model. */
  private follow(entry: Entry): void {
    const { call, outcome } = entry
    if (outcome !== 'applied') return
    const { request, key } = call
    if (isReset(entry)) this.followReset(entry)
    else if (request && !isHolderAlone(request, key) && !changesNothing(entry)) this.followWrite(entry, request, key)
  }

  private followWrite(entry: Entry, request: Request, key: string): void {
    const { step } = request
    if (step.do === 'settle' || step.do === 'release') {
      if (changesUnits(entry)) this.blur(key, entry.seq) // which settled-units.ts follows
      return
    }
    const isPhantom =
      entry.copy &&
      !this.chronicle.entries.some(
        ({ seq, call, outcome }) => seq < entry.seq && call === entry.call && outcome === 'applied',
      )
    const before = this.appliedBefore(entry)
    const again = this.chronicle.entries.find(
      ({ seq, outcome, call: { key: other, kind, write } }) =>
        seq < entry.seq &&
        outcome === 'applied' &&
        kind === 'write' &&
        other === key &&
        sameId(write!.id, entry.call.write!.id),
    )
    const burst = step.do === 'take' && step.times !== undefined
    // each request makes its own write
    const onesOwn = askedOf(request).some(({ countDenied, blockFor }) => countDenied || blockFor)
    if (this.hasDebts(entry)) this.blur(key, entry.seq) // which are sent in writes of their own
    if (burst && isDisturbed(request)) this.blur(key, entry.seq)

    if (isPhantom)
      this.blur(key, entry.seq) // a copy of a write that was refused at first belongs to no request now
    else if (again) this.followCopy(entry, again)
    else if (step.do === 'refund') {
      if (givesBack(entry)) this.followRefund(entry, before, request.refundOptions?.chargedAt ?? undefined)
    } else if (step.do === 'takeAll' && before.length === 0 && givesBack(entry) && this.wasReset(key, -1, entry.seq))
      this.blur(key, entry.seq) // of a denied request, whose charge is wiped
    else if (burst && !onesOwn) this.followBurst(entry, request, before.length)
    else if (burst || before.length === 0) this.followCharge(entry, request)
    else if (this.isOverwritten(before[0]!, entry.seq))
      this.blur(key, entry.seq) // and counts twice, as documented
    // After the charge come only purges, and a refund if another subject denied.
    else if (step.do === 'takeAll' && givesBack(entry))
      this.followRefund(entry, before.slice(1), before[0]!.call.write!.at)
  }

  /** Whether this instance has admitted requests without the store before. */
  private hasDebts({ seq: since, call: { key, instance } }: Entry): boolean {
    return this.chronicle.requests.some(
      (request) =>
        request.instance === instance &&
        request.keys.includes(key) &&
        request.decisions.some(({ decision, seq }) => seq <= since && decision.degraded && decision.allowed),
    )
  }

  /** Whether the same request has made other writes. */
  private goesOn({ seq: since, call: { request, key } }: Entry): boolean {
    return this.chronicle.entries.some(
      ({ seq, outcome, call }) => seq > since && outcome === 'applied' && call.request === request && call.key === key,
    )
  }

  private appliedBefore(entry: Entry): Entry[] {
    const { request, key } = entry.call
    const wiped = this.chronicle.entries.findLast(
      (one) => one.seq < entry.seq && one.outcome === 'applied' && one.call.key === key && isReset(one),
    )
    const refunds = request!.step.do === 'refund'
    return this.chronicle.entries
      .filter(
        ({ seq, outcome, call }) =>
          seq < entry.seq &&
          seq > (wiped?.seq ?? -1) &&
          outcome === 'applied' &&
          call.request === request &&
          call.key === key,
      )
      .filter((one) => !changesNothing(one) && !this.records.has(one) && (!refunds || givesBack(one)))
  }

  private numbersOf(request: Request): Numbers[] {
    return this.quotas.map((quota, i) =>
      this.mixed && !quota.sharesCounts ? this.largest[i]! : quota.numbersOf(request.policies[i]!),
    )
  }

  /** Whether a policy has room for what the request takes of it. */
  private fits(i: number, tally: Tally, numbers: Numbers, request: Request, now: number): boolean {
    const units = takenBy(request, request.policies[i]!)
    return units === 0
      ? !isLook(request) || isReserved(request) || this.quotas[i]!.room(tally, numbers, 0, now)
      : this.quotas[i]!.room(tally, numbers, units, now)
  }

  /** A policy's state after the request; it is not asked where the request takes nothing of it. */
  private charged(i: number, tally: Tally, numbers: Numbers, request: Request, now: number): Tally {
    const units = takenBy(request, request.policies[i]!)
    return units === 0 ? tally : this.quotas[i]!.charge(tally, numbers, units, now)
  }

  /** The same after a denial that is written down. */
  private denied(i: number, tally: Tally, numbers: Numbers, request: Request, now: number): Tally {
    const units = takenBy(request, request.policies[i]!)
    return units === 0 ? tally : this.quotas[i]!.deny!(tally, numbers, units, now)
  }

  private followCharge(entry: Entry, request: Request): void {
    const { key, write } = entry.call
    const now = write!.at
    const numbers = this.numbersOf(request)
    const { tallies } = this.momentsOf(key).at(-1)!
    const hasRoom = (i: number) => (tally: Tally) => this.fits(i, tally, numbers[i]!, request, now)
    const fitting = tallies.map((some, i) => some.filter(hasRoom(i)))
    const nonBlocking = request.policies.map(({ action }) => action === 'observe' || action === 'deprioritize')
    const full = fitting.flatMap((some, i) => (some.length === 0 && !nonBlocking[i] ? [i] : []))
    const { isDenied, isAllowed } = outcomeOf(request)
    const mayRecord = this.quotas.flatMap(({ deny }, i) => (deny && !tallies[i]!.every(hasRoom(i)) ? [i] : []))
    // either charged or recorded
    if (mayRecord.length > 0 && full.length === 0 && !isDenied && !isAllowed) this.blur(key, entry.seq)
    if (mayRecord.length > 0 && (isDenied || (full.length > 0 && (!isAllowed || this.goesOn(entry))))) {
      this.records.add(entry)
      if (this.mixed) this.blur(key, entry.seq) // with a larger limit it may not have been denied
      const noted = tallies.map((some, i) => {
        if (!mayRecord.includes(i)) return some
        const denying = some.filter((tally) => !hasRoom(i)(tally))
        const recorded = denying.map((tally) => this.denied(i, tally, numbers[i]!, request, now))
        // or another policy denied it
        return this.quotas.length === 1 ? recorded : [...some.filter(hasRoom(i)), ...recorded]
      })
      this.move(entry, noted)
      return
    }
    if (full.length === 0) {
      const after = fitting.map((some, i) =>
        some.length > 0 ? some.map((tally) => this.charged(i, tally, numbers[i]!, request, now)) : tallies[i]!,
      )
      this.note(request, entry, true)
      this.move(entry, this.asTold(after, request, numbers, now))
      return
    }
    if (!this.isBlurred(key)) {
      const names = full.map((i) => `"${request.policies[i]!.name}"`).join(' and ')
      this.breach(
        'never over the limit',
        entry.at,
        `${unitsText(request)} of ${key} were charged at ${now} to ${names}, where there was no room for them`,
      )
    }
    this.note(request, entry, false)
    this.move(
      entry,
      tallies.map((some, i) => some.map((tally) => this.charged(i, tally, numbers[i]!, request, now))),
    )
  }

  /** Keeps only those states that agree with the answer. */
  private asTold(tallies: readonly (readonly Tally[])[], request: Request, numbers: readonly Numbers[], now: number) {
    const [one] = request.decisions
    if (request.decisions.length !== 1 || !one!.decision.allowed || one!.decision.degraded || request.keys.length > 1)
      return tallies
    if (request.calls.some(({ fate }) => fate !== 'ok') || isLook(request) || this.mixed) return tallies
    return tallies.map((some, i) => {
      if (request.policies[i]!.overrun) return some
      const told = one!.decision.policies[request.policies[i]!.name]?.remaining
      const quota = this.quotas[i]!
      const narrowed = some.flatMap((tally) => asRemaining(tally, quota, numbers[i]!, told, now))
      return narrowed.length > 0 ? narrowed : some
    })
  }

  private note(request: Request, entry: Entry, exact: boolean): void {
    this.charges.set(request, [...(this.charges.get(request) ?? []), { key: entry.call.key, entry, exact }])
  }

  /** The first of several simultaneous requests makes its own write; the others are coalesced as far as they fit. */
  private followBurst(entry: Entry, request: Request, writesBefore: number): void {
    const { key, write } = entry.call
    const now = write!.at
    const allowed = request.decisions.filter(({ decision }) => decision.allowed && !decision.degraded).length
    const numbers = this.numbersOf(request)
    const laterWrites = this.chronicle.entries.filter(
      ({ seq, outcome, call }) =>
        seq > entry.seq && outcome === 'applied' && call.request === request && call.key === key,
    ).length
    const charged =
      this.charges.get(request)?.reduce((units, one) => units + (one as { members?: number }).members!, 0) ?? 0
    const most = Math.max(1, allowed - charged - laterWrites)
    let { tallies } = this.momentsOf(key).at(-1)!
    let members = 0
    while (members < (writesBefore === 0 && laterWrites > 0 ? 1 : most)) {
      const fitting = tallies.map((some, i) => some.filter((tally) => this.fits(i, tally, numbers[i]!, request, now)))
      if (fitting.some((some) => some.length === 0)) break
      tallies = fitting.map((some, i) => some.map((tally) => this.charged(i, tally, numbers[i]!, request, now)))
      members++
    }
    if (members === 0 && allowed > charged && !this.isBlurred(key)) {
      this.breach(
        'never over the limit',
        entry.at,
        `${unitsText(request)} of ${key} were charged at ${now} among others, where there was no room`,
      )
    }
    this.charges.set(request, [
      ...(this.charges.get(request) ?? []),
      { key, entry, exact: false, members: Math.max(1, members) } as never,
    ])
    this.move(entry, tallies)
  }

  /** @param before what the same request has given back before: units that differ, each in a write of its own. */
  private followRefund(entry: Entry, before: readonly Entry[], chargedAt: number | undefined): void {
    const { key, write, request } = entry.call
    const { tallies } = this.momentsOf(key).at(-1)!
    const isPart = (i: number) => isSplit(request!) && !partsOf(entry).has(request!.prefixes[i]!)
    const isAgain = before.some(
      (one) => !isSplit(request!) || [...partsOf(one)].some((part) => partsOf(entry).has(part)),
    )
    if (isAgain) {
      if (this.isBlurred(key)) return
      const text = `${unitsText(request!)} of ${key} were given back a second time by another write`
      this.breach('given back once', entry.at, text)
      return
    }
    const numbers = this.numbersOf(request!)
    // The charge of a denied request is refunded in full, unless calls failed.
    const isWhole = request!.step.do === 'takeAll' && request!.calls.every(({ fate }) => fate === 'ok')
    const begunAt = Math.floor(this.chronicle.start + request!.startedAt) + request!.skewMs
    const after = tallies.map((some, i) => {
      const { algorithm, countDenied } = request!.policies[i]!
      const units = takenBy(request!, request!.policies[i]!)
      if (units === 0 || isPart(i)) return some
      const least = isWhole ? units : 0
      const counts = countDenied ? [...some, ...some.map((tally) => newest(tally, numbers[i]!.limit))] : some
      // A window that ends while the call is under way was open when the refund was made.
      const at = algorithm === 'anchored-window' ? (chargedAt ?? begunAt) : chargedAt
      const left = counts.flatMap((tally) => this.quotas[i]!.refund(tally, numbers[i]!, units, write!.at, at, least))
      return least > 0 ? left : [...some, ...left]
    })
    this.move(entry, after)
  }

  /** Documented: a write counts twice where its mark has been overwritten by another writer in between. */
  private followCopy(entry: Entry, first: Entry): void {
    const { key, request } = entry.call
    const kind = request!.step.do
    const gaveBack =
      kind === 'refund' || (kind === 'takeAll' && !this.charges.get(request!)?.some((charge) => charge.entry === first))
    const overwritten = this.isOverwritten(first, entry.seq)
    if (gaveBack && this.isWitnessedAgain(first, entry)) this.blur(key, entry.seq)
    else if (gaveBack)
      this.breach(
        'given back once',
        entry.at,
        `the write that gave back ${unitsText(request!)} of ${key} was applied twice`,
      )
    else if (!overwritten && !this.wasReset(key, first.seq, entry.seq)) {
      this.breach('charged once', entry.at, `the write that charged ${unitsText(request!)} to ${key} was applied twice`)
    }
    if (!gaveBack) this.blur(key, entry.seq)
  }

  /**
   * Documented: the first write that gives units back counts twice where the item was reset in between, and then a late
   * copy of the charge came whose mark it names.
   */
  private isWitnessedAgain(first: Entry, { seq: until, call: { key, write } }: Entry): boolean {
    return this.chronicle.entries.some(
      ({ seq, outcome, call }) =>
        seq > first.seq &&
        seq < until &&
        outcome === 'applied' &&
        call.key === key &&
        call.write !== undefined &&
        write!.whileMarks?.[call.write.id.mark] === call.write.id.value,
    )
  }

  /**
   * Whether another process has written under the same idempotency mark in between, so that it is unknown whether this
   * write was applied.
   */
  private isOverwritten({ seq: since, call: { key, instance, write } }: Entry, until: number): boolean {
    return this.chronicle.entries.some(
      ({ seq, outcome, call }) =>
        seq > since &&
        seq < until &&
        outcome === 'applied' &&
        call.key === key &&
        call.instance !== instance &&
        call.write?.id.mark === write!.id.mark,
    )
  }

  private wasReset(key: string, from: number, to: number): boolean {
    return this.chronicle.entries.some(
      (one) => one.seq > from && one.seq < to && one.call.key === key && one.outcome === 'applied' && isReset(one),
    )
  }

  private followReset(entry: Entry): void {
    const { request, key } = entry.call
    const earlier = this.chronicle.entries.filter(
      (one) => one.seq < entry.seq && one.call.request === request && one.outcome === 'applied' && isReset(one),
    )
    const last = earlier.at(-1)
    // A write that was sent before the first of them and sent again may be removed as well.
    const news = this.chronicle.entries.some(
      ({ seq, outcome, copy, call: other }) =>
        last !== undefined &&
        seq > last.seq &&
        seq < entry.seq &&
        outcome === 'applied' &&
        !copy &&
        other.key === key &&
        !this.wasAppliedBefore(other, last.seq),
    )
    if (news) {
      this.breach(
        'a reset wipes what was there and no more',
        entry.at,
        `${key} was wiped once more, after others had been charged`,
      )
      return
    }
    this.move(
      entry,
      this.quotas.map(() => [NOTHING]),
    )
  }

  private blur(key: string, since: number): void {
    this.blurred.set(key, Math.min(since, this.blurred.get(key) ?? Infinity))
  }

  private wasAppliedBefore({ key, write: again }: Call, until: number): boolean {
    return this.chronicle.entries.some(
      ({ seq, outcome, call: { key: other, write } }) =>
        seq < until &&
        outcome === 'applied' &&
        other === key &&
        write !== undefined &&
        again !== undefined &&
        sameId(write.id, again.id),
    )
  }

  private isBlurred(key: string): boolean {
    return this.blurred.has(key)
  }

  private check(request: Request): void {
    const { step, decisions, keys } = request
    if (step.do !== 'take' && step.do !== 'takeAll' && step.do !== 'peek') return
    for (const { decision, seq } of decisions) {
      if (decision.degraded) continue
      if (step.do === 'peek' || isLook(request)) this.checkPeek(request, decision, seq)
      else if (decision.allowed) this.checkAllowed(request, decision, seq)
      else this.checkDenied(request, decision, seq)
    }
    if (
      step.do === 'take' &&
      !step.times &&
      decisions.length === 1 &&
      !decisions[0]!.decision.allowed &&
      !decisions[0]!.decision.degraded
    ) {
      const [charge] = this.charges.get(request) ?? []
      const { seq } = decisions[0]!
      if (
        charge &&
        charge.entry.seq < seq &&
        this.isSharp(keys[0]!, seq) &&
        !this.wasReset(keys[0]!, charge.entry.seq, seq) &&
        !this.isOverwritten(charge.entry, seq)
      ) {
        this.breach(
          'a denied request takes nothing',
          request.startedAt,
          `${unitsText(request)} of ${keys[0]} were charged and denied`,
        )
      }
    }
  }

  private isSharp(key: string, seq: number): boolean {
    const since = this.blurred.get(key)
    return since === undefined || since >= seq
  }

  private checkAllowed(request: Request, decision: Decision, seq: number): void {
    const { step, keys } = request
    const charges = this.charges.get(request) ?? []
    const nonBlocking = askedOf(request).every(({ action }) => action === 'observe' || action === 'deprioritize')
    for (const key of keys) {
      const charge = charges.findLast((one) => one.key === key && one.entry.seq < seq)
      if (!charge && !nonBlocking) {
        if (this.isSharp(key, seq)) {
          this.breach(
            'an allowed request is charged',
            request.startedAt,
            `${unitsText(request)} of ${key} were allowed and not charged`,
          )
        }
        continue
      }
      if (
        !charge?.exact ||
        (step as { times?: number }).times ||
        keys.length > 1 ||
        this.mixed ||
        !this.isSharp(key, seq)
      )
        continue
      const calm = request.calls.every(({ fate }) => fate === 'ok')
      const moments = this.momentsOf(key).filter(
        (one) => one.seq >= charge.entry.seq && one.seq < (calm ? charge.entry.seq + 1 : seq),
      )
      const { at } = charge.entry.call.write!
      if (!moments.some((moment) => this.matches(moment, request, decision, at))) {
        this.breach(
          'numbers are true',
          charge.entry.at,
          `${unitsText(request)} of ${key} were charged at ${at}, and what was told of it is not so: ${this.mismatch(moments[0], request, decision, at)}`,
        )
      }
    }
  }

  private checkPeek(request: Request, decision: Decision, seq: number): void {
    const [key, other] = request.keys
    if (other !== undefined || this.mixed || this.clocksSet || !this.isSharp(key!, seq)) return
    const moments = this.momentsBetween(key!, request.startSeq, seq, request.startedAt)
    for (const now of clockOf(request, seq, this.chronicle)) {
      if (moments.some((moment) => this.matches(this.asTaken(moment, request, decision, now), request, decision, now)))
        return
    }
    const [now] = clockOf(request, seq, this.chronicle)
    this.breach(
      'numbers are true',
      request.startedAt,
      `a look at ${key} says what never was so: ${moments.map((moment) => this.mismatch(this.asTaken(moment, request, decision, now!), request, decision, now!)).join(' or ')}`,
    )
  }

  /** The state that a peek would leave behind if it were a request. */
  private asTaken(moment: Moment, request: Request, { allowed }: Decision, now: number): Moment {
    if (isLook(request)) return moment
    const numbers = this.numbersOf(request)
    const tallies = moment.tallies.map((some, i) => {
      const charged = (those: readonly Tally[]) =>
        those.map((tally) => this.charged(i, tally, numbers[i]!, request, now))
      const hasRoom = (tally: Tally) => this.fits(i, tally, numbers[i]!, request, now)
      if (allowed) return charged(some.filter(hasRoom))
      if (!this.quotas[i]!.deny) return some
      const full = some.filter((tally) => !hasRoom(tally))
      return [...some.filter(hasRoom), ...full.map((tally) => this.denied(i, tally, numbers[i]!, request, now))]
    })
    return { ...moment, tallies }
  }

  private checkDenied(request: Request, decision: Decision, seq: number): void {
    const { step, keys } = request
    if (keys.some((key) => !this.isSharp(key, seq)) || isDeniedBySlots(request, decision)) return
    const clocks = clockOf(request, seq, this.chronicle)
    const several = keys.length > 1 || (step as { times?: number }).times !== undefined
    const numbers = this.numbersOf(request)
    if (this.mixed && this.quotas.some(({ sharesCounts }) => !sharesCounts)) return
    const ttlMs = this.chronicle.scenario.denialTtlMs ?? 5000
    const reachMs = this.clocksSet ? Infinity : ttlMs + 1
    let deniedSomewhere = false
    if (this.isHeldBack(request, seq)) return
    for (const key of keys) {
      for (const moment of this.momentsBetween(key, request.startSeq, seq, request.startedAt - reachMs)) {
        for (const now of clocks) {
          const denies = moment.tallies.map((some, i) =>
            some.some((tally) => !this.roomOf(i, tally, numbers[i]!, request, now)),
          )
          if (!denies.some(Boolean)) continue
          deniedSomewhere = true
          if (several || this.mixed || this.matches(moment, request, decision, now)) return
          // A recorded denial reports the log as it is; the numbers of its other policies may be from the last view.
          const apart = (policy: number) =>
            this.momentsBetween(key, request.startSeq, seq, request.startedAt - reachMs).some((one) =>
              this.isTrue(policy, one, request, decision, now),
            )
          if (this.quotas.some(({ deny }) => deny) && this.quotas.every((_, i) => apart(i))) return
        }
      }
    }
    const what = `${unitsText(request)} of ${keys.join(', ')} were denied`
    if (deniedSomewhere) {
      const [now] = clocks
      const moment = this.momentsBetween(keys[0]!, request.startSeq, seq, request.startedAt).at(-1)
      this.breach(
        'numbers are true',
        request.startedAt,
        `${what}, and what was told of it is not so: ${this.mismatch(moment, request, decision, now!)}`,
      )
    } else this.breach('denied only where there is no room', request.startedAt, `${what} where there was room`)
  }

  /**
   * Held back (docs/consistency.md): the instance asked for the subject and was denied three times in a row, and for
   * five seconds after the last such denial it may deny without asking.
   */
  private isHeldBack({ instance, keys, calls, startSeq, startedAt, step }: Request, seq: number): boolean {
    if (keys.length > 1 || step.do !== 'take' || calls.some(({ sentAt }) => sentAt < startedAt)) return false
    const asked = this.chronicle.requests.filter(
      (one) =>
        one.instance === instance &&
        one.step.do === 'take' &&
        one.keys[0] === keys[0] &&
        one.calls.length > 0 &&
        one.startSeq <= startSeq &&
        one.decisions.length > 0 &&
        one.decisions.every((decided) => decided.seq <= seq),
    )
    const last = asked.slice(-3).flatMap(({ decisions }) => decisions)
    const isDenied = last.length >= 3 && last.every(({ decision }) => !decision.allowed)
    const { endedAt, decision } = last.at(-1) ?? { endedAt: -Infinity, decision: undefined }
    return isDenied && startedAt <= endedAt + decision!.retryAfterMs + 5000
  }

  private roomOf(i: number, tally: Tally, numbers: Numbers, request: Request, now: number): boolean {
    const { action } = request.policies[i]!
    return action === 'observe' || action === 'deprioritize' || this.fits(i, strictest(tally), numbers, request, now)
  }

  /** The states at any time of that interval. */
  private momentsBetween(key: string, fromSeq: number, toSeq: number, from: number): Moment[] {
    const moments = this.momentsOf(key)
    return moments.filter((moment, i) => {
      const next = moments[i + 1]
      const endedBefore = next !== undefined && next.seq < fromSeq && next.at < from
      return moment.seq < toSeq && !endedBefore
    })
  }

  /** Whether a decision's numbers are true of this moment for every policy. */
  private matches(moment: Moment, request: Request, decision: Decision, now: number): boolean {
    return this.untrue(moment, request, decision, now).length === 0
  }

  private isTrue(i: number, { tallies }: Moment, request: Request, decision: Decision, now: number): boolean {
    const standing = decision.policies[request.policies[i]!.name]
    if (!standing) return true
    const numbers = this.numbersOf(request)[i]!
    return tallies[i]!.some(
      (tally) =>
        untrueOf(tally, this.quotas[i]!, numbers, standing, takenBy(request, request.policies[i]!), now) === undefined,
    )
  }

  private mismatch(moment: Moment | undefined, request: Request, decision: Decision, now: number): string {
    return moment ? this.untrue(moment, request, decision, now).join(', ') : 'there is no such moment'
  }

  private untrue(moment: Moment, request: Request, decision: Decision, now: number): string[] {
    const numbers = this.numbersOf(request)
    return request.policies.flatMap((policy, i) => {
      const standing = decision.policies[policy.name]
      if (!standing || policy.overrun || policy.action) return []
      const reasons = moment.tallies[i]!.map((tally) =>
        untrueOf(tally, this.quotas[i]!, numbers[i]!, standing, takenBy(request, policy), now),
      )
      if (reasons.some((reason) => reason === undefined)) return []
      return [`"${policy.name}" ${reasons[0] ?? 'has no room'}`]
    })
  }
}

const unitsText = ({ units, costs }: Request): string => `${units}${costs ? ` and ${JSON.stringify(costs)}` : ''}`

/** The policies of which a request takes something; of a look all. */
const askedOf = (request: Request): readonly PolicyInput[] =>
  request.policies.filter((policy) => isLook(request) || takenBy(request, policy) > 0)

/** Whether a request takes more of one policy than of another. */
const isSplit = (request: Request): boolean =>
  new Set(request.policies.map((policy) => takenBy(request, policy)).filter((units) => units > 0)).size > 1

const partsOf = ({ call: { write } }: Entry): ReadonlySet<string> => new Set(write!.parts.map(({ prefix }) => prefix))

/** The first false number of a standing, or `undefined` if all are true. */
function untrueOf(
  tally: Tally,
  quota: Quota,
  numbers: Numbers,
  standing: Standing,
  units: number,
  now: number,
): string | undefined {
  const { allowed, remaining, retryAfterMs, resetAfterMs, overage, limit } = standing
  const left = quota.remaining(tally, numbers, now)
  const spread = tally.whole && tally.whole[0] !== tally.whole[1]
  if (limit !== numbers.limit) return `has the limit ${limit} instead of ${numbers.limit}`
  if (!spread && remaining !== left) return `has ${remaining} left instead of ${left}`
  if (
    !spread &&
    !(
      quota.isWhole(tally, numbers, now + resetAfterMs) &&
      (resetAfterMs === 0 || !quota.isWhole(tally, numbers, now + resetAfterMs - 1))
    )
  ) {
    return `is not whole for the first time after ${resetAfterMs} ms`
  }
  if (quota.overage && overage !== quota.overage(tally, now))
    return `has an overage of ${overage} instead of ${quota.overage(tally, now)}`
  if (units === 0) return undefined // whether 0 units fit is not asked
  if (allowed) return retryAfterMs === 0 ? undefined : 'is allowed with a retry time'
  if (quota.room(strictest(tally), numbers, units, now)) return 'has room, and denied'
  if (retryAfterMs === Infinity) {
    return quota.room(NOTHING, numbers, units, now) ? 'denies for ever what a whole quota allows' : undefined
  }
  if (spread) return undefined
  if (!quota.room(tally, numbers, units, now + retryAfterMs)) return `has no room after ${retryAfterMs} ms`
  return quota.room(tally, numbers, units, now + retryAfterMs - 1)
    ? `has room sooner than in ${retryAfterMs} ms`
    : undefined
}

/** The times that the caller's clock may have shown when it decided: at the start, before each call, at the end. */
function clockOf({ skewMs, startedAt, decisions, calls }: Request, seq: number, { start }: Chronicle): number[] {
  const endedAt = decisions.find((one) => one.seq === seq)?.endedAt ?? startedAt
  const times = [startedAt, ...calls.map(({ sentAt }) => sentAt), endedAt].filter((at) => at <= endedAt)
  return [...new Set(times.map((at) => Math.floor(start + at) + skewMs))]
}

function asRemaining(tally: Tally, quota: Quota, numbers: Numbers, told: number | undefined, now: number): Tally[] {
  if (told === undefined) return [tally]
  if (!tally.whole) return quota.remaining(tally, numbers, now) === told ? [tally] : []
  const [early, late] = tally.whole
  const fits = (at: number) => quota.remaining({ ...tally, whole: [at, at] }, numbers, now)
  // The later the bucket is whole, the less is left: both ends move to where the reported number is left.
  const first = bisect(early, late, (at) => fits(at) <= told)
  const last = bisect(early, late, (at) => fits(at) < told)
  const end = fits(late) < told ? last - 1 : late
  return fits(first) === told ? [{ ...tally, whole: [first, end] }] : []
}

/** The first number at which the condition holds, or the last number. */
function bisect(from: number, to: number, holds: (at: number) => boolean): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** A log keeps no more entries than its limit, since older ones decide nothing. */
const newest = (tally: Tally, limit: number): Tally => ({
  ...tally,
  charged: tally.charged
    .flatMap(({ place, units }) => Array.from({ length: units }, () => ({ place, units: 1 })))
    .slice(-limit),
})

/** Of all possible states, the one with the least room. */
const strictest = (tally: Tally): Tally => (tally.whole ? { ...tally, whole: [tally.whole[1], tally.whole[1]] } : tally)

/** It is unknown which of several simultaneous requests a write was for, if some of them failed. */
const isDisturbed = ({ endedAt, calls, decisions, errors }: Request): boolean =>
  endedAt === undefined ||
  errors.length > 0 ||
  calls.some(({ fate }) => fate !== 'ok') ||
  decisions.some(({ decision }) => decision.degraded)

/** Refunds share a mark. */
const givesBack = ({ call: { write } }: Entry): boolean => write!.id.mark === REFUND_MARK

/** Whether a settlement changes units. */
const changesUnits = ({ call: { write, request } }: Entry): boolean =>
  write!.parts.some(
    ({ prefix, write: { assignments } }) =>
      assignments.length > 0 && request!.prefixes.slice(0, request!.policies.length).includes(prefix),
  )

/** What reserves units is held, and so takes something even where it takes nothing of any policy. */
const isReserved = ({ step }: Request): boolean => 'reserve' in step && step.reserve !== undefined

/** Whether a subject only holds what the request reserves of others. */
const isHolderAlone = ({ caller, keys }: Request, key: string): boolean => caller === key && !keys.includes(key)

/** Whether a write only changes a mark. */
const changesNothing = ({ call: { write } }: Entry): boolean =>
  write!.parts.every(({ write: { assignments } }) => assignments.length === 0)

/**
 * Whether a single request was certainly denied or allowed. Of several simultaneous ones it is unknown which write was
 * whose.
 */
function outcomeOf({ step, decisions, keys }: Request): { isDenied: boolean; isAllowed: boolean } {
  const alone = keys.length === 1 && !(step.do === 'take' && step.times !== undefined)
  const [one] = decisions
  const sure = alone && one !== undefined && !one.decision.degraded
  return { isDenied: sure && !one.decision.allowed, isAllowed: sure && one.decision.allowed }
}

const sameId = (one: { mark: string; value: number }, other: { mark: string; value: number }): boolean =>
  one.mark === other.mark && one.value === other.value

function answers({ requests, thrown, tooLarge: oversized, endedAt: end }: Chronicle): Breach[] {
  const open = requests.filter(
    ({ endedAt, instance }) => endedAt === undefined && !instance.dead && instance.frozenUntil < end - 15_000,
  )
  return [
    ...oversized.map((text): Breach => ({ law: 'every write fits DynamoDB', at: 0, text })),
    ...thrown.map((text): Breach => ({ law: 'nothing throws', at: 0, text })),
    ...open.map(
      ({ startedAt, position }): Breach => ({
        law: 'everything is answered',
        at: startedAt,
        text: `step ${position} was never answered`,
      }),
    ),
  ]
}
