import { CLOCKS_DIFFER_MS, LONGEST_KEPT_MS } from '../../limiter/algorithms/holds'
import type { ConcurrencyInput } from '../../limiter/policies/policy'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import { idOf } from './holding'
import type { Breach, Law } from './laws'
import { durationMs } from './quotas'
import { isRefund, settledAsKnown } from './settled-units'
import { type Chronicle, type Entry, isReset, type Request } from './simulation'

/** How long a denial for want of a slot is remembered. */
const REMEMBERED_MS = 200

const ID = /^[0-9a-z]{25}$/

/** Something held, from the write that stored it to the one that removed it. */
interface Holding {
  readonly key: string
  readonly prefix: string
  readonly id: string
  readonly owner: Request
  readonly from: number
  readonly seq: number
  /** Whose write removed it, and when by that one's clock. */
  ended?: { readonly by: Request | undefined; readonly at: number }
  /** When its time is over, by the clock of the instance that stored it. */
  until: number
  to: number
}

/** What requests hold: slots, and units that are reserved. */
export function holdsLaws(chronicle: Chronicle): Breach[] {
  const { requests } = chronicle
  if (!requests.some(({ held, running }) => held.length > 0 || running)) return []
  const found: Breach[] = []
  const breach = (law: Law, at: number, text: string) => found.push({ law, at, text })
  const all = follow(chronicle, breach)
  for (const request of requests) {
    slotOfEach(request, all, breach)
    toldWhatEnded(chronicle, request, all, breach)
    if (!chronicle.scenario.steps.some((step) => step.do === 'clock')) deniedFor(chronicle, request, all, breach)
  }
  localSlots(chronicle, breach)
  return [...found, ...settledAsKnown(chronicle)]
}

type Report = (law: Law, at: number, text: string) => void

/** Reads the store's journal. */
function follow(chronicle: Chronicle, breach: Report): Holding[] {
  const all: Holding[] = []
  // what they admitted without the store is written while others are answered
  const aloneBy = new Set(
    chronicle.requests.flatMap(({ instance, decisions }) =>
      decisions.some(({ decision }) => decision.degraded) ? [instance] : [],
    ),
  )
  const sharedUnits = new SharedUnits()
  for (const entry of chronicle.entries) {
    const { call, at, outcome } = entry
    if (outcome !== 'applied' || call.kind === 'read') continue
    const live = all.filter(({ key, to }) => key === call.key && to === Infinity)
    if (isReset(entry)) {
      for (const one of live) one.to = at
      continue
    }
    const { parts, at: now } = call.write!
    const { request } = call
    const removed = new Set<string>()
    for (const { prefix, write } of parts) {
      let stored = 0
      for (const assignment of write.assignments) {
        if (!('field' in assignment) || !ID.test(assignment.field)) continue
        const id = assignment.field
        const one = live.find((other) => other.id === id && other.prefix === prefix)
        if ('set' in assignment && one) one.until = assignment.set
        else if ('set' in assignment && request) {
          const { set: until } = assignment
          all.push({ key: call.key, prefix, id, owner: request, from: at, seq: entry.seq, until, to: Infinity })
          stored++
        } else if ('remove' in assignment) {
          removed.add(id)
          if (!one) breach('a settlement counts once', at, `what ${who(request)} ended of ${call.key} was ended before`)
          else {
            one.to = at
            // what was given back of a request that failed goes on beside the next ones
            one.ended = { by: isRefund(entry) ? undefined : request, at: now }
            const isOver = one.until + CLOCKS_DIFFER_MS <= now
            if (!isOver && !mayEnd(entry, one))
              breach('a hold is ended by nobody else', at, `${who(request)} ended what ${who(one.owner)} holds`)
          }
        }
      }
      if (stored > 0 && request?.running && prefix === request.prefixes.at(-1))
        neverTooMany(chronicle, entry, prefix, all, breach)
    }
    if (
      isSettlement(request) &&
      changesUnits(entry) &&
      !aloneBy.has(call.instance) &&
      !(callerOf(request!) === call.key && removed.has(idOf(request!.ends!.held.token!))) &&
      !(callerOf(request!) !== call.key && sharedUnits.follow(entry, all))
    )
      breach('a settlement counts once', at, `${who(request)} changed units of ${call.key} beside no reservation`)
  }
  return all
}

/** Corrections of units of subjects that do not hold the reservation. */
class SharedUnits {
  private readonly givenBack = new Set<string>()

