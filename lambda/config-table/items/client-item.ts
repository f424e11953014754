import * as v from 'valibot'
import type { EpochMs } from '../../../limiter/clock'
import { type Mistake, printed } from '../../../limiter/errors'
import { checkFields, type FieldRules, type Place, report, TEXT } from '../../../limiter/policies/report'

/** A client as the config table knows it. */
export interface Client {
  readonly id: string
  readonly tier: string
  /** For people. */
  readonly name?: string
  /** Overrides of policies, by policy name. */
  readonly overrides: Readonly<Record<string, Override>>
  readonly disabled: boolean
  /** From when on its credentials are no longer accepted. */
  readonly expiresAt?: EpochMs
  /** The API Gateway key to which usage plans count its requests; `true`: the API key that a request shows. */
  readonly usageIdentifierKey?: string | true
}

/**
 * Replaces a policy's numbers by others, or by its current ones times a factor. The algorithm stays, and so does what
 * was counted.
 */
export interface Override {
  readonly limit?: number
  readonly burst?: number
  readonly factor?: number
  /** From when on the policy has its own numbers again. */
  readonly until?: EpochMs
}

const positiveInteger = {
  schema: v.pipe(v.number(), v.integer(), v.minValue(1)),
  wanted: 'a positive integer',
} as const

/** A date by which something ends, as ISO 8601 writes it, with a time zone where it has a time. */
export const DATE = {
  schema: v.pipe(
    v.string(),
    v.regex(/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/),
    v.check((date) => !Number.isNaN(Date.parse(date))),
  ),
  wanted: 'a date such as "2027-01-31" or "2027-01-31T12:00:00Z"',
  optional: true,
} as const

const OVERRIDE_FIELDS = {
  limit: { ...positiveInteger, optional: true },
  burst: { ...positiveInteger, optional: true },
  factor: {
    schema: v.pipe(v.number(), v.minValue(0.001), v.maxValue(1_000_000)),
    wanted: 'a number from 0.001 to 1000000',
    optional: true,
  },
  until: DATE,
} as const satisfies FieldRules

/** The fields of a client's item. */
export const CLIENT_FIELDS = {
  id: { schema: v.pipe(v.string(), v.minLength(1), v.maxLength(256)), wanted: 'a string of 1 to 256 characters' },
  tier: { schema: v.pipe(v.string(), v.minLength(1)), wanted: 'the name of a tier' },
  name: TEXT,
  overrides: {
    schema: v.custom<Record<string, unknown>>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    ),
    wanted: 'numbers by the name of a policy, such as { "per-minute": { "limit": 100 } }',
    optional: true,
  },
  disabled: { schema: v.boolean(), wanted: 'true or false', optional: true },
  expiresAt: DATE,
  usageIdentifierKey: {
    // as long as API Gateway's own keys are
    schema: v.union([v.literal(true), v.pipe(v.string(), v.regex(/^[!-~]{20,128}$/))]),
    wanted: 'the value of an API Gateway key, 20 to 128 characters, or true',
    optional: true,
    isSecret: true,
  },
  notes: TEXT,
} as const satisfies FieldRules

const PLACE: Place = ['client']

/** The client that an item describes; `undefined`, with every mistake reported, when the item is invalid. */
export function parseClientItem(item: Readonly<Record<string, unknown>>, issues: Mistake[]): Client | undefined {
  const { pk: _, sk: __, ...given } = item
  const before = issues.length
  const fields = checkFields(given, CLIENT_FIELDS, 'a client', PLACE, issues)
  const overrides = parseOverrides(fields?.overrides ?? {}, issues)
  if (issues.length > before) return undefined
  const {
    id,
    tier,
    name,
    disabled = false,
    expiresAt,
    usageIdentifierKey,
  } = fields as Pick<Client, 'id' | 'tier' | 'name' | 'usageIdentifierKey'> & { disabled?: boolean; expiresAt?: string }
  return {
    id,
    tier,
    name,
    overrides,
    disabled,
    ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }),
    ...(usageIdentifierKey !== undefined && { usageIdentifierKey }),
  }
}

function parseOverrides(given: object, issues: Mistake[]): Record<string, Override> {
  const right = Object.entries(given).map(([name, override]) => [name, parseOverride(name, override, issues)])
  if (right.length > 100) report(issues, 'too_many', `overrides must be at most 100, got ${right.length}`, PLACE)
  return Object.fromEntries(right)
}

function parseOverride(name: string, given: unknown, issues: Mistake[]): Override | undefined {
  const place = [...PLACE, `override ${printed(name)}`]
  const before = issues.length
  const fields = checkFields(given, OVERRIDE_FIELDS, 'an override', place, issues)
  if (!fields || issues.length > before) return undefined
  const { until, ...numbers } = fields as Omit<Override, 'until'> & { readonly until?: string }
  if ((numbers.limit === undefined) === (numbers.factor === undefined))
    report(issues, 'fields_conflict', 'limit or factor must be set, and not both', place)
  if (numbers.burst !== undefined && numbers.factor !== undefined)
    report(issues, 'fields_conflict', 'burst needs limit; factor applies to both', place)
  return { ...numbers, ...(until !== undefined && { until: Date.parse(until) }) }
}

/** The client with the overrides that are in force at a moment. */
export function clientAt(client: Client, now: EpochMs): Client {
  const all = Object.entries(client.overrides)
  const inForce = all.filter(([, { until = Infinity }]) => now < until)
  return inForce.length === all.length ? client : { ...client, overrides: Object.fromEntries(inForce) }
}

/** A policy's numbers under an override. Those of a factor are rounded to whole units, at least one. */
export function numbersOf({ factor, limit, burst }: Override, own: Numbers): Numbers {
  if (factor === undefined) return { limit: limit!, ...(burst !== undefined && { burst }) }
  const times = (units: number) => Math.max(1, Math.round(units * factor))
  return { limit: times(own.limit), ...(own.burst !== undefined && { burst: times(own.burst) }) }
}

interface Numbers {
  readonly limit: number
  readonly burst?: number
}
