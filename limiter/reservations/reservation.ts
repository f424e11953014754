import { isCharged } from '../algorithms/algorithm'
import type { CompiledPolicy } from '../compiled-policy'
import { type Decision, standingOf } from '../decision'
import { IN_DOUBT_FAILURES } from '../errors'
import type { WithoutStore } from '../options'
import { takenFrom, type Units } from '../request'
import { ALL_MARKS, type Item, REFUND_MARK } from '../stores/store'
import { OBSERVED, RESERVATIONS, SHARED } from './reserved'
import { type ChargeProofs, nameOf, proofsOf, textOf, toToken, type WrittenSubject, writtenEntry } from './token'

/** Units that one request takes from one subject. */
export interface ReservedCharge extends Units {
  readonly key: string
  readonly policies: readonly CompiledPolicy[]
}

/** Whether units of a policy are settled; a request may take none of it now, and some in the end. */
export type IsSettled = (policy: CompiledPolicy, units: number) => boolean

/**
 * What a request asks to hold: units that it is charged now, and settled when their true number is known, and slots of
 * policies that count running requests.
 *
 * The reservation is stored once, in the caller's item: what nobody settles uses up the caller's places and no others.
 * It is named by a hash of all that it says and of 128 bits of chance. So whoever changes what a reservation says names
 * one that does not exist.
 */
export class Reservation {
  /** The same charges, each with what it holds; the caller's is the first, and is added where it takes nothing. */
  readonly charges: readonly ReservedCharge[]
  readonly id: string
  private readonly text: string
  private readonly subjects: readonly WrittenSubject[]
  private readonly proofs: ChargeProofs<CompiledPolicy> | undefined

  /**
   * @param forMs how long units are reserved, in milliseconds.
   * @param isSettled whether the units of a policy are settled, so many as the request takes.
   * @param caller the subject that the reservation is stored with. @default that of the first charge
   */
  constructor(
    charges: readonly ReservedCharge[],
    private readonly forMs: number,
    isSettled: IsSettled,
    caller = charges[0]!.key,
  ) {
    const settledOf = (charge: ReservedCharge) =>
      charge.policies.filter(
        (policy) => !policy.counter.isEndedByOthers && isSettled(policy, takenFrom(charge, policy)),
      )
    const settled = charges.flatMap(settledOf)
    const all = settled.length === 0 ? charges : withCaller(charges, caller)
    const held = all.map((charge) => {
      const units = settledOf(charge)
      const slots = charge.policies.filter(
        (policy) => policy.counter.isEndedByOthers && !policy.isInternal && takenFrom(charge, policy) > 0,
      )
      return { charge, units, slots }
    })
    const holding = held.filter(({ charge, units, slots }) => units.length + slots.length > 0 || isCaller(charge))
    function isCaller({ key }: ReservedCharge): boolean {
      return settled.length > 0 && key === caller
    }
    this.subjects = [...new Set(holding.map(({ charge }) => charge.key))].map((key) => [
      key,
      holding.flatMap(({ charge, units, slots }) =>
        charge.key === key ? [...units, ...slots].map((policy) => writtenEntry(policy, takenFrom(charge, policy))) : [],
      ),
    ])
    this.proofs = proofsOf(holding.flatMap(({ units }) => units.filter((policy) => policy.nonBlocking)))
    this.text = textOf(forMs, this.subjects, this.proofs?.root)
    this.id = nameOf(this.text)
    const holder = settled.every(({ nonBlocking: isObserved }) => isObserved) ? OBSERVED : RESERVATIONS
    this.charges = held.map(({ charge, units, slots }) => {
      const added = isCaller(charge) ? holder : units.length > 0 ? SHARED : undefined
      if (!added && slots.length === 0) return charge
      const policies = added ? withPolicy(charge.policies, added) : charge.policies
      return { ...charge, policies, holds: [{ id: this.id, forMs }] }
    })
  }