  /**
   * Whether a settlement may write so: a debt that was sent before its process knew of the reservation's end; and what
   * is given back once, after it ended the reservation.
   */
  follow({ call: { key, request, write, instance, sentAt } }: Entry, all: readonly Holding[]): boolean {
    const { ends } = request!
    const isBack = write!.parts.some(
      ({ prefix, write: { assignments } }) => prefix === RESERVATIONS.prefix && assignments.length === 0,
    )
    if (!isBack) {
      const isKnown = (by: Request | undefined) =>
        by?.instance === instance && by.ended === true && by.endedAt! <= sentAt
      const own = all.filter(({ owner, prefix }) => isOfUnits(prefix) && owner === ends!.request)
      return own.some(({ to }) => to === Infinity) || !own.some(({ ended }) => isKnown(ended?.by))
    }
    const hasEnded = all.some(
      ({ owner, prefix, ended }) => isOfUnits(prefix) && owner === ends!.request && ended?.by === request,
    )
    const back = `${request!.position} ${key}`
    const isFirst = !this.givenBack.has(back)
    this.givenBack.add(back)
    return isFirst && hasEnded
  }
}

const isOfUnits = (prefix: string): boolean => prefix === RESERVATIONS.prefix

/** The subject that holds what a settlement ends. */
const callerOf = ({ ends }: Request): string | undefined => ends!.request.caller ?? ends!.request.keys[0]

/** A settlement or a release says true only where it ended something whose time was not over long ago. */
function toldWhatEnded({ start }: Chronicle, request: Request, all: readonly Holding[], breach: Report): void {
  const { ended, ends, startedAt, errors, calls } = request
  if (ended === undefined || errors.length > 0 || ends!.held.token === undefined) return
  const held = all.filter(({ owner }) => owner === ends!.request)
  // a debt frees the slot of its subject before it is known who ends the reservation
  const counting =
    held.some(({ prefix }) => isOfUnits(prefix)) && !ended ? held.filter(({ prefix }) => isOfUnits(prefix)) : held
  const own = counting.filter((one) => one.ended?.by === request)
  const isTrue = own.some(({ prefix, until, ended }) => {
    const keptMs = isOfUnits(prefix) ? LONGEST_KEPT_MS : 0
    return until + keptMs + CLOCKS_DIFFER_MS > ended!.at
  })
  const isCalm = calls.every(({ fate }) => fate === 'ok')
  if (ended ? !isTrue : isTrue && isCalm)
    breach(
      'a settlement counts once',
      startedAt + start,
      `${who(request)} said ${ended}, and ended ${own.length} holds`,
    )
}

const who = (request: Request | undefined): string => `step ${request?.position} (${request?.step.do})`

const isSettlement = (request: Request | undefined): boolean =>
  request?.step.do === 'settle' && request.ends!.held.token !== undefined

/** Units are added to a strict policy, or taken from it; a removal alone may be a purge, others count in memory too. */
const changesUnits = (entry: Entry): boolean => {
  const { request, write, instance } = entry.call
  const strict = request!.policies.flatMap(({ consistency = 'strict' }, i) =>
    consistency === 'strict' ? [request!.prefixes[i]!] : [],
  )
  return (
    !instance.events.some(({ kind }) => kind === 'circuit') &&
    !isRefund(entry) && // of a request that was denied before
    write!.parts.some(
      ({ prefix, write: { assignments } }) =>
        strict.includes(prefix) && assignments.some((one) => !('remove' in one) && !('purge' in one)),
    )
  )
}

/** Whether this write belongs to a request that ends this hold, or to the one that was to have it. */
function mayEnd({ call: { request, instance } }: Entry, { owner, id }: Holding): boolean {
  if (request?.ends?.request === owner) {
    const { token } = request.ends.held
    return token === undefined || idOf(token) === id
  }
  // given back by a request that another policy or subject denied, or that was decided without the store meanwhile;
  // that may go on beside the next requests
  const keeps = owner.held.some(
    ({ token, decision }) => !decision.degraded && token !== undefined && idOf(token) === id,
  )
  return owner.instance === instance && !keeps
}

