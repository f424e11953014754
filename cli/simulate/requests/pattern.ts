import { UserError } from '../../exit'
import { parseDuration, printed } from '../../facade/values'
import type { LoggedRequest } from './logged-request'
import { sharedSenders } from './shared'

/** So many requests a second for a while. */
export interface Phase {
  readonly perSecond: number
  readonly forMs: number
}

/** A Friday: patterns are the same in each run, and so is where windows begin. */
const PATTERN_START = Date.UTC(2027, 0, 1)

const PHASE = /^\s*(\d{1,7}(?:\.\d{1,3})?)\s*\/\s*(s|m|h)\s+for\s+(\S+)\s*$/
const SECONDS = { s: 1, m: 60, h: 3600 } as const
const MAX_REQUESTS = 100_000_000

/**
 * Reads `20/s for 5m, then 200/s for 30s`.
 *
 * @throws UserError
 */
export function parsePattern(text: string): Phase[] {
  const phases = text.split(/,\s*then\s+|,|\s+then\s+/).map((part) => {
    const [, rate, unit, length] = PHASE.exec(part) ?? []
    const forMs = parseDuration(length)
    if (rate === undefined || forMs === undefined || !(Number(rate) >= 0))
      throw new UserError(
        `--pattern must be rates and how long each lasts, such as "20/s for 5m, then 200/s for 30s", got ${printed(part.trim())}`,
      )
    return { perSecond: Number(rate) / SECONDS[unit as keyof typeof SECONDS], forMs }
  })
  const requests = phases.reduce((sum, { perSecond, forMs }) => sum + (perSecond * forMs) / 1000, 0)
  if (requests < 1) throw new UserError(`--pattern ${printed(text)} has no request`)
  if (requests > MAX_REQUESTS)
    throw new UserError(
      `--pattern ${printed(text)} has ${Math.round(requests)} requests: at most ${MAX_REQUESTS} are simulated`,
    )
  return phases
}

const countOf = ({ perSecond, forMs }: Phase): number => Math.floor((perSecond * forMs) / 1000 + 1e-9)

export interface PatternOptions {
  /** How many clients send them, one after another in turns. */
  readonly clients: number
  /** @default that of known callers without one; with `anonymous`, each client is an address */
  readonly tier?: string
  readonly method: string
  readonly path: string
}

/** The requests of a pattern, evenly spaced, in pieces. */
export function* patternRequests(phases: readonly Phase[], options: PatternOptions): Generator<LoggedRequest[], void> {
  const { clients, tier, method, path } = options
  const senders = sharedSenders()
  const target = { method, path }
  let start = PATTERN_START
  let sent = 0
  let piece: LoggedRequest[] = []
  for (const phase of phases) {
    const count = countOf(phase)
    for (let i = 0; i < count; i++) {
      const one = sent++ % clients
      const at = start + Math.floor((i * 1000) / phase.perSecond)
      const ip = `10.${(one >> 16) & 255}.${(one >> 8) & 255}.${one & 255}`
      const sender =
        tier === 'anonymous' ? { ip } : { client: String(one + 1), ip, ...(tier !== undefined && { tier }) }
      piece.push({ at, wholeSecond: false, sender: senders.of(sender), target })
      if (piece.length === 1000) {
        yield piece
        piece = []
      }
    }
    start += phase.forMs
  }
  if (piece.length > 0) yield piece
}
