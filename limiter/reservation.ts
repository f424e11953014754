import { createHash, randomBytes } from 'node:crypto'
import { isCharged } from './algorithms/algorithm'
import type { Fields } from './algorithms/conditional-write'
import { bind, type Counter } from './algorithms/counter'
import { holds, LONGEST_KEPT_MS } from './algorithms/holds'
import { nonBlocking } from './algorithms/non-blocking'
import { type CompiledPolicy, compile } from './compiled-policy'
import type { Decision } from './decision'
import { ReservationError } from './errors'
import { CALLER_WAITS } from './policies/over-limit'
import { POLICY_FIELDS, parsePolicies } from './policies/parse-policies'
import type { AnyPolicyInput } from './policies/policy'
import { LONGEST_HOLD_MS, MOST_SLOTS } from './policies/quota'
import { isPrefix } from './stores/attribute-prefix'
import type { Item } from './stores/store'
import { takenFrom, type Units } from './units'

/** Units that one request takes from one subject. */
export interface ReservedCharge extends Units {
  readonly key: string
  readonly policies: readonly CompiledPolicy[]
}

/** A reservation whose time is over is remembered, so that a late settlement charges what is beyond it. */
const QUOTA = { limit: MOST_SLOTS, keptMs: LONGEST_KEPT_MS, longestMs: LONGEST_HOLD_MS }

const reservationsBy = (counter: Counter, isObserved: boolean): CompiledPolicy => ({
  ...compile({
    name: 'reservations',
    limit: MOST_SLOTS,
    windowMs: LONGEST_HOLD_MS,
    counter,
    quota: QUOTA,
    stateSchema: 'reservations',
    nonBlocking: isObserved,
    waits: false,
    consistency: 'strict',
    written: { name: 'reservations', limit: MOST_SLOTS, window: '1d' },
  }),
  prefix: 'r0__', // no other policy can have it
  isInternal: true,
})

/** The policy under which a subject's open reservations are stored. */
export const RESERVATIONS = reservationsBy(bind(holds, QUOTA), false)

/** The same where all that is reserved only observes: a subject that has too many open is not denied for that. */
const OBSERVED = reservationsBy(nonBlocking(bind(holds, QUOTA), 'observe'), true)

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

type WrittenEntry = readonly [prefix: string, units: number, written: Partial<AnyPolicyInput>]
type WrittenSubject = readonly [key: string, entries: readonly WrittenEntry[]]
type Hint = readonly [uncharged: readonly number[], expiresAtSeconds?: number, fields?: readonly Fields[]]

/** Whether units of a policy are settled; a request may take none of it now, and some in the end. */
export type IsSettled = (policy: CompiledPolicy, units: number) => boolean

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
  readonly id: string
  /** The policies of which each subject holds units. */
  private readonly names: readonly (readonly string[])[]
  private readonly text: string

  /**
   * @param forMs how long units are reserved, in milliseconds.
   * @param isSettled whether the units of a policy are settled, so many as the request takes.
   */
  constructor(charges: readonly ReservedCharge[], forMs: number, isSettled: IsSettled) {
    const policies = charges.map((charge) =>
      charge.policies.filter((policy) => {
        const units = takenFrom(charge, policy)
        return policy.counter.isEndedByOthers ? units > 0 : isSettled(policy, units)
      }),
    )
    const held = policies.map((some, i) =>
      some.map((policy): WrittenEntry => [policy.prefix, takenFrom(charges[i]!, policy), shortForm(policy)]),
    )
    const subjects = charges.map(({ key }, i): WrittenSubject => [key, held[i]!])
    const holding = subjects.filter(([, entries]) => entries.length > 0)
    this.text = JSON.stringify([randomBytes(16).toString('base64url'), forMs, holding])
    this.id = nameOf(this.text)
    this.names = policies.filter((some) => some.length > 0).map((some) => some.map(({ name }) => name))
    this.charges = charges.map((charge, i) => {
      if (held[i]!.length === 0) return charge
      const reserved = policies[i]!.filter(({ counter }) => !counter.isEndedByOthers)
      const all = reserved.length > 0 ? withReservations(charge.policies, reserved) : charge.policies
      return { ...charge, policies: all, holds: [{ id: this.id, forMs }] }
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
    const hints = subjects.map(([key, entries], i): Hint => {
      const item = itemOf(key)
      const uncharged = this.names[i]!.map((name) => {
        const own = policies[name]
        return Number(own !== undefined && !isCharged(own))
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
    return this.token(hints)
  }

  /** What ends it where the answer of the store was lost, and it may stand there; `undefined` where nothing is held. */
  get tokenInDoubt(): string | undefined {
    if (this.names.length === 0) return undefined
    return this.token(this.charges.map(() => [[]]))
  }

  private token(hints: readonly Hint[]): string {
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

const lists = new WeakMap<CompiledPolicy, WeakMap<readonly CompiledPolicy[], readonly CompiledPolicy[]>>([
  [RESERVATIONS, new WeakMap()],
  [OBSERVED, new WeakMap()],
])

/** The same array for the same policies, so that requests can share writes. */
function withReservations(
  policies: readonly CompiledPolicy[],
  reserved: readonly CompiledPolicy[],
): readonly CompiledPolicy[] {
  const added = reserved.every(({ nonBlocking }) => nonBlocking) ? OBSERVED : RESERVATIONS
  const known = lists.get(added)!
  const list = known.get(policies) ?? [...policies, added]
  known.set(policies, list)
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

/** What a policy is, as short as it can be said: its prefix says which. */
function shortForm({ written }: CompiledPolicy): Partial<AnyPolicyInput> {
  const { name: _, consistency: __, ...fields } = written
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in POLICY_FIELDS))
}

function policyOf(written: Partial<AnyPolicyInput>): CompiledPolicy {
  const [policy] = parsePolicies([{ ...written, name: 'p' }], [], [], {}, undefined, CALLER_WAITS)
  if (!policy) throw new TypeError('no policy')
  return compile(policy)
}
