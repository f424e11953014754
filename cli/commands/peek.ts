import { wholeNumber } from '../arguments'
import { type AddCommand, describeAnswering } from '../command'
import { UserError } from '../exit'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../limits'
import { duration } from '../output'
import { planOf, type Subject } from '../subjects'

interface Options extends AboutSubject {
  readonly cost?: number
  readonly route?: string
}

export const addPeek: AddCommand = (group, session) => {
  withTier(
    describeAnswering(group, 'peek <subject>', `Say what a request would be told now, and take nothing: ${SUBJECT}.`, [
      'sluice peek acme',
      'sluice peek acme --route "GET /search" --cost 5',
    ]),
  )
    .option('--route <request>', 'method and path of the request (default: one that no route is configured for)')
    .option('--cost <units>', 'what it takes (default: what the route says, else 1)', wholeNumber(0))
    .action(async (text: string, options: Options) => {
      const { subject, limiter } = await openSubject(session, text, options)
      const { charges, cost } = planOf(subject, options.route)
      if (charges.length === 0) throw new UserError(`${nameOf(subject)} is held to no policies there`)
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
        ? session.print.style('green', 'would pass')
        : session.print.style('red', 'would be turned away')
      session.print.line(`${nameOf(subject)}: a request of cost ${units} ${verdict}${uncounted?.sentence ?? ''}`)
      if (uncounted) return
      const when = retryAfterMs === Infinity ? 'it can never pass' : `it would pass in ${duration(retryAfterMs)}`
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
    return { allowed: true, reason: beforeLimits, sentence: ' uncounted, it is allowed by name' }
  if (configuration.policies.settings.mode === 'off')
    return { allowed: true, reason: 'uncounted', sentence: ' uncounted, limits are off' }
  return undefined
}

interface Uncounted {
  readonly allowed: boolean
  readonly reason: string
  readonly sentence: string
}
