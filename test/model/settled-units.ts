import type { PolicyInput } from '../../limiter'
import { REFUND_MARK } from '../../limiter/stores/store'
import { idOf } from './holding'
import type { Breach } from './laws'
import { gridOf, NOTHING, type Quota, quotaOf, type Tally } from './quotas'
import { type Chronicle, type Entry, type Request, takenBy } from './simulation'

/** A charge in the store's journal, and what it was settled to. */
interface Charge {
  readonly request: Request
  readonly at: number
  /** The prefixes of the policies that were charged: a denial may count in some. */
  readonly prefixes: ReadonlySet<string>
  settled?: { readonly used: number; readonly at: number }
}

/**
 * Compares each decision with what would have been decided if the true units of all requests that are settled had been
 * known when they were charged: never more generous; and the same to the unit, where the settlement came in the window
 * of its charge.
 *
 * It makes no statement about a subject once units of it were refunded, counted in memory or charged in one write for
 * several requests, nor where clocks differ.
 */
export function settledAsKnown(chronicle: Chronicle): Breach[] {
  const { scenario, requests, entries } = chronicle
  const { instances, steps } = scenario
  if (steps.some((step) => step.do === 'clock') || instances.some(({ skewMs }) => skewMs !== instances[0]!.skewMs))
    return []
  const mixed = steps.some((step) => step.do === 'change' && step.percent !== 100)
  const keys = new Set(requests.flatMap(({ keys }) => keys))
  const found: Breach[] = []
  for (const key of keys) {
    const doubtful = doubtfulFrom(chronicle, key)
    let charges: Charge[] = []
    for (const entry of entries) {
      const { call, outcome, seq } = entry
      if (call.key !== key || outcome !== 'applied') continue
      if (seq >= doubtful) break
      if (call.kind === 'delete') charges = []
      else if (call.request && call.kind === 'write') {
        const { request } = call
        if (request.step.do === 'settle') settle(charges, entry)
        else {
          const prefixes = chargedBy(entry)
          if (prefixes.size === 0) continue
          if (charges.some((one) => one.request === request)) break // counts twice, as documented
          found.push(...atCharge(charges, entry, request, mixed))
          charges.push({ request, at: call.write!.at, prefixes })
        }
      }
    }
  }
  return found
}

/** The first entry from which on nobody can know the units of a subject exactly. */
function doubtfulFrom({ requests, entries }: Chronicle, key: string): number {
  const own = requests.filter(({ keys }) => keys.includes(key))
  const unknown = own.flatMap(({ step, decisions, calls, startSeq }) => {
    const isBurst = step.do === 'take' && step.times !== undefined
    const isHot = calls.some((call) => call.key === key && call.fate === 'hot')
    const isAlone = decisions.some(({ decision }) => decision.degraded && decision.allowed)
    return isBurst || isHot || isAlone ? [startSeq] : []
  })
  const refunds = entries.flatMap(({ call, seq, outcome }) =>
    call.key === key && outcome === 'applied' && call.write?.id.mark === REFUND_MARK ? [seq] : [],
  )
  return Math.min(Infinity, ...unknown, ...refunds)
}

/** The prefixes of the policies that a write charges; a removal alone is a purge. */
const chargedBy = ({ call: { request, write } }: Entry): ReadonlySet<string> => {
  const { step, prefixes, policies } = request!
  if (step.do !== 'take' && step.do !== 'takeAll') return new Set()
  const charged = write!.parts.filter(
    ({ prefix, write: { assignments } }) =>
      prefixes.slice(0, policies.length).includes(prefix) &&
      assignments.some((one) => !('remove' in one) && !('purge' in one)),
  )
  return new Set(charged.map(({ prefix }) => prefix))
}

function settle(charges: readonly Charge[], { call: { request, write } }: Entry): void {
  const { step, ends } = request!
  const { token } = ends!.held
  const charge = charges.find((one) => one.request === ends!.request)
  if (step.do !== 'settle' || token === undefined || !charge) return
  const id = idOf(token)
  const isEnd = write!.parts.some(({ write: { assignments } }) =>
    assignments.some((one) => 'remove' in one && one.field === id),
  )
  if (isEnd && 'reserve' in charge.request.step) charge.settled = { used: step.used, at: write!.at }
}

function atCharge(before: readonly Charge[], entry: Entry, request: Request, mixed: boolean): Breach[] {
  const { step, decisions, calls } = request
  const [{ decision } = { decision: undefined }] = decisions
  const isTold =
    step.do === 'take' && decision?.allowed && !decision.degraded && calls.every(({ fate }) => fate === 'ok')
  if (!isTold || !before.some(({ settled }) => settled)) return []
  const now = entry.call.write!.at
  return request.policies.flatMap((policy, i): Breach[] => {
    const quota = quotaOf(policy)
    const units = takenBy(request, policy)
    const isFollowed = (policy.consistency ?? 'strict') === 'strict' && !quota.deny && policy.mode !== 'queue'
    if (!isFollowed || units === 0 || (mixed && !quota.sharesCounts)) return []
    const tally = before.reduce((one, charge) => asKnown(one, charge, quota, i), NOTHING)
    const numbers = quota.numbersOf(policy)
    const told = decision.policies[policy.name]!.remaining
    const text = (what: string) =>
      `step ${request.position} was charged ${units} of ${entry.call.key} at ${now}, and "${policy.name}" ${what} if what was settled had been known`
    const law = 'settled as if known at the beginning'
    if (policy.algorithm === 'sliding-log' && before.some((one) => owes(one, i))) return [] // as far as the log has room
    if (!quota.room(tally, numbers, units, now)) return [{ law, at: entry.at, text: text('had no room') }]
    const left = quota.remaining(quota.charge(tally, numbers, units, now), numbers, now)
    if (told > left) return [{ law, at: entry.at, text: text(`had ${left} left instead of ${told}`) }]
    return told < left && before.every((one) => isInWindow(one, i))
      ? [{ law, at: entry.at, text: text(`had ${left} left, and not only ${told}`) }]
      : []
  })
}

/** The tally with what a request used in the end. */
function asKnown(tally: Tally, { request, at, prefixes, settled }: Charge, quota: Quota, i: number): Tally {
  const policy = request.policies[i]!
  const reserved = takenBy(request, policy)
  return reserved === 0 || !prefixes.has(request.prefixes[i]!)
    ? tally
    : quota.charge(tally, quota.numbersOf(policy), settled?.used ?? reserved, at)
}

const owes = ({ request, settled }: Charge, i: number): boolean =>
  settled !== undefined && settled.used > takenBy(request, request.policies[i]!)

/** Whether a charge stays as it was, or was settled in its window and in time. */
function isInWindow({ request, at, settled }: Charge, i: number): boolean {
  if (!settled) return true
  const policy: PolicyInput = request.policies[i]!
  const grid = gridOf(policy)
  const { reserve = 0 } = request.step as { readonly reserve?: number }
  return grid !== undefined && grid(at) === grid(settled.at) && settled.at <= at + reserve
}
