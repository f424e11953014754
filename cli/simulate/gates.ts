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
