import type { PolicyInput } from '../../limiter'
import type { Breach } from './laws'
import { distinct, durationMs, NOTHING, type Numbers, type Quota, quotaOf, type Tally } from './quotas'
import { type Chronicle, type Instance, type Request, takenBy } from './simulation'

/** An item that is throttled is not asked again for so long. */
const COOLING_MS = 100
/** How far a scenario sets a clock back at most. */
const MAX_SET_BACK_MS = 6000

export function degradedOnes({ requests, scenario }: Chronicle): Breach[] {
  // by an instance's own clock, which lasts longer where that is set back
  const setBackMs = scenario.steps.some((step) => step.do === 'clock') ? MAX_SET_BACK_MS : 0
  return requests.flatMap(({ decisions, instance, startedAt, position, circuitOpen }) =>
    decisions.flatMap(({ decision, endedAt }): Breach[] => {
      const excused = circuitOpen || instance.failedAt >= startedAt - COOLING_MS - setBackMs
      return decision.degraded && !excused
        ? [
            {
              law: 'degraded only where the store failed',
              at: endedAt,
              text: `step ${position} was degraded, and no call had failed`,
            },
          ]
        : []
    }),
  )
}

/** What one instance admits by itself fits into its share of each limit, whatever the store does. */
export function localShares({ requests, instances, scenario }: Chronicle): Breach[] {
  const { onStoreError = 'local', policies } = scenario
  if (onStoreError !== 'local' || scenario.steps.some((step) => step.do === 'clock')) return []
  return instances.flatMap((instance) =>
    policies.flatMap((policy, i) => (isBounded(policy) ? ofOneShare({ requests, scenario }, instance, policy, i) : [])),
  )
}

const isBounded = (policy: PolicyInput): boolean => policy.overage !== 'allow' && !policy.action && !policy.overrun

function ofOneShare(
  { requests, scenario }: Pick<Chronicle, 'requests' | 'scenario'>,
  instance: Instance,
  policy: PolicyInput,
  i: number,
): Breach[] {
  const { localShare = 0.5, start = 1_763_683_200_000 } = scenario
  const quota = quotaOf(policy)
  const numbers = shareOf(largestOf(requests, i, policy, quota), localShare)
  const found: Breach[] = []
  /** For each subject all that the share may count. */
  const counts = new Map<string, Tally[]>()
  for (const request of requests) {
    if (request.instance !== instance || request.step.do === 'peek') continue
    const units = takenBy(request, request.policies[i]!)
    if (request.step.do === 'reset') counts.delete(request.keys[0]!)
    // Units that the store has not been told of are given back here.
    if (request.step.do === 'refund') {
      const { keys, refundOptions, startedAt, endedAt = startedAt, skewMs } = request
      const moments = [startedAt, endedAt].map((at) => Math.floor(at) + skewMs + start)
      const tallies = counts.get(keys[0]!) ?? []
      const left = tallies.flatMap((tally) =>
        moments.flatMap((at) => quota.refund(tally, numbers, units, at, refundOptions?.chargedAt ?? undefined, 0)),
      )
      if (tallies.length > 0) counts.set(keys[0]!, distinct([...tallies, ...left]))
    }
    for (const { decision, endedAt } of request.decisions) {
      if (!decision.degraded || units === 0) continue
      // Counted from the moment of the answer, or of the question: whichever has room.
      const now = Math.floor(endedAt) + request.skewMs + start
      const moments = [now, now - Math.floor(endedAt - request.startedAt)]
      for (const key of request.keys) {
        const tallies = counts.get(key) ?? [NOTHING]
        if (!decision.allowed) {
          counts.set(key, [...tallies, ...openedBy(policy, tallies, moments)])
          continue
        }
        const fitting = moments.flatMap((at) =>
          tallies.filter((tally) => quota.room(tally, numbers, units, at)).map((tally) => ({ tally, at })),
        )
        if (fitting.length === 0) {
          found.push({
            law: 'one local share for each instance',
            at: endedAt,
            text: `instance ${instance.place} admitted ${units} of ${key} by itself, past its share ${numbers.limit} of "${policy.name}"`,
          })
        }
        const [{ at } = { at: now }] = fitting
        const those = fitting.length > 0 ? fitting.filter((one) => one.at === at).map(({ tally }) => tally) : tallies
        counts.set(
          key,
          those.map((tally) => quota.charge(tally, numbers, units, at)),
        )
      }
    }
  }
  return found
}

/**
 * A denial by what was last seen in the store opens a window, as that use had: it ends before one that the next unit
 * opens.
 */
function openedBy(policy: PolicyInput, tallies: readonly Tally[], moments: readonly number[]): Tally[] {
  if (policy.algorithm !== 'anchored-window') return []
  const windowMs = durationMs(policy.window)
  return moments.flatMap((at) =>
    tallies.some(({ openedAt }) => openedAt === undefined || openedAt <= at - windowMs)
      ? [{ charged: [], newest: at, openedAt: at }]
      : [],
  )
}

function largestOf(requests: readonly Request[], i: number, policy: PolicyInput, quota: Quota): Numbers {
  const all = [policy, ...requests.map(({ policies }) => policies[i]!)].map((one) => quota.numbersOf(one))
  return { limit: Math.max(...all.map(({ limit }) => limit)), burst: Math.max(...all.map(({ burst }) => burst)) }
}

const shareOf = ({ limit, burst }: Numbers, share: number): Numbers => ({
  limit: Math.max(1, Math.floor(limit * share)),
  burst: Math.max(1, Math.floor(burst * share)),
})
