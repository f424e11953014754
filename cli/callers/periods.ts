import { type CompiledPolicy, fieldsOf, gridOf, usageOf } from '../facade/limiter'
import type { Item } from '../facade/tables'

/** What a policy that allows overage has on record of one of its windows. */
export interface Period {
  /** Its first instant, as ISO 8601 writes it in UTC. */
  readonly start: string
  /** The first instant that is no longer in it. */
  readonly end: string
  /** Units charged, those past the quota included. */
  readonly used: number
  /** Those that were past the quota. */
  readonly overage: number
}

/** The windows on record, newest first; `undefined` for a policy that denies what is past its quota. */
export function periodsOf(item: Item, compiled: CompiledPolicy): Period[] | undefined {
  const { written } = compiled
  if (written.overage !== 'allow') return undefined
  const recorded = usageOf(fieldsOf(item, compiled)!, { grid: gridOf(written) })
  return recorded.map(({ startAt, endsAt, used, overage }) => ({
    start: isoTime(startAt),
    end: isoTime(endsAt),
    used,
    overage,
  }))
}

export const allowsOverage = ({ written }: CompiledPolicy): boolean => written.overage === 'allow'

/** As ISO 8601 in UTC, to the second where it is a whole one. */
export const isoTime = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')
