import { createHash, randomBytes } from 'node:crypto'
import type { Fields } from './algorithms/conditional-write'
import { bind } from './algorithms/counter'
import { holds } from './algorithms/holds'
import { type CompiledPolicy, compile, RUNNING } from './compiled-policy'
import type { Decision } from './decision'
import { ReservationError } from './errors'
import { CALLER_WAITS } from './policies/over-limit'
import { POLICY_FIELDS, parsePolicies } from './policies/parse-policies'
import type { PolicyInput } from './policies/policy'
import { isPrefix } from './stores/attribute-prefix'
import type { Item } from './stores/store'
import { namedUnits, type Units, unitsOf } from './units'

/** Units that one request takes from one subject. */
export interface ReservedCharge extends Units {
  readonly key: string
  readonly policies: readonly CompiledPolicy[]
}

/** Reservations of one subject that are open at one time. */
const MOST_RESERVATIONS = 1000
/** The longest that a reservation lasts, in milliseconds. */
export const LONGEST_RESERVATION_MS = 24 * 3_600_000
/** How long a reservation whose time is over is remembered, so that a late settlement charges what is beyond it. */
const KEPT_MS = 3_600_000

const QUOTA = { limit: MOST_RESERVATIONS, keptMs: KEPT_MS, longestMs: LONGEST_RESERVATION_MS }

/** The policy under which a subject's open reservations are stored. */
export const RESERVATIONS: CompiledPolicy = {
  ...compile({
    name: 'reservations',
    limit: MOST_RESERVATIONS,
    windowMs: LONGEST_RESERVATION_MS,
    counter: bind(holds, QUOTA),
    quota: QUOTA,
    stateSchema: 'reservations',
    nonBlocking: false,
    waits: false,
    consistency: 'strict',
    written: { name: 'reservations', limit: MOST_RESERVATIONS, window: '1d' },
  }),
  isInternal: true,
}

/** What a request holds of one subject: units that are reserved, slots, or both. */
export interface Reserved {
  readonly key: string
  readonly id: string
  /** How long the units are reserved, in milliseconds. */
  readonly forMs: number
  readonly entries: readonly ReservedUnits[]
  /** The policies under which it is stored. */
  readonly holders: readonly CompiledPolicy[]
  /** What was known of the subject just after, to plan the settlement by; it may be out of date, or wrong. */
  readonly hint: Item | undefined
}

/** What a request reserved of one policy. */
export interface ReservedUnits {
  readonly policy: CompiledPolicy
  readonly units: number
  /** Not charged: the policy only observed. */
  readonly isUncharged: boolean
}

type WrittenEntry = readonly [prefix: string, units: number, written: Partial<PolicyInput>]
type WrittenSubject = readonly [key: string, entries: readonly WrittenEntry[]]
type Hint = readonly [uncharged: readonly number[], expiresAtSeconds?: number, fields?: readonly Fields[]]

/**
 * What a request asks to hold: units that it is charged now, and settled when their true number is known, and slots of
 * policies that count running requests.
 *
 * It is named by a hash of all that it says and of 128 bits of chance, and the name is stored with the subjects. So
 * whoever changes what a reservation says names one that does not exist.
 */
export class Reservation {
  /** The same charges, each with what it holds. */
  readonly charges: readonly ReservedCharge[]
  private readonly text: string
  private readonly id: string

  /**
   * @param forMs how long units are reserved, in milliseconds.
   * @param isSettled whether the units of a policy are settled.
   */
  constructor(charges: readonly ReservedCharge[], forMs: number, isSettled: (policy: CompiledPolicy) => boolean) {
    const held = charges.map((charge) => {
      const named = namedUnits(charge)
      const policies = named.policies.filter((policy) => policy.counter.isEndedByOthers || isSettled(policy))
      return policies.map((policy): WrittenEntry => [policy.prefix, unitsOf(named, policy), shortForm(policy)])
    })
    const subjects = charges.map(({ key }, i): WrittenSubject => [key, held[i]!])
    const holding = subjects.filter(([, entries]) => entries.length > 0)
    this.text = JSON.stringify([randomBytes(16).toString('base64url'), forMs, holding])
    this.id = nameOf(this.text)
    this.charges = charges.map((charge, i) => {
      const { costs } = charge
      if (held[i]!.length === 0) return charge
      const reserves = held[i]!.some(([, , written]) => written.algorithm !== holds.name)
      const policies = reserves ? withReservations(charge.policies) : charge.policies
      // what takes units of a named cost alone is a request that holds, too
      const all = costs && Object.values(costs).some((units) => units > 0) ? { ...costs, [RUNNING]: 1 } : costs
      return { ...charge, policies, costs: all, holds: [{ id: this.id, forMs }] }
    })
  }