  /**
   * What settles it; `undefined` where nothing is held: the request was denied, or decided without the store.
   *
   * @param itemOf what was last seen of a subject.
   */
  tokenFor(decision: Decision, itemOf: (key: string) => Item | undefined): string | undefined {
    const { allowed, degraded, chargedAt } = decision
    if (!allowed || degraded || chargedAt === null || this.subjects.length === 0) return undefined
    const until = itemOf(this.subjects[0]![0])?.policies[RESERVATIONS.prefix]?.[this.id]
    const marks = this.subjects.slice(1).map(([key]) => {
      const seen = itemOf(key)?.marks ?? {}
      const mark = ALL_MARKS.findLast((name) => name in seen)
      return mark && ([mark, seen[mark]!] as const)
    })
    const proofs = this.proofs?.reveal((policy) => {
      const standing = standingOf(decision, policy)
      return standing === undefined || isCharged(standing)
    })
    return toToken(this.text, {
      chargedAt: typeof until === 'number' ? until - this.forMs : chargedAt,
      marks,
      proofs,
    })
  }

  /** The characters of its token at most, whatever becomes of it. */
  get longestToken(): number {
    const longest: readonly [string, number] = [REFUND_MARK, Number.MAX_SAFE_INTEGER]
    const marks = this.subjects.slice(1).map(() => longest)
    const proofs = this.proofs?.reveal(() => true)
    return toToken(this.text, { chargedAt: Number.MAX_SAFE_INTEGER, marks, proofs }).length
  }

  /** What ends it where the answer of the store was lost, and it may stand there; `undefined` where nothing is held. */
  get tokenInDoubt(): string | undefined {
    return this.subjects.length === 0 ? undefined : toToken(this.text, {})
  }
}

/** The caller's charge first. A caller who takes nothing of its own is charged a place for the reservation. */
function withCaller(charges: readonly ReservedCharge[], caller: string): readonly ReservedCharge[] {
  const own = charges.find(({ key }) => key === caller)
  const [{ cost, costs }] = charges as [ReservedCharge]
  return [own ?? { key: caller, policies: NOTHING, cost, costs }, ...charges.filter((charge) => charge !== own)]
}

const NOTHING: readonly CompiledPolicy[] = []

const lists = new WeakMap<CompiledPolicy, WeakMap<readonly CompiledPolicy[], readonly CompiledPolicy[]>>()

/** The same array for the same policies, so that requests can share writes. */
function withPolicy(policies: readonly CompiledPolicy[], added: CompiledPolicy): readonly CompiledPolicy[] {
  const known = lists.get(added) ?? new WeakMap<readonly CompiledPolicy[], readonly CompiledPolicy[]>()
  lists.set(added, known)
  const list = known.get(policies) ?? [...policies, added]
  known.set(policies, list)
  return list
}

/** What reserving asks of a `RateLimiter`. */
export interface ReservingLimiter {
  decide(charges: readonly ReservedCharge[], withoutStore?: WithoutStore): Promise<Decision>
  /** What was last seen of a subject. @default nothing, and settling may take a call more */
  lastSeen?(key: string): Item | undefined
}

/**
 * Decides charges that are settled once their true units are known.
 *
 * A decision without the store has a reservation where the answer of the store was lost: it may stand there, and
 * settling it does nothing where it does not.
 *
 * @param forMs how long the reservation lasts, in milliseconds.
 * @param isSettled whether the units of a policy are settled.
 * @param caller the subject that the reservation is stored with. @default that of the first charge
 */
export async function reserve(
  limiter: ReservingLimiter,
  charges: readonly ReservedCharge[],
  forMs: number,
  isSettled: IsSettled,
  withoutStore: WithoutStore = {},
  caller = charges[0]!.key,
): Promise<Decision & { readonly reservation?: string }> {
  const reservation = new Reservation(charges, forMs, isSettled, caller)
  const decision = await limiter.decide(reservation.charges, withoutStore)
  const { allowed, degraded, failure } = decision
  const token =
    allowed && degraded && failure && IN_DOUBT_FAILURES.includes(failure)
      ? reservation.tokenInDoubt
      : reservation.tokenFor(decision, (key) => limiter.lastSeen?.(key))
  return token === undefined ? decision : { ...decision, reservation: token }
}
