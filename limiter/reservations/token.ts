import { createHash, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, compile } from '../compiled-policy'
import { LATEST_MS, ReservationError } from '../errors'
import { MAX_HOLD_MS } from '../policies/duration'
import { CALLER_WAITS } from '../policies/over-limit'
import { POLICY_FIELDS, parsePolicies } from '../policies/parse-policies'
import type { AnyPolicyInput } from '../policies/policy'
import { isPrefix } from '../stores/attribute-prefix'
import { ALL_MARKS } from '../stores/store'
import { type Guess, RESERVATIONS, type Reserved, type ReservedUnits } from './reserved'

/**
 * A reservation as text: `2.<what it says>.<when it was charged>.<marks>.<proofs>`. The first part is deflated JSON,
 * which begins with the form, and its hash is the reservation's name: read in another form it names none. The others
 * are not covered by it: the time and the marks are guesses that a
 * write's guard checks, and proofs prove themselves.
 */
const VERSION = 2

type WrittenEntry = readonly [prefix: string, units: number, written: Partial<AnyPolicyInput>]
/** The caller, where anything is settled, is the first. */
export type WrittenSubject = readonly [key: string, entries: readonly WrittenEntry[]]

/** The longest token that is read, and the longest that it may say, in characters. */
const MAX_TOKEN = 20_000
const MAX_TEXT = 64 * 1024

export const writtenEntry = (policy: CompiledPolicy, units: number): WrittenEntry => [
  policy.prefix,
  units,
  shortForm(policy),
]

/** What a reservation says. */
export const textOf = (forMs: number, subjects: readonly WrittenSubject[], root: string | undefined): string =>
  JSON.stringify([
    VERSION,
    randomBytes(16).toString('base64url'),
    forMs,
    subjects,
    ...(root === undefined ? [] : [root]),
  ])

