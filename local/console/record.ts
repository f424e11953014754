import { type Dot, OUTCOMES, type Outcome } from '../../pages/console/protocol'
import type { Decided } from '../gateway/decided'

const KEEP_MS = 125_000
/** Two minutes at 200 a second. */
const MAX_DOTS = 25_000

/** The results of the requests of the last two minutes, and their totals since the start. */
export class Record {
  #dots: Dot[] = []
  #fresh: Dot[] = []
  #requests = 0
  #allowed = 0
  #denied = 0
  #degraded = 0
  #allowedBefore: number | undefined
  #circuitsOpen = 0

  constructor(private readonly clock: () => number) {}

  get counts() {
    const allowedWatched = this.#allowedBefore === undefined ? 0 : this.#allowed - this.#allowedBefore
    return {
      requests: this.#requests,
      allowed: this.#allowed,
      denied: this.#denied,
      degraded: this.#degraded,
      allowedWatched,
    }
  }

  get dots(): readonly Dot[] {
    this.#forget()
    return this.#dots
  }

  get circuitsOpen(): number {
    return this.#circuitsOpen
  }

  /** Starts counting DynamoDB's calls. */
  beginWatching(): void {
    this.#allowedBefore ??= this.#allowed
    this.#circuitsOpen = 0
  }

  decided({ status, context }: Decided): void {
    const outcome = outcomeOf(status, context)
    const isDegraded = context?.degraded === true || context?.degraded === 'true'
    this.#requests++
    if (outcome === 'allowed') this.#allowed++
    if (outcome === 'denied') this.#denied++
    if (isDegraded) this.#degraded++
    const dot: Dot = [this.clock(), OUTCOMES.indexOf(outcome), isDegraded ? 1 : 0]
    this.#dots.push(dot)
    if (this.#fresh.length < MAX_DOTS) this.#fresh.push(dot)
    if (this.#dots.length > MAX_DOTS * 1.2) this.#forget()
  }

  /** New instances begin with closed circuits. */
  logged(event: string): void {
    if (event === 'circuit_opened') this.#circuitsOpen++
    if (event === 'circuit_closed') this.#circuitsOpen = Math.max(0, this.#circuitsOpen - 1)
    if (event === 'replaced') this.#circuitsOpen = 0
  }

  /** The results since this was last called. */
  takeNew(): readonly Dot[] {
    const fresh = this.#fresh
    this.#fresh = []
    return fresh
  }

  #forget(): void {
    const from = this.clock() - KEEP_MS
    const first = this.#dots.findIndex(([at]) => at >= from)
    const kept = first === -1 ? [] : this.#dots.slice(first)
    this.#dots = kept.slice(-MAX_DOTS)
  }
}

/** The status decides; on HTTP APIs, where each denial is a 403, the authorizer's context does. */
function outcomeOf(status: number, context: Decided['context']): Outcome {
  if (status >= 500) return 'error'
  if (status === 401 || context?.reason === 'unauthorized') return 'unauthorized'
  if (context?.allowed === false || context?.allowed === 'false' || status === 429) return 'denied'
  return status < 400 ? 'allowed' : 'other'
}
