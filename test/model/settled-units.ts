import type { PolicyInput } from '../../limiter'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import { REFUND_MARK } from '../../limiter/stores/store'
import { idOf } from './holding'
import type { Breach } from './laws'
import { NOTHING, type Numbers, type Quota, quotaOf, type Tally } from './quotas'
import { type Chronicle, type Entry, isReset, type Request, resetMoment, takenBy } from './simulation'

/** A charge of one subject in the store's journal, and what became of it. */
interface Charge {
  readonly request: Request
  readonly seq: number
  readonly at: number
  /** When it was reserved, which the caller's item says. */
  readonly reservedAt: number
  /** The prefixes of the policies that were charged: a denial may count in some. */
  readonly prefixes: ReadonlySet<string>
  /** The settlement that ended the reservation. */
  settled?: { readonly by: Request; readonly seq: number }
  isGivenBack?: true
}

/**
 * Compares each decision with what would have been decided if the true units of all requests that are settled had been
 * known when they were charged, in the item of the caller and in those of other subjects: never more generous; and the
 * same to the unit, where no window concerned has ended and the settlement met no fault.
 *
 * It makes no statement about a subject once units of it were refunded without a time, counted in memory or charged in
 * one write for several requests, nor where clocks differ.
 */
export function settledAsKnown(chronicle: Chronicle): Breach[] {
  const { scenario, requests } = chronicle
  const { instances, steps } = scenario
  if (steps.some((step) => step.do === 'clock') || instances.some(({ skewMs }) => skewMs !== instances[0]!.skewMs))
    return []
  const keys = new Set(requests.flatMap(({ keys }) => keys))
  return [...keys].flatMap((key) => new SettledSubject(chronicle, key).breaches())
}

class SettledSubject {
  private charges: Charge[] = []
  /** Requests whose units a reset has wiped: a debt of theirs is charged nevertheless. */
  private readonly wiped: Request[] = []
  /** Since when units of this item are held, as it says itself. */
  private heldSince: number | undefined
  private readonly mixed: boolean
  private readonly hasSettlements: boolean

  constructor(
    private readonly chronicle: Chronicle,
    private readonly key: string,
  ) {
    this.hasSettlements = chronicle.requests.some(({ step, keys }) => step.do === 'settle' && keys.includes(key))
    this.mixed = chronicle.scenario.steps.some((step) => step.do === 'change' && step.percent !== 100)
  }

  breaches(): Breach[] {
    const found: Breach[] = []
    const doubtful = doubtfulFrom(this.chronicle, this.key)
    for (const entry of this.chronicle.entries) {
      const { call, outcome, seq } = entry
      if (outcome !== 'applied') continue
      if (seq >= doubtful) break
      const { request } = call
      if (request && isEnd(entry)) {
        const charge = this.charges.find((one) => one.request === request.ends!.request)
        if (charge) charge.settled = { by: request, seq }
      }
      if (call.key !== this.key) continue
      if (isReset(entry)) {
        this.wiped.push(...this.charges.map((one) => one.request))
        this.charges = []
        this.heldSince = resetMoment(call.write)
      } else if (request && call.kind === 'write') {
        this.heldSince ??= heldSince(entry)
        if (isRefund(entry)) {
          if (!this.giveBack(request)) break
          continue
        }
        const prefixes = chargedBy(entry)
        if (prefixes.size === 0 && !isReserving(entry)) continue
        const before = [...this.charges.map((one) => one.request), ...this.wiped]
        if (before.includes(request)) break // counts twice, as documented
        found.push(...this.atCharge(entry, request))
        const { at } = call.write!
        this.charges.push({ request, seq, at, reservedAt: this.reservedAt(request) ?? at, prefixes })
      }
    }
    return found
  }

  /** Whether it is known whose units were given back. */
  private giveBack({ refunds, refundOptions, decisions }: Request, request = refunds): boolean {
    const isDenied = decisions.every(({ decision }) => !decision.allowed)
    const charge = this.charges.find((one) => one.request === request)
    if (!charge || (refunds ? refundOptions?.chargedAt === undefined : !isDenied)) return false
    charge.isGivenBack = true
    return true
  }

  private reservedAt({ step, held }: Request): number | undefined {
    const { reserve } = step as { readonly reserve?: number }
    const ids = held.flatMap(({ token }) => (token === undefined ? [] : [idOf(token)]))
    for (const { call, outcome } of this.chronicle.entries) {
      if (reserve === undefined || outcome !== 'applied') continue
      for (const one of assignmentsOf(call.write, RESERVATIONS.prefix))
        if ('set' in one && ids.includes(one.field)) return one.set - reserve
    }
    return undefined
  }

