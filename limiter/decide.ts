import type { Verdicts } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import { afterSuccess, heldBackVerdicts, isHeldBack, noteDenial, THROTTLED_LOSSES } from './consistency/contention'
import { purge } from './item-maintenance'
import { type KnownItems, type Plan, READ, writing } from './plan'
import { isUnanswered, type Pending, type PendingBatch, sumOf, type Units } from './request'
import {
  allStepsAllow,
  answersFrom,
  charged,
  chargeWrites,
  deniedByRunning,
  type States,
  statesOf,
  stepAll,
  thatFit,
  verdictsOf,
} from './steps'
import type { Tried } from './store-calls'
import { inWrites } from './stores/expression-budget'
import { type Item, marksOf, type PolicyWrite, type WriteOutcome } from './stores/store'
import { isRecent, othersWrote, rememberDenial, type View } from './view'

/** From this level of contention on, an instance reads before it writes: a refused write costs as five reads do. */
const READ_FROM = 2

/**
 * Decides requests of one subject by one conditional write, and again while others change what it was based on.
 *
 * Nothing is answered from a guess: an allowed request is answered from the item that its write found, a denied one
 * from an item that was really there, and that others can only have made stricter since.
 */
export function* decide(items: KnownItems, { key, policies, requests }: PendingBatch, isThrottled = false): Plan<void> {
  let begunAt = items.now()
  let losses = isThrottled ? THROTTLED_LOSSES : 0

  for (let round = 0; requests.some(isUnanswered); round++) {
    const pending = requests.filter(isUnanswered)
    const now = items.now()
    begunAt = Math.min(begunAt, now) // a clock that is set back meanwhile dates a read before the decision
    const known = knowledgeOf(items, key, policies, now, begunAt)
    if (isThrottled) known.readFirst = !known.isFresh
    const next = planFor(known, policies, pending, now, round === 0)

    if (next.kind === 'read') {
      if (next.expectsRoom) losses = Math.max(1, losses)
      yield READ
      continue
    }
    if (next.kind === 'deny') {
      if (!(yield* recorded(items, next.denials, policies, known.view!.item, now))) continue
      const view = items.view(key) ?? known.view!
      const answers = next.denials.map(({ verdicts }) => verdicts)
      const asked = pending.map((request) => ({ ...request, policies }))
      const [one, first] = [asked[0]!, answers[0]!]
      if (round > 0) noteDenial(view, one, first, losses, items.options.denialTtlMs)
      if (answers.length === 1 && next.denials[0]!.records.length === 0) rememberDenial(view, policies, one, first, now)
      const reported = (verdicts: Verdicts, i: number) =>
        isHeldBack(view, asked[i]!, now) ? heldBackVerdicts(view, asked[i]!, verdicts, now) : verdicts
      answer(pending, answers.map(reported))
    } else if (next.kind === 'answer') {
      answer(next.admitted, answersFrom({ kind: 'applied', item: next.item }, next.admitted, policies, now))
    } else {
      const write = items.fit(next.parts, policies, known.view?.item, now)
      const outcome = (yield writing(write)) as Tried<WriteOutcome>
      const view = items.view(key)!
      if (outcome.kind === 'refused') {
        losses = Math.max(1, losses)
        view.shared = true
        items.options.onEvent({ kind: 'conflict' })
        for (const request of next.admitted) if (request.isSentOnce) request.verdicts = passedOver(next.verdicts)
        continue
      }
      const asKnown =
        outcome.kind === 'applied' && known.view !== undefined && !othersWrote(known.view.item, outcome.item)
      if (known.view && round === 0) view.shared = !asKnown
      if (view.contention) view.contention = afterSuccess(view.contention)
      losses = 0
      answer(next.admitted, answersAfter(next, outcome, asKnown, policies, now))
      const purging = purge(items, policies, view.item, now, asKnown)
      if (purging) yield* purging
    }
  }
}

/** The answer to a request that is sent once, where others were faster: only `allowed` says something. */
const passedOver = (verdicts: Verdicts): Verdicts => verdicts.map((verdict) => ({ ...verdict, allowed: false }))

function answer(requests: readonly Pending[], answers: readonly Verdicts[]): void {
  for (let i = 0; i < requests.length; i++) requests[i]!.verdicts = answers[i]!
}

/**
 * Writes denials down, for the policies that count those: while the item is as it was seen, since a denial by an older
 * one may be none. False when it is not.
 */
function* recorded(
  items: KnownItems,
  denials: readonly Denial[],
  policies: readonly CompiledPolicy[],
  seen: Item,
  now: EpochMs,
): Plan<boolean> {
  for (const { records } of denials) {
    if (records.length === 0) continue
    const { kind } = yield writing({ ...items.fit(records, policies, seen, now), whileMarks: marksOf(seen) })
    if (kind === 'refused') return false
  }
  return true
}

