import { wholeNumber } from '../arguments'
import { type AddCommand, describeAnswering } from '../command'
import { UserError } from '../exit'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../limits'
import { duration } from '../output'
import { planOf } from '../subjects'

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
      const { allowed, policy, limit, remaining, retryAfterMs } = decision
      const { mode } = subject.configuration.policies.settings
      const counted = { subject: subject.name, tier: subject.tier?.name ?? null, cost: units, mode }
      if (options.json) return session.print.json({ ...counted, ...decision, ...(mode === 'off' && { allowed: true, retryAfterMs: 0 }) })
      if (mode === 'off')
        return session.print.line(`${nameOf(subject)}: a request ${session.print.style('green', 'would pass')} uncounted, limits are off`)
      const verdict = allowed ? session.print.style('green', 'would pass') : session.print.style('red', 'would be turned away')
      const when = retryAfterMs === Infinity ? 'it can never pass' : `it would pass in ${duration(retryAfterMs)}`
      session.print.line(`${nameOf(subject)}: a request of cost ${units} ${verdict}`)
      session.print.line(`policy ${policy}: ${remaining} of ${limit} left${allowed ? '' : `, ${when}`}`)
    })
}
