import { invalidValue, StoreUnavailableError } from '../limiter/errors'
import type { UsedUnits } from '../limiter/options'
import type { Meter } from '../limiter/reservations/meter'
import type { Connection } from './connection'
import { type Held, type RequestReservation, refuseUnits } from './reservation'

/** How long a handler that debits is waited for after its client has left, if it is not seen otherwise. */
const NEXT_DEBIT_MS = 2000

/** What a request holds of several limiters. */
export class RequestReservations implements RequestReservation {
  private readonly held = new Set<Held>()
  private readonly meters = new Map<Held, Meter>()
  /** Whether any middleware reserves units, though of this request it may not have. */
  private reserves = false
  private isHeld = false
  private hasLeft = false
  private isOver = false
  private isSettled = false
  /** What a settlement said that the store did not get. */
  private used: UsedUnits | undefined
  private last: Promise<unknown> = Promise.resolve()
  private endWait = () => {}

  /** Says that a middleware reserves units of requests like this one. */
  expectUnits(): void {
    this.reserves = true
  }

  /** Adds what is held until the request has ended. */
  add(held: Held, connection: Connection): void {
    this.held.add(held)
    connection.onEnd(() => this.end(held))
    if (held.meter) connection.onLeave(() => this.leave(connection))
  }

  get reservations(): readonly string[] {
    return [...this.held].flatMap(({ token }) => token ?? [])
  }

  hold(): boolean {
    this.isHeld = this.held.size > 0
    return this.isHeld
  }

  async debit(units: UsedUnits): Promise<{ readonly stop: boolean }> {
    if (!this.reserves) refuseUnits('debit')
    if (this.isSettled) throw invalidValue('debit must come before settle, got it after')
    if (this.isOver) return { stop: true }
    const metered = [...this.held].filter(({ meter }) => meter)
    const debits = await Promise.all(metered.map((held) => this.meterOf(held).debit(units)))
    const isLeft = this.hasLeft && !this.isHeld
    if (isLeft) this.endWait()
    return { stop: isLeft || debits.some(({ stop }) => stop) }
  }

  async settle(used?: UsedUnits): Promise<boolean> {
    if (used !== undefined && !this.reserves) refuseUnits('settle')
    const settled = await Promise.all([...this.held].map((held) => this.close(held, used)))
    this.isHeld = false
    this.isSettled = this.held.size === 0
    this.endWait()
    return settled.includes(true)
  }

  /** Gives back what was held for a request that no handler has served. */
  giveBack(held: Held): void {
    void this.close(held, undefined, () => held.meter?.().settle() ?? held.settle()).catch(() => {})
  }

  /** Settles what a request held that has ended, unless its handler holds it. */
  private end(held: Held): void {
    if (this.isHeld) return
    this.isOver = true
    void this.close(held).catch(() => {})
  }

  /** The client has left. A handler that debits, and of which nothing else is seen, counts as running until it does. */
  private leave(connection: Connection): void {
    this.hasLeft = true
    if (this.meters.size === 0 || connection.isSeenToRun) return
    const end = connection.begin()
    const timer = setTimeout(end, NEXT_DEBIT_MS).unref()
    const { endWait } = this
    this.endWait = () => {
      endWait()
      clearTimeout(timer)
      end()
    }
  }

  /** One after another. */
  private close(held: Held, used?: UsedUnits, settle = () => this.settleOne(held, used)): Promise<boolean> {
    const closed = this.last.then(async () => {
      if (!this.held.has(held)) return false
      try {
        const settled = await settle()
        this.held.delete(held)
        return settled
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error
        this.used = used ?? this.used
        return false
      }
    })
    this.last = closed.catch(() => {})
    return closed
  }

  private settleOne(held: Held, used = this.used): Promise<boolean> {
    if (!held.meter) return held.settle()
    return this.meters.get(held)?.settle(used) ?? held.settle(used)
  }

  private meterOf(held: Held): Meter {
    const meter = this.meters.get(held) ?? held.meter!()
    this.meters.set(held, meter)
    return meter
  }
}