/** The name of a reservation, by what it says: 128 bits in 25 letters and digits. */
export const nameOf = (text: string): string =>
  BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 32)}`)
    .toString(36)
    .padStart(25, '0')

/** What goes with a reservation, and is not in its name. */
interface Hints {
  readonly chargedAt?: number
  /** Of the items of all subjects but the caller: that of refunds, or any where there is none. */
  readonly marks?: readonly (Guess['mark'] | undefined)[]
  readonly proofs?: string | undefined
}

export function toToken(text: string, { chargedAt, marks = [], proofs = '' }: Hints): string {
  const deflated = deflateRawSync(text).toString('base64url')
  const seen = marks.map((mark) => (mark ? `${mark[0].slice(1)}${mark[1].toString(36)}` : '')).join('-')
  return [VERSION, deflated, chargedAt?.toString(36) ?? '', seen, proofs].join('.')
}

/**
 * Reads what anybody may have written: all of it is checked that goes into an expression.
 *
 * @param own policies as they are now: units are settled by these where they still count in the same place.
 * @throws ReservationError where it is invalid.
 */
export function parseReservation(token: unknown, own: readonly CompiledPolicy[] = []): Reserved[] {
  try {
    const text = token as string
    check(text.length <= MAX_TOKEN)
    return text.startsWith(`${VERSION}.`) ? parse(text, own) : parseFirstForm(text, own)
  } catch {
    throw new ReservationError(token)
  }
}

/** Whatever is thrown while a reservation is read means that it is invalid. */
function check(isValid: boolean): void {
  if (!isValid) throw new TypeError()
}

function parse(token: string, own: readonly CompiledPolicy[]): Reserved[] {
  const parts = token.split('.')
  check(parts.length === 5)
  const [, deflated, time, seen, proofs] = parts as [string, string, string, string, string]
  const text = inflateRawSync(Buffer.from(deflated, 'base64url'), { maxOutputLength: MAX_TEXT }).toString()
  const [version, , forMs, subjects, root] = JSON.parse(text) as [number, string, number, WrittenSubject[], string?]
  check(version === VERSION)
  checkHolding(forMs, subjects)
  const chargedAt = time === '' ? undefined : timeIn(numberIn(time))
  const marks = ['', ...seen.split('-')].map(markIn)
  const parsed = subjects.map(([key, written]) => ({ key, entries: entriesOf(key, written, own) }))
  const observed = parsed.flatMap(({ entries }) => entries.filter((entry) => isSettled(entry) && entry.isObserved))
  const proven = provenBy(root, proofs)
  const hasUnits = parsed.some(({ entries }) => entries.some(isSettled))
  check(hasUnits || parsed.every(({ entries }) => entries.length > 0))
  const id = nameOf(text)
  return parsed.map(({ key, entries }, i) => ({
    key,
    id,
    forMs,
    entries: entries
      .filter(isSettled)
      .map((entry) => ({ ...entry, wasCharged: entry.isObserved ? proven?.[observed.indexOf(entry)] : true })),
    holders: [
      ...(hasUnits && i === 0 ? [RESERVATIONS] : []),
      ...entries.filter((entry) => !isSettled(entry)).map(({ policy }) => policy),
    ],
    isShared: hasUnits && i > 0,
    guess: { chargedAt, mark: marks[i] },
  }))
}

/** The form of 0.1.0 up to b620fa4: two parts of JSON, and the reservation is stored with each subject. */
function parseFirstForm(token: string, own: readonly CompiledPolicy[]): Reserved[] {
  const [text, hints] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString()) as [string, string]
  const [, forMs, subjects] = JSON.parse(text) as [string, number, WrittenSubject[]]
  const seen = JSON.parse(hints) as readonly [uncharged: unknown, expiry?: unknown, fields?: readonly object[]][]
  const id = nameOf(text)
  checkHolding(forMs, subjects)
  return subjects.map(([key, written], i) => {
    const all = entriesOf(key, written, own)
    check(all.length > 0)
    const entries = all
      .filter(isSettled)
      .map((entry) => ({ ...entry, wasCharged: entry.isObserved ? undefined : true }))
    const slots = all.filter((entry) => !isSettled(entry)).map(({ policy }) => policy)
    const until = (seen[i]?.[2]?.[0] as Record<string, unknown> | undefined)?.[id]
    const guess = Number.isSafeInteger(until) ? { chargedAt: timeIn((until as number) - forMs) } : {}
    const holders = [...(entries.length > 0 ? [RESERVATIONS] : []), ...slots]
    return { key, id, forMs, entries, holders, isShared: false, guess }
  })
}

interface Entry extends Omit<ReservedUnits, 'wasCharged'> {
  /** The policy only observed when the request came. */
  readonly isObserved: boolean
}

const isSettled = ({ policy }: Entry): boolean => !policy.counter.isEndedByOthers

function entriesOf(key: unknown, written: readonly WrittenEntry[], own: readonly CompiledPolicy[]): Entry[] {
  check(typeof key === 'string')
  return written.map(([prefix, units, policy]) => {
    check(Number.isSafeInteger(units) && units >= 0 && isPrefix(prefix))
    const then = { ...policyOf(policy), prefix }
    const now = own.find((one) => one.prefix === prefix && one.costName === then.costName && !one.chargesAtTurn)
    return { policy: now ?? then, units, isObserved: then.nonBlocking }
  })
}

function checkHolding(forMs: number, subjects: readonly WrittenSubject[]): void {
  check(Number.isSafeInteger(forMs) && forMs >= 0 && forMs <= MAX_HOLD_MS)
  const keys = new Set(subjects.map(([key]) => key))
  check(keys.size > 0 && keys.size === subjects.length)
}

/** A moment of which each algorithm knows the window. */
function timeIn(at: number): EpochMs {
  check(at >= 0 && at <= LATEST_MS)
  return at
}

function numberIn(text: string): number {
  const number = Number.parseInt(text, 36)
  check(Number.isSafeInteger(number))
  return number
}

function markIn(text: string): Guess['mark'] | undefined {
  if (text === '') return undefined
  const mark = ALL_MARKS.find((name) => name === `r${text[0]}`)
  check(mark !== undefined)
  return [mark!, numberIn(text.slice(1))]
}

/** What a policy is, as short as it can be said: its prefix says which. */
function shortForm({ written }: CompiledPolicy): Partial<AnyPolicyInput> {
  const { name: _, consistency: __, ...fields } = written
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in POLICY_FIELDS))
}

function policyOf(written: Partial<AnyPolicyInput>): CompiledPolicy {
  const [policy] = parsePolicies([{ ...written, name: 'p' }], [], [], {}, undefined, CALLER_WAITS)
  return compile(policy!) // which throws where there is none
}

/** Bytes of a secret and of its hash: more than anybody can try for a policy that denies nobody. */
const BYTES = 9
const CHARACTERS = (BYTES * 4) / 3

/** Proofs of which units were charged. They cannot be changed without the secrets that are not revealed. */
export interface ChargeProofs<Entry = { readonly key: string; readonly name: string }> {
  /** Hash of the hashes of all secrets: a part of what names the reservation. */
  readonly root: string
  reveal(wasCharged: (entry: Entry) => boolean): string
}

/**
 * A policy that only observes may let a request pass uncharged, which is known after the reservation was named. So the
 * name covers the hashes of two secrets for each such policy, and the one that is revealed says whether it was charged:
 * a one-time signature (Lamport, 1979) of one bit.
 */
export function proofsOf<Entry>(entries: readonly Entry[]): ChargeProofs<Entry> | undefined {
  if (entries.length === 0) return undefined
  const secrets = entries.map(() => [secret(), secret()] as const)
  return {
    root: hash(secrets.flat().map(hash).join('')),
    reveal: (wasCharged) =>
      entries
        .map((entry, i) => {
          const bit = Number(wasCharged(entry))
          return `${bit}${secrets[i]![bit]}${hash(secrets[i]![1 - bit]!)}`
        })
        .join(''),
  }
}

/** A bit, its secret, and the hash of the other's. */
const PROOF = new RegExp(`(.)(.{${CHARACTERS}})(.{${CHARACTERS}})`, 'g')

/** Whether the units of each such policy were charged; `undefined` where that is not proven. */
function provenBy(root: unknown, proofs: string): readonly boolean[] | undefined {
  const parts = [...proofs.matchAll(PROOF)] as unknown as [string, string, string, string][]
  const hashes = parts.flatMap(([, bit, open, other]) => (bit === '1' ? [other, hash(open)] : [hash(open), other]))
  return hash(hashes.join('')) === root ? parts.map(([, bit]) => bit === '1') : undefined
}

const secret = (): string => randomBytes(BYTES).toString('base64url')
const hash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, BYTES).toString('base64url')