  /**
   * What settles it; `undefined` where nothing is held: the request was denied, or decided without the store.
   *
   * @param itemOf what was last seen of a subject.
   */
  tokenFor(decision: Decision, itemOf: (key: string) => Item | undefined): string | undefined {
    const { allowed, degraded, chargedAt, policies } = decision
    const [, , subjects] = JSON.parse(this.text) as [string, number, WrittenSubject[]]
    if (!allowed || degraded || chargedAt === null || subjects.length === 0) return undefined
    const hints = subjects.map(([key, entries]): Hint => {
      const item = itemOf(key)
      const uncharged = entries.map(([, , { name }]) => {
        const { exceeded = 'overrun' } = policies[name!] ?? {}
        return Number(exceeded !== 'overrun')
      })
      if (!item) return [uncharged]
      const fields = [RESERVATIONS.prefix, ...entries.map(([prefix]) => prefix)].map((prefix) => {
        const known = item.policies[prefix] ?? {}
        return this.id in known ? { n: 1, [this.id]: known[this.id]! } : known
      })
      // a list is written back whole, so it must not come from outside
      const hasList = fields.some((known) => Object.values(known).some(Array.isArray))
      return hasList || JSON.stringify(fields).length > MOST_HINT
        ? [uncharged]
        : [uncharged, item.expiresAtSeconds, fields]
    })
    return `${toText(this.text)}.${toText(JSON.stringify(hints))}`
  }
}

/** A hint that is longer is left out: settling then takes a call more. */
const MOST_HINT = 300
/** The longest token that is read. */
const MOST_TOKEN = 20_000

/**
 * Reads what anybody may have written: all of it is checked that goes into an expression. The guard is no protection
 * against a list, which is written back whole, nor against names with other words of an expression in them.
 *
 * @param own policies as they are now: units are settled by these where they still count in the same place.
 * @throws ReservationError where it is none.
 */
export function parseReservation(token: unknown, own: readonly CompiledPolicy[] = []): Reserved[] {
  try {
    if (typeof token !== 'string' || token.length > MOST_TOKEN) throw new TypeError('no text')
    const [text, hintText] = token.split('.').map(fromText) as [string, string]
    const [, forMs, subjects] = JSON.parse(text) as [string, number, WrittenSubject[]]
    const hints = JSON.parse(hintText) as Hint[]
    const id = nameOf(text)
    if (subjects.length === 0) throw new TypeError('no subjects')
    return subjects.map(([key, written], i): Reserved => {
      if (typeof key !== 'string' || written.length === 0) throw new TypeError('nothing is held')
      const [uncharged, expiresAtSeconds = 0, fields] = hints[i]!
      const entries = written.map(([prefix, units, policy], j): ReservedUnits => {
        if (!Number.isSafeInteger(units) || !isPrefix(prefix)) throw new TypeError('no units')
        const then = { ...policyOf(policy), prefix }
        const now = own.find((one) => one.prefix === prefix && one.costName === then.costName && !one.chargesAtTurn)
        return { policy: now ?? then, units, isUncharged: then.nonBlocking && uncharged[j] === 1 }
      })
      const [slots, settled] = [true, false].map((isSlot) =>
        entries.filter(({ policy }) => policy.counter.isEndedByOthers === isSlot),
      ) as [ReservedUnits[], ReservedUnits[]]
      const holders = [...(settled.length > 0 ? [RESERVATIONS] : []), ...slots.map(({ policy }) => policy)]
      const prefixes = [RESERVATIONS.prefix, ...written.map(([prefix]) => prefix)]
      const policies = Object.fromEntries(prefixes.map((prefix, j) => [prefix, fields?.[j] ?? {}]))
      const isUsable = Number.isSafeInteger(expiresAtSeconds) && Object.values(policies).every(areNumbers)
      const hint = isUsable ? { policies, marks: {}, expiresAtSeconds } : undefined
      return { key, id, forMs, entries: settled, holders, hint }
    })
  } catch {
    throw new ReservationError(token)
  }
}

const lists = new WeakMap<readonly CompiledPolicy[], readonly CompiledPolicy[]>()

/** The same array for the same policies, so that requests can share writes. */
function withReservations(policies: readonly CompiledPolicy[]): readonly CompiledPolicy[] {
  const list = lists.get(policies) ?? [...policies, RESERVATIONS]
  lists.set(policies, list)
  return list
}

const nameOf = (text: string): string =>
  BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 32)}`)
    .toString(36)
    .padStart(25, '0')

const areNumbers = (fields: Fields): boolean =>
  Object.entries(fields).every(([name, value]) => /^\w{1,32}$/.test(name) && Number.isSafeInteger(value))

const toText = (json: string): string => Buffer.from(json).toString('base64url')
const fromText = (text: string): string => Buffer.from(text, 'base64url').toString()

/** What a policy is, as short as it can be said. */
function shortForm({ written }: CompiledPolicy): Partial<PolicyInput> {
  const { consistency: _, ...fields } = written
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in POLICY_FIELDS))
}

function policyOf(written: Partial<PolicyInput>): CompiledPolicy {
  const [policy] = parsePolicies([written], [], [], {}, undefined, CALLER_WAITS)
  if (!policy) throw new TypeError('no policy')
  return compile(policy)
}