function knowledgeOf(
  items: KnownItems,
  key: string,
  policies: readonly CompiledPolicy[],
  now: EpochMs,
  begunAt: EpochMs,
): Knowledge {
  const { fleet } = items
  const view = items.view(key)
  if (view) fleet.observe(view, policies)
  const isFresh = view !== undefined && view.seenAt >= begunAt
  return {
    view,
    // a decision's own read is recent enough whatever the settings say
    isTrusted:
      view !== undefined && ((isFresh && view.seenAt <= items.now()) || isRecent(view, now, items.options.denialTtlMs)),
    isFresh,
    isYoung: view !== undefined && isRecent(view, now),
    readFirst: !isFresh && (view?.contention?.level ?? 0) >= READ_FROM,
    mayAdmit: (seen, costs) => fleet.mayAdmit(seen, policies, costs, now),
  }
}

/** What is known of a subject, and how far that can be relied on. */
interface Knowledge {
  readonly view: View | undefined
  /** The view is recent enough to deny by. */
  readonly isTrusted: boolean
  /** It was read since the decision began. */
  readonly isFresh: boolean
  /** It is so recent that no request has ended since, or hardly any. */
  readonly isYoung: boolean
  /** This instance lost its last writes to others, so a read before the next one is cheaper. */
  readFirst: boolean
  /** Whether a request that this view denies by our clock may pass by that of another instance. */
  mayAdmit(view: View, requests: readonly Units[]): boolean
}

/**
 * What to do next for requests of one subject:
 * - `read`: what is known is not recent enough to answer by; or it has room that others may have taken.
 * - `deny`: all of them are denied, in their order; `records` is written first where a policy counts denials.
 * - `answer`: the admitted ones pass uncharged, by what is known.
 * - `write`: one write that charges the admitted ones together.
 */
type Next =
  | { readonly kind: 'read'; readonly expectsRoom: boolean }
  | { readonly kind: 'deny'; readonly denials: readonly Denial[] }
  | { readonly kind: 'answer'; readonly admitted: readonly Pending[]; readonly item: Item }
  | {
      readonly kind: 'write'
      readonly admitted: readonly Pending[]
      readonly parts: readonly PolicyWrite[]
      /** The verdicts of a single request if the write finds the item as in the view. */
      readonly verdicts: Verdicts
    }

const READ_FIRST: Next = { kind: 'read', expectsRoom: false }

interface Denial {
  readonly verdicts: Verdicts
  readonly records: readonly PolicyWrite[]
}

/**
 * Plans the next step for requests of one subject; pure.
 *
 * @param pending one or more requests.
 * @param isFirst whether it is the first round: what a read or a refusal brought back needs no guess.
 */
function planFor(
  knowledge: Knowledge,
  policies: readonly CompiledPolicy[],
  pending: readonly Pending[],
  now: EpochMs,
  isFirst: boolean,
): Next {
  const { view } = knowledge
  const guessFrom = isFirst ? view : undefined
  const states = statesOf(view, policies)
  let admitted = pending.length === 1 ? pending : thatFit(states, policies, pending, now)
  let total = sumOf(admitted)
  let steps = stepAll(states, policies, total, now)
  if (admitted.length === 0 || !allStepsAllow(steps)) return planDenials(knowledge, states, policies, pending, now)

  // admitted without a charge, which needs a view as recent as a denial does
  const passesUncharged = steps.some(({ write }) => !write)
  if (passesUncharged && !knowledge.isTrusted) return READ_FIRST
  let parts = chargeWrites(steps, policies, total, now, guessFrom)
  // each hold is in both expressions, which other units are not
  while (total.holds && admitted.length > 1 && inWrites(parts).length > 1) {
    admitted = admitted.slice(0, Math.ceil(admitted.length / 2))
    total = sumOf(admitted)
    steps = stepAll(states, policies, total, now)
    parts = chargeWrites(steps, policies, total, now, guessFrom)
  }
  if (parts.length === 0) return { kind: 'answer', admitted, item: view!.item }
  if (knowledge.readFirst) return { kind: 'read', expectsRoom: true }
  return { kind: 'write', admitted, parts, verdicts: steps.map(({ verdict }) => charged(verdict, now)) }
}

function planDenials(
  knowledge: Knowledge,
  states: States,
  policies: readonly CompiledPolicy[],
  pending: readonly Pending[],
  now: EpochMs,
): Next {
  const { view, isFresh, isYoung } = knowledge
  if (!view || !knowledge.isTrusted || (!isFresh && knowledge.mayAdmit(view, pending))) return READ_FIRST
  let isCertain = true
  const denials = pending.map((request): Denial => {
    const steps = stepAll(states, policies, request, now)
    const verdicts = verdictsOf(steps, states, policies, now)
    isCertain &&= isFresh || isYoung || !deniedByRunning(verdicts, policies)
    const records = steps.flatMap(({ verdict, write }, i): PolicyWrite[] =>
      !verdict.allowed && write ? [{ prefix: policies[i]!.prefix, write }] : [],
    )
    return { records, verdicts }
  })
  return isCertain ? { kind: 'deny', denials } : READ_FIRST
}

/** The answers to the requests of a write that was applied. @param asKnown it found the item as it was planned for. */
const answersAfter = (
  { admitted, verdicts }: Extract<Next, { readonly kind: 'write' }>,
  found: WriteOutcome,
  asKnown: boolean,
  policies: readonly CompiledPolicy[],
  now: EpochMs,
): Verdicts[] => (asKnown && admitted.length === 1 ? [verdicts] : answersFrom(found, admitted, policies, now, verdicts))
