import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { Summary } from './report/summary'

/** A condition under which the command fails. */
export interface Gate {
  readonly text: string
  readonly needsAgainst: boolean
  /** The client whose denials it counts. */
  readonly client?: string
  valueIn(summary: Summary, deniedOf: (client: string) => number): number
  isMet(value: number): boolean
}

/** How much of a log may be unjudged before conditions say nothing: so many lines, or a share of them. */
export interface Tolerance {
  readonly text: string
  readonly lines?: number
  readonly share?: number
}

/**
 * Reads `100`, `0.5%`.
 *
 * @throws UserError
 */
export function parseTolerance(text: string): Tolerance {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text.trim()) ?? []
  if (number === undefined || (percent === '' && number.includes('.')) || (percent && Number(number) > 100))
    throw new UserError(`--max-unjudged must be a number of lines or a share such as 0.5%, got ${printed(text)}`)
  return percent ? { text, share: Number(number) / 100 } : { text, lines: Number(number) }
}

/** Lines that cannot be read, and requests that cannot be understood: what became of them, a condition cannot know. */
export const unjudgedIn = ({ unreadable, undecided }: Summary): number => unreadable + (undecided.malformed ?? 0)

/** The condition that stands behind all others. */
export const gateOf = ({ text, lines, share }: Tolerance): Gate => ({
  text: `unreadable lines and requests that cannot be understood > ${text} (--max-unjudged)`,
  needsAgainst: false,
  valueIn: (summary) =>
    lines === undefined
      ? unjudgedIn(summary) / Math.max(1, summary.requests + summary.unreadable)
      : unjudgedIn(summary),
  isMet: (value) => value > (lines ?? share!),
})

const COUNTS: Readonly<Record<string, (summary: Summary) => number>> = {
  denied: ({ denied }) => denied,
  'denied-share': ({ deniedShare }) => deniedShare * 100,
  unreadable: ({ unreadable }) => unreadable,
  'newly-denied-clients': ({ newlyDeniedClients }) => newlyDeniedClients!,
  'newly-denied-requests': ({ newlyDeniedRequests }) => newlyDeniedRequests!,
}

const COMPARE: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  '>': (one, other) => one > other,
  '>=': (one, other) => one >= other,
  '=': (one, other) => Math.abs(one - other) < 1e-9,
}

const GATE = /^\s*(client:.+?|[^\s<>=]+)\s*(>=|>|=)\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/s

/**
 * Reads `newly-denied-clients > 0`.
 *
 * @throws UserError
 */
export function parseGate(text: string): Gate {
  const [, what = '', sign = '', number = '', percent] = GATE.exec(text) ?? []
  const client = what.startsWith('client:') ? what.slice('client:'.length) : undefined
  const count = Object.hasOwn(COUNTS, what) ? COUNTS[what] : undefined
  if (client === undefined && !count)
    throw new UserError(
      `--fail-if must compare ${Object.keys(COUNTS).join(', ')} or client:<id> by >, >= or = with a number, such as "newly-denied-clients > 0", got ${printed(text)}`,
    )
  if (percent && what !== 'denied-share')
    throw new UserError(`--fail-if: only denied-share is in %, got ${printed(text)}`)
  const limit = Number(number)
  return {
    text: text.trim(),
    needsAgainst: what.startsWith('newly-'),
    client,
    valueIn: (summary, deniedOf) => (client === undefined ? count!(summary) : deniedOf(client)),
    isMet: (value) => COMPARE[sign]!(value, limit),
  }
}
