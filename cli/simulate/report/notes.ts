import { isOfEverybody, type TierPolicy } from '../../facade/policies'
import { counted } from '../../terminal/output'
import { policiesIn } from '../decide/rule-set'
import type { Side } from '../side'
import type { Simulation } from '../simulation'

/** What to know about how these requests were read and decided. */
export function notesOf({ sides, unknowns, requests }: Simulation, wholeSeconds: number): string[] {
  const [side] = sides
  const { policies } = side.rules.configuration
  const notes: string[] = []
  const all = (count: number) =>
    count === requests ? 'no request' : `${counted(count, 'request')} of ${requests} do not`
  if (wholeSeconds > 0)
    notes.push(
      `${counted(wholeSeconds, 'time')} are in whole seconds: within one, requests are decided as if they came at its start, so windows and bursts of seconds are not exact`,
    )
  if (unknowns.tiers > 0)
    notes.push(
      `${all(unknowns.tiers)} of a known caller name${unknowns.tiers === requests ? 's' : ''} a tier: they are decided in ${policies.settings.defaultTier === undefined ? 'the tier anonymous' : `the default tier ${policies.settings.defaultTier}`}, as the authorizer does with callers that have none (--tier sets another)`,
    )
  if (unknowns.callers > 0)
    notes.push(
      `${counted(unknowns.callers, 'request')} name neither a caller nor an address, and count as one anonymous caller`,
    )
  for (const [tier, count] of unknowns.missingTiers)
    notes.push(
      `tier "${tier}" is not in ${side.rules.title}: its ${counted(count, 'request')} are decided in the default tier, or the tier anonymous`,
    )
  if (unknowns.paths > 0 && (policies.routes.length > 0 || policies.scoped))
    notes.push(`${counted(unknowns.paths, 'request')} name no path, so no route rule applies to them`)
  if (unknowns.messages > 0)
    notes.push(`${counted(unknowns.messages, 'message')} of WebSockets are left out: authorizers decide connections`)
  if (policies.scoped && unknowns.apis.size === 0)
    notes.push('no request names its API, so nothing that is for some APIs only applies to them')
  for (const one of sides) notes.push(...notesOfSide(one))
  return notes
}

function notesOfSide({ rules, unknownCosts, unknownDurations, preparer, tally }: Side): string[] {
  const { title } = rules
  const notes: string[] = []
  const expensive = [...tally.policies.values()].filter(({ tooExpensive }) => tooExpensive > 0)
  for (const { tier, policy, tooExpensive } of expensive)
    notes.push(
      `${title}: ${counted(tooExpensive, 'request')} cost more than policy ${policy} of tier ${tier} ever admits`,
    )
  if (unknownCosts > 0)
    notes.push(
      `${title}: the cost of ${counted(unknownCosts, 'request')} depends on a header, a claim or a query that the log does not have: they are charged the cost in the log, or else the cost of a request without the value`,
    )
  if (unknownDurations > 0)
    notes.push(
      `${title}: ${counted(unknownDurations, 'request')} do not say how long they ran (durationMs): their slots are taken until the policy's timeout`,
    )
  for (const mistake of preparer.mistakes) notes.push(`${title}: ${mistake}`)
  return notes
}

/** What a log does not tell, and no simulation can know. */
export function cannotKnow({ sides }: Simulation, instances: number): string[] {
  const [side] = sides
  const { policies } = side.rules.configuration
  const all = policiesIn(policies)
  const sentences = [
    'when clients would have come: a denied client waits and retries, or gives up, and a client that is no longer denied retries less',
  ]
  sentences.push('what was used before the log begins: every counter starts empty')
  const values = new Set(
    all.flatMap((policy) =>
      'by' in policy ? (policy as TierPolicy).by.who.filter((one) => /^(header|claim):/.test(one)) : [],
    ),
  )
  for (const value of values)
    sentences.push(
      `by ${value}: a log has it only with --map ${value}=<name>; otherwise these requests count by address`,
    )
  if (policies.settings.identity.some((one) => one.source === 'ip' && (one.trustedHops > 0 || one.viewerAddress)))
    sentences.push('the settings take addresses from a header: a log has the address of the nearest proxy instead')
  if (side.settled > 0)
    sentences.push(
      `what ${counted(side.settled, 'request')} really used: they are charged what they reserve, and nothing is settled`,
    )
  if (all.some(({ written }) => written.algorithm === 'concurrency'))
    sentences.push(
      'when requests that were denied then would have ended: they run as long as the log says that the denial took',
    )
  if (!side.isStrict)
    sentences.push(
      `which instance gets which request: policies that are leased or eventual are decided by ${counted(instances, 'instance')} at random (--instances), and the authorizer's decisions differ from these within the bounds of those policies`,
    )
  if (
    all.some(
      (policy) => policy.consistency === 'strict' && (!('by' in policy) || !isOfEverybody((policy as TierPolicy).by)),
    )
  )
    sentences.push(
      'subjects with more than 1,000 writes a second, which the table throttles and the authorizer then leases',
    )
  sentences.push('time in which DynamoDB did not answer, and changes of tiers, clients and blocks within the log')
  return sentences
}
