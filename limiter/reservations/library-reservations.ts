import type { CompiledPolicy } from '../compiled-policy'
import type { Decision } from '../decision'
import { ignoreUnavailable, invalidValue, printed, SETUP_FAILURES } from '../errors'
import type { ReservedDecision, ReserveOptions, Slot, UsedUnits } from '../options'
import { parseHold } from '../policies/duration'
import type { Charge } from '../request'
import type { ActualUnits } from './corrections'
import { actualOf, entriesOf, type Meter, type MeterOptions, meterOf, type TakenUnits } from './meter'
import { Reservation, type ReservingLimiter, reserve } from './reservation'
import type { ReservedUnits } from './reserved'
import { type SettlingLimiter, settle } from './settlements'
import { parseReservation } from './token'

/** What acquiring slots, and reserving and settling units, ask of a `RateLimiter`. */
interface AcquiringLimiter extends Required<ReservingLimiter>, SettlingLimiter {
  /** Ends what a request holds that this process admitted without the store; false where it holds nothing. */
  endHere(key: string, id: string): boolean
}

/** Reserves units and slots for a request, and ends that: what the library offers of both. */
export class LibraryReservations {
  /** @param own all policies of the limiter. */
  constructor(
    private readonly limiter: AcquiringLimiter,
    private readonly own: readonly CompiledPolicy[],
  ) {}

  /** @param charges of which the first is the caller's, with whom the reservation is stored. */
  async reserve(charges: readonly Charge[], options: ReserveOptions): Promise<ReservedDecision> {
    const { forMs, isSettled } = reservedBy(charges, options)
    const { reservation, ...decision } = await reserve(this.limiter, charges, forMs, isSettled)
    return decision.degraded || reservation === undefined ? decision : { ...decision, chargedAt: null, reservation }
  }

  async acquire(charge: Charge, options: ReserveOptions): Promise<Slot> {
    const { reserve: duration } = options
    const { forMs, isSettled } = duration === undefined ? NOTHING : reservedBy([charge], options)
    const reservation = new Reservation([charge], forMs, isSettled)
    const decision = await this.limiter.decide(reservation.charges)
    const token = reservation.tokenFor(decision, (key) => this.limiter.lastSeen(key))
    let isOver = !decision.allowed
    const release = async (used: UsedUnits = {}): Promise<boolean> => {
      if (isOver) return false
      const released =
        token === undefined ? await this.releaseHere(reservation, decision) : await this.settle(token, used)
      isOver = true
      return released
    }
    const dispose = async () => void (await release().catch(ignoreUnavailable))
    return {
      ...decision,
      ...(token !== undefined && { reservation: token }),
      ...(token !== undefined && duration !== undefined && { chargedAt: null }),
      release,
      [Symbol.asyncDispose]: dispose,
    }
  }

  /** Ends what a request holds that was decided without the store; in the store too, where the answer was lost. */
  private async releaseHere(reservation: Reservation, { failure }: Decision): Promise<boolean> {
    const [{ key }] = reservation.charges as [Charge]
    const isReleased = this.limiter.endHere(key, reservation.id)
    const isInDoubt = failure && !SETUP_FAILURES.includes(failure)
    const token = isInDoubt ? reservation.tokenInDoubt : undefined
    if (token !== undefined) await this.settle(token, {}).catch(ignoreUnavailable)
    return isReleased
  }

  async settle(token: string, used: UsedUnits): Promise<boolean> {
    const reserved = parseReservation(token, this.own)
    return settle(this.limiter, reserved, actualOf(used, entriesOf(reserved)))
  }

  meter(token: string, options: MeterOptions = {}): Meter {
    const { step = 1 } = options
    if (!Number.isSafeInteger(step) || step < 1)
      throw invalidValue(`step must be a positive integer, got ${printed(step)}`)
    const reserved = parseReservation(token, this.own)
    const entries = entriesOf(reserved)
    const take = async (some: readonly ReservedUnits[], units: number): Promise<TakenUnits> => {
      const charges = reserved.flatMap(({ key, entries: own }): Charge[] => {
        const policies = own.filter((entry) => some.includes(entry)).map(({ policy }) => policy)
        const costs = Object.fromEntries(policies.flatMap(({ costName }) => (costName ? [[costName, units]] : [])))
        return policies.length > 0 ? [{ key, policies, cost: units, costs, isOwed: true }] : []
      })
      const { allowed, chargedAt, degraded, remaining } = await this.limiter.decide(charges)
      return { allowed, isStored: chargedAt !== null && !degraded, left: remaining }
    }
    const metered = {
      now: () => this.limiter.items.now(),
      takeMore: take,
      settle: (actual: ActualUnits) => settle(this.limiter, reserved, actual),
    }
    return meterOf(entries, metered, (used) => actualOf(used, entries), options)
  }
}

/** No units are reserved. */
const NOTHING = { forMs: 0, isSettled: (_policy: CompiledPolicy): boolean => false }

/** What `reserve` says, checked. */
function reservedBy(charges: readonly Charge[], { reserve: duration, cost = 0 }: ReserveOptions): typeof NOTHING {
  const forMs = parseHold(duration)
  if (forMs === undefined) throw invalidValue(`reserve must be a duration from "1s" to "24h", got ${printed(duration)}`)
  const named = new Set(charges.flatMap(({ costs = {} }) => Object.keys(costs)))
  const isSettled = ({ costName }: CompiledPolicy) =>
    costName === undefined ? named.size === 0 || cost > 0 : named.has(costName)
  const settled = charges.flatMap(({ policies }) => policies.filter(isSettled))
  if (settled.length === 0)
    throw invalidValue('reserve needs units that a policy counts: `costs` of a policy with a `cost`')
  for (const policy of settled) checkSettled(policy)
  return { forMs, isSettled }
}

/** Units counted in memory, or leased, are in no item that a settlement could correct. */
function checkSettled({ name, consistency, chargesAtTurn }: CompiledPolicy): void {
  if (consistency !== 'strict')
    throw invalidValue(`reserve needs policies with consistency "strict", policy ${printed(name)} has "${consistency}"`)
  if (chargesAtTurn) throw invalidValue(`reserve does not go with action "delay", which policy ${printed(name)} has`)
}
