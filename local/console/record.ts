import type { Decision, Tally } from '../../pages/console/protocol'
import type { Decided } from '../gateway/decided'

/** Two minutes, and a bar more. */
const KEEP_SECONDS = 125
/** The maximum of decisions kept, the oldest first out: their answers are read within milliseconds. */
const MAX_DECISIONS = 1000

type Counts = [allowed: number, denied: number, allowedDegraded: number, deniedDegraded: number, other: number]

/** The results of all requests of the last two minutes, by second, and their totals since the start. */
export class Record {
  readonly #bySecond = new Map<number, Counts>()
  readonly #fresh = new Set<number>()
  readonly #decisions = new Map<string, Decision>()
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

  get tallies(): readonly Tally[] {
    this.#forget()
    return [...this.#bySecond]
  }

  get circuitsOpen(): number {
    return this.#circuitsOpen
  }

  /** Starts counting DynamoDB's calls. */
  beginWatching(): void {
    this.#allowedBefore ??= this.#allowed
    this.#circuitsOpen = 0
  }

  decided({ id, status, context }: Decided): void {
    const outcome = outcomeOf(status, context)
    const isDegraded = isTrue(context?.degraded)
    this.#requests++
    if (outcome === 'allowed') this.#allowed++
    if (outcome === 'denied') this.#denied++
    if (isDegraded) this.#degraded++
    const second = Math.floor(this.clock() / 1000)
    const counts = this.#bySecond.get(second) ?? [0, 0, 0, 0, 0]
    counts[outcome === 'other' ? 4 : (outcome === 'allowed' ? 0 : 1) + (isDegraded ? 2 : 0)]!++
    this.#bySecond.set(second, counts)
    this.#fresh.add(second)
    if (this.#bySecond.size > 2 * KEEP_SECONDS) this.#forget()
    if (id !== undefined && context) this.#decisions.set(id, decisionIn(context))
    if (this.#decisions.size > MAX_DECISIONS) this.#decisions.delete(this.#decisions.keys().next().value!)
  }

  /** How the authorizer decided a request, by API Gateway's id of it; `undefined` where it did not. */
  decisionOf(id: string): Decision | undefined {
    return this.#decisions.get(id)
  }

  /** New instances begin with closed circuits. */
  logged(event: string): void {
    if (event === 'circuit_opened') this.#circuitsOpen++
    if (event === 'circuit_closed') this.#circuitsOpen = Math.max(0, this.#circuitsOpen - 1)
    if (event === 'replaced') this.#circuitsOpen = 0
  }

  /** The seconds that have changed since this was last called. */
  takeNew(): readonly Tally[] {
    const fresh = [...this.#fresh].flatMap((second) => {
      const counts = this.#bySecond.get(second)
      return counts ? [[second, counts] as const] : []
    })
    this.#fresh.clear()
    return fresh
  }

  #forget(): void {
    const from = this.clock() / 1000 - KEEP_SECONDS
    for (const second of this.#bySecond.keys()) if (second < from) this.#bySecond.delete(second)
    for (const second of this.#fresh) if (second < from) this.#fresh.delete(second)
  }
}

/** The status decides; on HTTP APIs, where each denial is a 403, the authorizer's context does. */
function outcomeOf(status: number, context: Decided['context']): 'allowed' | 'denied' | 'other' {
  if (status >= 500 || status === 401 || context?.reason === 'unauthorized') return 'other'
  if (isFalse(context?.allowed) || status === 429) return 'denied'
  return status < 400 ? 'allowed' : 'other'
}

function decisionIn(context: NonNullable<Decided['context']>): Decision {
  const text = (key: string) => String(context[key] ?? '')
  const number = (key: string) => Number(context[key] ?? 0)
  return {
    allowed: isTrue(context.allowed),
    degraded: isTrue(context.degraded),
    reason: text('reason'),
    policy: text('policy'),
    detail: text('detail'),
    limit: number('limit'),
    remaining: number('remaining'),
    retryAfter: number('retryAfter'),
  }
}

const isTrue = (value: unknown): boolean => value === true || value === 'true'
const isFalse = (value: unknown): boolean => value === false || value === 'false'
