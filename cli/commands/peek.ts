import { wholeNumber } from '../arguments'
import { planOf } from '../callers/counted'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../callers/limits'
import type { Subject } from '../callers/subjects'
import { type AddCommand, describeTableCommand } from '../command'
import { UserError } from '../exit'
import { duration } from '../terminal/output'

interface Options extends AboutSubject {
  readonly cost?: number
  readonly route?: string
}

export const addPeek: AddCommand = (group, session) => {
  withTier(
    describeTableCommand(
      group,
      'peek <subject>',
      `Show how a request would be decided now, without charging it: ${SUBJECT}.`,
      ['sluice peek acme', 'sluice peek acme --route "GET /search" --cost 5'],
    ),
  )
    .option('--route <request>', 'method and path of the request (default: a request without a configured route)')
    .option('--cost <units>', 'cost of the request (default: the route’s cost, else 1)', wholeNumber(0))
    .action(async (text: string, options: Options) => {
      const { subject, limiter } = await openSubject(session, text, options)
      if (subject.hash !== undefined)
        throw new UserError(
          `${subject.hash} cannot be resolved, so whether it is blocked is not known: peek needs its name, usage shows its counters`,
        )
      const { charges, cost } = planOf(subject, options.route)
      if (charges.length === 0) throw new UserError(`${nameOf(subject)} has no policies there`)
      const units = options.cost ?? cost
      const decision = await limiter.peek(charges.map((charge) => ({ ...charge, cost: units })))
      const uncounted = withoutLimits(subject)
      if (options.json) {
        const { mode } = subject.configuration.policies.settings
        const about = {
          subject: subject.name,
          tier: subject.tier?.name ?? null,
          cost: units,
          mode,
          reason: uncounted?.reason ?? null,
        }
        const instead = uncounted && { allowed: uncounted.allowed, ...(uncounted.allowed && { retryAfterMs: 0 }) }
        return session.print.json({ ...about, ...decision, ...instead })
      }
      const { allowed, policy, limit, remaining, retryAfterMs } = { ...decision, ...uncounted }
      const verdict = allowed
        ? session.print.style('green', 'would be allowed')
        : session.print.style('red', 'would be denied')
      session.print.line(`${nameOf(subject)}: a request of cost ${units} ${verdict}${uncounted?.sentence ?? ''}`)
      if (uncounted) return
      const when =
        retryAfterMs === Infinity ? 'it can never be allowed' : `it would be allowed in ${duration(retryAfterMs)}`
      session.print.line(`policy ${policy}: ${remaining} of ${limit} left${allowed ? '' : `, ${when}`}`)
    })
}

/**
 * What becomes of requests that are not held to limits at all, as the authorizer says it; `undefined` where limits
 * decide.
 */
function withoutLimits({ beforeLimits, configuration }: Subject): Uncounted | undefined {
  if (beforeLimits === 'blocked') return { allowed: false, reason: beforeLimits, sentence: ', it is blocked' }
  if (beforeLimits === 'unauthorized') return { allowed: false, reason: beforeLimits, sentence: ' with 401' }
  if (beforeLimits === 'exempt')
    return { allowed: true, reason: beforeLimits, sentence: ' without counting, because it is on the allow list' }
  if (configuration.policies.settings.mode === 'off')
    return { allowed: true, reason: 'uncounted', sentence: ' without counting, because limits are off' }
  return undefined
}

interface Uncounted {
  readonly allowed: boolean
  readonly reason: string
  readonly sentence: string
}