/** Never more slots of a subject that are neither released nor over than the limit. */
function neverTooMany(
  { start }: Chronicle,
  { call, at }: Entry,
  prefix: string,
  all: readonly Holding[],
  breach: Report,
): void {
  const { running, skewMs } = call.request!
  const taken = all.filter(
    (one) =>
      one.key === call.key &&
      one.prefix === prefix &&
      one.to === Infinity &&
      one.until - start - one.owner.skewMs > at &&
      skewMs - one.owner.skewMs <= CLOCKS_DIFFER_MS,
  )
  if (taken.length > running!.limit) {
    const text = `${who(call.request)} got a slot of ${call.key}: ${taken.length} are held, and ${running!.limit} is the limit`
    breach('never more slots than the limit', at, text)
  }
}

/** A request that the store admitted has a slot, of each of its subjects. */
function slotOfEach({ running, held, keys, decisions, ...request }: Request, all: readonly Holding[], breach: Report) {
  if (!running) return
  for (const { decision, token } of held) {
    if (decision.degraded) continue
    const { seq } = decisions.find((one) => one.decision === decision)!
    const id = token && idOf(token)
    const missing = keys.filter(
      (key) =>
        !all.some((one) => one.id === id && one.key === key && one.prefix === request.prefixes.at(-1) && one.seq < seq),
    )
    if (missing.length > 0)
      breach(
        'never more slots than the limit',
        request.startedAt,
        `step ${request.position} was allowed without a slot`,
      )
  }
}

/** A request is denied a slot only if all were taken at some time, as long ago at most as denials are remembered. */
function deniedFor({ start }: Chronicle, request: Request, all: readonly Holding[], breach: Report): void {
  const { running, keys, decisions, startedAt, skewMs, step } = request
  if (!running || step.do === 'peek') return
  for (const { decision, endedAt } of decisions) {
    if (decision.degraded || decision.allowed || !isDeniedBySlots(request, decision)) continue
    const since = startedAt - REMEMBERED_MS - 1
    const isFull = keys.some((key) => {
      const own = all.flatMap(({ key: other, prefix, from, to, until }) => {
        const isSlot = other === key && prefix === request.prefixes.at(-1)
        const end = Math.min(to, until + CLOCKS_DIFFER_MS - skewMs - start)
        return isSlot && end >= since && from <= endedAt ? { from, end } : []
      })
      const times = [since, ...own.map(({ from }) => from)].filter((at) => at >= since)
      return times.some((at) => own.filter(({ from, end }) => from <= at && at <= end).length >= running.limit)
    })
    if (!isFull)
      breach(
        'a slot is denied only where none is free',
        startedAt,
        `${who(request)} was denied a slot, and one was free`,
      )
  }
}

/** Whether no other policy than that on running requests denies. */
export const isDeniedBySlots = (
  { running, policies }: Request,
  { policies: standings }: Request['decisions'][number]['decision'],
): boolean =>
  running !== undefined &&
  standings[running.name]?.allowed === false &&
  policies.every(({ name }) => standings[name]?.allowed !== false)

/** What an instance admits by itself has at most its share of the slots. */
function localSlots({ scenario, requests }: Chronicle, breach: Report): void {
  const { running, onStoreError = 'local', localShare = 0.5, steps } = scenario
  if (!running || onStoreError !== 'local' || steps.some(({ do: kind }) => kind === 'clock')) return
  const share = Math.max(1, Math.floor(Math.max(...requests.map((one) => one.running!.limit)) * localShare))
  const timeoutMs = durationMs((running as ConcurrencyInput).timeout)
  const ends = requests.filter(({ step }) => step.do === 'release' || step.do === 'reset')
  const alone = requests.flatMap((request) =>
    request.held.flatMap((held) => {
      if (!held.decision.degraded) return []
      const { endedAt } = request.decisions.find(({ decision }) => decision === held.decision)!
      const ended = ends.filter(
        (one) => one.ends?.held === held || (one.step.do === 'reset' && request.keys.includes(one.keys[0]!)),
      )
      const released = ended.map(({ startedAt }) => startedAt).filter((at) => at >= request.startedAt)
      return { request, from: endedAt, to: Math.min(request.startedAt + timeoutMs, ...released) }
    }),
  )
  for (const { request, from } of alone) {
    for (const key of request.keys) {
      const here = alone.filter((one) => one.request.instance === request.instance && one.request.keys.includes(key))
      const count = here.filter((one) => one.from <= from && from < one.to).length
      if (count > share) {
        const text = `instance ${request.instance.place} admitted ${count} running requests of ${key} by itself, past its share ${share}`
        breach('one local share for each instance', from, text)
      }
    }
  }
}