  private atCharge(entry: Entry, request: Request): Breach[] {
    const { step, decisions, calls } = request
    const [{ decision } = { decision: undefined }] = decisions
    const isTold =
      step.do === 'take' && decision?.allowed && !decision.degraded && calls.every(({ fate }) => fate === 'ok')
    if (!isTold || !this.hasSettlements) return []
    const now = entry.call.write!.at
    return request.policies.flatMap((policy, i): Breach[] => {
      const quota = quotaOf(policy)
      const units = takenBy(request, policy)
      const isFollowed = (policy.consistency ?? 'strict') === 'strict' && !quota.deny && policy.mode !== 'queue'
      if (!isFollowed || units === 0 || (this.mixed && !quota.sharesCounts)) return []
      // a window that is empty again closes, and the next request opens its own
      if (policy.algorithm === 'anchored-window' && this.charges.some(({ isGivenBack }) => isGivenBack)) return []
      const { tally, isExact } = this.asKnown(quota, i, entry, request)
      const numbers = quota.numbersOf(policy)
      const told = decision.policies[policy.name]!.remaining
      const text = (what: string) =>
        `step ${request.position} was charged ${units} of ${this.key} at ${now}, and "${policy.name}" ${what} if what was settled had been known`
      const law = 'settled as if known at the beginning'
      if (!quota.room(tally, numbers, units, now)) return [{ law, at: entry.at, text: text('had no room') }]
      const left = quota.remaining(quota.charge(tally, numbers, units, now), numbers, now)
      if (told > left) return [{ law, at: entry.at, text: text(`had ${left} left instead of ${told}`) }]
      return told < left && isExact ? [{ law, at: entry.at, text: text(`had ${left} left, and not only ${told}`) }] : []
    })
  }

  /** The state with what each request used in the end, and whether it is what is stored, to the unit. */
  private asKnown(quota: Quota, i: number, entry: Entry, request: Request): { tally: Tally; isExact: boolean } {
    let tally = NOTHING
    let withoutDebts = NOTHING
    let isExact = this.wiped.every((one) => this.settlementsOf(one).length === 0)
    for (const charge of this.charges) {
      const policy = charge.request.policies[i]!
      const units = this.unitsOf(charge, policy, i)
      if (units.owed === 0 && !charge.prefixes.has(charge.request.prefixes[i]!)) continue
      const numbers = quota.numbersOf(policy)
      tally = withUnits(tally, charge, quota, numbers, units)
      withoutDebts = withUnits(withoutDebts, charge, quota, numbers, { ...units, owed: 0 })
      const fades = quota.fades && (units.reserved < takenBy(charge.request, policy) || this.isSettledTwice(charge))
      isExact &&= !fades && this.isExact(charge, withoutDebts, quota, entry, request)
    }
    return { tally, isExact }
  }

  /** What a request used of a policy, as far as it was reserved, and beyond that. */
  private unitsOf(charge: Charge, policy: PolicyInput, i: number): { reserved: number; owed: number } {
    const { request, prefixes, settled, isGivenBack } = charge
    const prefix = request.prefixes[i]!
    const reserved = prefixes.has(prefix) ? takenBy(request, policy) : 0
    if (isGivenBack) return { reserved: 0, owed: 0 }
    if (!settled || (reserved === 0 && takenBy(request, policy) > 0)) return { reserved, owed: 0 }
    const debited = this.charges.filter(
      (one) => one.request.debits === request && one.request.instance === settled.by.instance && one.seq < settled.seq,
    )
    const used = debited.reduce(
      (left, one) => (one.prefixes.has(prefix) ? left - takenBy(one.request, one.request.policies[i]!) : left),
      settled.by.used!,
    )
    return { reserved: Math.min(reserved, Math.max(0, used)), owed: Math.max(0, used - reserved) }
  }

  private settlementsOf(request: Request): readonly Request[] {
    return this.chronicle.requests.filter(({ step, ends }) => step.do === 'settle' && ends!.request === request)
  }

  /** Then what one of them has charged is given back. */
  private isSettledTwice({ request }: Charge): boolean {
    return this.settlementsOf(request).length > 1
  }

