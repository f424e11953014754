import type { PolicyInput } from '../../limiter'
import type { Breach } from './laws'
import { durationMs, gridOf, type Numbers, quotaOf } from './quotas'
import { type Chronicle, type Instance, type Request, takenBy } from './simulation'

/** Admitted units, and the clock's times between which they were admitted. */
interface Admitted {
  readonly from: number
  readonly to: number
  readonly units: number
  readonly instance: Instance
  readonly degraded: boolean
}

/** Leased units are spent within so many milliseconds if the algorithm has no window grid. */
const HELD_MS = 2000
/** How long an instance decides by its eventual counts while it cannot sync. */
const OUT_OF_TOUCH_MS = 2000
/** The time of a call, including what it may have to wait for. */
const CALL_MS = 400

/**
 * Checks all admitted units against the bound of each consistency: the limit, the leased units that may outlive their
 * window, the eventual counts that are not synced yet, and one local share for each instance that decided without the
 * store.
 *
 * Instances whose clocks differ share no windows: those histories are left to the exact model.
 */
export function keepsBounds(chronicle: Chronicle): Breach[] {
  const { scenario, requests } = chronicle
  const sameClock =
    scenario.instances.every(({ skewMs }) => skewMs === 0) && !scenario.steps.some((step) => step.do === 'clock')
  const fixedMode = (scenario.onStoreError ?? 'local') === 'local'
  if (!sameClock || !fixedMode) return []
  const keys = new Set(requests.flatMap(({ keys }) => keys))
  const reset = new Set(requests.filter(({ step }) => step.do === 'reset').flatMap(({ keys }) => keys))
  return [...keys]
    .filter((key) => !reset.has(key))
    .flatMap((key) =>
      scenario.policies.flatMap((policy, i) => (policy.action ? [] : ofOnePolicy(chronicle, key, policy, i))),
    )
}

function ofOnePolicy(chronicle: Chronicle, key: string, policy: PolicyInput, i: number): Breach[] {
  const { scenario, requests, start } = chronicle
  const quota = quotaOf(policy)
  const all = requests.map(({ policies }) => quota.numbersOf(withOverrun(policies[i]!)))
  const numbers: Numbers = {
    limit: Math.max(...all.map(({ limit }) => limit)),
    burst: Math.max(...all.map(({ burst }) => burst)),
  }
  const admitted = admittedOf(requests, key, start, i)
  const { consistency = 'strict' } = policy
  const isHot = requests.some(({ calls }) => calls.some((call) => call.key === key && call.fate === 'hot'))
  const leased = consistency === 'leased' || isHot
  const grid =
    policy.refill === 'interval' ? (at: number) => Math.floor(at / durationMs(policy.window)) : gridOf(policy)
  const cap = policy.refill === 'interval' ? numbers.burst : numbers.limit
  const share = ({ limit, burst }: Numbers) =>
    Math.max(1, Math.floor((policy.refill === 'interval' ? burst : limit) * (scenario.localShare ?? 0.5)))
  /** Refunds without `chargedAt` may have taken units of other requests. */
  const guessed = requests.reduce((units, request) => {
    const { step, keys, policies, refundOptions } = request
    const isGuess = step.do === 'refund' && keys.includes(key) && refundOptions?.chargedAt === undefined
    return units + (isGuess ? takenBy(request, policies[i]!) : 0)
  }, 0)
  const excess = (those: readonly Admitted[]): number => {
    const alone =
      new Set(those.filter(({ degraded }) => degraded).map(({ instance }) => instance)).size * share(numbers)
    return alone + guessed + (consistency === 'eventual' ? untold(those, policy) : 0)
  }
  const tooMany = (those: readonly Admitted[], most: number, where: string): Breach[] => {
    const units = sum(those)
    const text = `${units} of ${key} were admitted in ${where}, where "${policy.name}" bounds them to ${most} and ${excess(those)}`
    return units > most + excess(those)
      ? [{ law: 'never past the bound', at: Math.max(...those.map(({ to }) => to)) - start, text }]
      : []
  }
  if (quota.mostWithin(numbers, 1) === Infinity) return []
  if (grid) {
    const inside = admitted.filter(({ from, to }) => grid(from) === grid(to))
    const windows = [...new Set(inside.map(({ from }) => grid(from)))]
    return windows.flatMap((window) =>
      tooMany(
        inside.filter(({ from }) => grid(from) === window),
        cap,
        `window ${window}`,
      ),
    )
  }
  const found: Breach[] = []
  for (const { from } of admitted) {
    for (const { to } of admitted) {
      if (to < from) continue
      const those = admitted.filter((one) => one.from >= from && one.to <= to)
      // A charge is stored at some time between its request and its answer, and a share starts anew when its window is
      // over.
      const ms = to - from + (leased ? HELD_MS : 0) + (consistency === 'eventual' ? 0 : CALL_MS)
      const renewed = those.some(({ degraded }) => degraded) ? 2 : 1
      found.push(...tooMany(those, renewed * quota.mostWithin(numbers, ms), `${to - from} ms`))
      if (found.length > 0) return found
    }
  }
  return found
}

const sum = (those: readonly Admitted[]): number => those.reduce((total, { units }) => total + units, 0)

const withOverrun = (policy: PolicyInput): PolicyInput => {
  if (!policy.overrun) return policy
  const more = Math.max(1, Math.floor((policy.limit * Number.parseInt(policy.overrun, 10)) / 100))
  return { ...policy, limit: policy.limit + more, burst: (policy.burst ?? policy.limit) + more }
}

/** Units that were admitted, and neither refunded nor given back by a settlement. */
function admittedOf(requests: readonly Request[], key: string, start: number, i: number): Admitted[] {
  const refunded = new Set(requests.map(({ refunds }) => refunds))
  const settledTo = requests.flatMap(({ used, ends }) =>
    used !== undefined && 'reserve' in ends!.request.step ? { decision: ends!.held.decision, used } : [],
  )
  return requests
    .filter((request) => request.keys.includes(key) && request.step.do !== 'peek' && !refunded.has(request))
    .flatMap((request) => {
      const { decisions, startedAt, instance, policies } = request
      const units = takenBy(request, policies[i]!)
      return decisions
        .filter(({ decision }) => decision.allowed && units > 0)
        .map(({ decision, endedAt }) => ({
          from: start + startedAt,
          to: start + endedAt,
          units: Math.min(units, ...settledTo.flatMap((one) => (one.decision === decision ? one.used : []))),
          instance,
          degraded: decision.degraded,
        }))
    })
}

/** For each instance, the most units that it admitted in one sync interval, and while it could not sync. */
function untold(those: readonly Admitted[], { syncMs = 1000 }: PolicyInput): number {
  const intervalMs = 2 * syncMs + Math.max(OUT_OF_TOUCH_MS, 5 * syncMs) + 2 * CALL_MS
  let units = 0
  for (const instance of new Set(those.map(({ instance }) => instance))) {
    const own = those.filter((one) => one.instance === instance)
    units += Math.max(
      ...own.map(({ from }) => sum(own.filter((one) => one.from >= from && one.to <= from + intervalMs))),
    )
  }
  return units
}