  /** Whether a charge stays as it was, or was corrected without a fault while all that is concerned still counted. */
  private isExact(charge: Charge, after: Tally, quota: Quota, entry: Entry, { startSeq }: Request): boolean {
    const { request, at, reservedAt, isGivenBack } = charge
    const { requests, start } = this.chronicle
    const debits = requests.filter(({ debits }) => debits === request)
    const settlements = this.settlementsOf(request).filter(({ startSeq }) => startSeq <= entry.seq)
    if (isGivenBack || (debits.length > 0 && !debits.every(isCalm))) return false
    if (settlements.length === 0) return true
    // each may have charged a debt to a subject that does not hold the reservation
    if (settlements.length > 1 && this.key !== (request.caller ?? request.keys[0])) return false
    if (!settlements.every((one) => isCalm(one) && one.endSeq !== undefined && one.endSeq <= startSeq)) return false
    const { reserve = 0 } = request.step as { readonly reserve?: number }
    const endedAt = Math.max(...settlements.map((one) => Math.floor(start + one.endedAt!) + one.skewMs))
    const isSame = this.heldSince === undefined || this.heldSince <= reservedAt
    return at === reservedAt && isSame && endedAt <= at + reserve && (quota.isOpen?.(after, at, endedAt) ?? false)
  }
}

function withUnits(
  tally: Tally,
  { at, reservedAt }: Charge,
  quota: Quota,
  numbers: Numbers,
  { reserved, owed }: { readonly reserved: number; readonly owed: number },
): Tally {
  if (!quota.chargeAt) return quota.charge(tally, numbers, reserved + owed, at)
  return quota.chargeAt(quota.charge(tally, numbers, reserved, at), owed, reservedAt)
}

/** Nothing that it asked the store for met a fault, and it ended. */
const isCalm = ({ calls, errors, decisions, endSeq }: Request): boolean =>
  endSeq !== undefined &&
  errors.length === 0 &&
  calls.every(({ fate }) => fate === 'ok') &&
  decisions.every(({ decision }) => !decision.degraded)

/** The first entry from which on nobody can know the units of a subject exactly. */
function doubtfulFrom({ requests }: Chronicle, key: string): number {
  const own = requests.filter(({ keys }) => keys.includes(key))
  const unknown = own.flatMap(({ step, decisions, calls, startSeq, debits }) => {
    const isBurst = step.do === 'take' && step.times !== undefined
    const isHot = calls.some((call) => call.key === key && call.fate === 'hot')
    // what a meter is let use without the store is charged when it is settled
    const isAlone = !debits && decisions.some(({ decision }) => decision.degraded && decision.allowed)
    return isBurst || isHot || isAlone ? [startSeq] : []
  })
  return Math.min(Infinity, ...unknown)
}

const assignmentsOf = (write: Entry['call']['write'], prefix: string) =>
  (write?.parts ?? []).flatMap((part) =>
    part.prefix === prefix ? part.write.assignments.flatMap((one) => ('field' in one ? [one] : [])) : [],
  )

/** The prefixes of the policies that a write charges; a removal alone is a purge. */
const chargedBy = ({ call: { request, write } }: Entry): ReadonlySet<string> => {
  const { step, prefixes, policies } = request!
  if (step.do !== 'take' && step.do !== 'takeAll') return new Set()
  const charged = write!.parts.filter(
    ({ prefix, write: { assignments } }) =>
      prefixes.slice(0, policies.length).includes(prefix) &&
      assignments.some((one) => !('remove' in one) && !('purge' in one)),
  )
  return new Set(charged.map(({ prefix }) => prefix))
}

/** Whether a write reserves units, even if none are charged yet. */
const isReserving = ({ call: { request, write } }: Entry): boolean =>
  (request!.step.do === 'take' || request!.step.do === 'takeAll') &&
  assignmentsOf(write, RESERVATIONS.prefix).some((one) => 'set' in one || 'setIfAbsent' in one)

/** Whether a write ends the reservation that its request settles. */
function isEnd({ call: { request, write } }: Entry): boolean {
  const token = request!.step.do === 'settle' ? request!.ends!.held.token : undefined
  if (token === undefined) return false
  const id = idOf(token)
  return assignmentsOf(write, RESERVATIONS.prefix).some((one) => 'remove' in one && one.field === id)
}

/** When units of an item were held first, where this write says so. */
function heldSince({ call: { write } }: Entry): number | undefined {
  const since = assignmentsOf(write, RESERVATIONS.prefix).find((one) => 'setIfAbsent' in one)
  return since && 'setIfAbsent' in since ? since.setIfAbsent : undefined
}

/** Whether a write gives back what a request was charged, rather than what a settlement leaves of a reservation. */
export function isRefund({ call: { request, write } }: Entry): boolean {
  if (write!.id.mark !== REFUND_MARK) return false
  const token = request?.step.do === 'settle' ? request.ends?.held.token : undefined
  if (token === undefined) return true
  const id = idOf(token)
  return !write!.parts.some(
    ({ prefix, write: { assignments } }) =>
      assignments.some((one) => 'remove' in one && one.field === id) ||
      (prefix === RESERVATIONS.prefix && assignments.length === 0),
  )
}
