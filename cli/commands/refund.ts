import { gather, wholeNumber } from '../arguments'
import { tell } from '../client-changes'
import { type AddCommand, describeAnswering } from '../command'
import { UserError } from '../exit'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../limits'
import { planOf } from '../subjects'

interface Options extends AboutSubject {
  readonly route?: string
  readonly policy?: readonly string[]
}

export const addRefund: AddCommand = (group, session) => {
  withTier(
    describeAnswering(
      group,
      'refund <subject>',
      `Give units back that were charged just now, as far as their windows still count: ${SUBJECT}.`,
      ['sluice refund acme 10', 'sluice refund acme 1 --policy per-day'],
    ).argument('<units>', 'how many, a whole number', wholeNumber(1)),
  )
    .option('--route <request>', 'method and path of the requests (default: some that no route is configured for)')
    .option('--policy <name>', 'only to this policy; repeatable (default: to all)', gather)
    .action(async (text: string, units: number, options: Options) => {
      const { subject, limiter } = await openSubject(session, text, options)
      const all = planOf(subject, options.route).policies
      const unknown = options.policy?.find((name) => !all.some((policy) => policy.name === name))
      if (unknown !== undefined || all.length === 0) {
        throw new UserError(
          `${nameOf(subject)} has no policy "${unknown ?? ''}" there: known are ${all.map(({ name }) => name).join(', ') || 'none'}`,
        )
      }
      const policies = all.filter(({ name }) => options.policy === undefined || options.policy.includes(name))
      await session.io.interrupts.during(() => limiter.refund({ key: subject.key, policies, cost: units }))
      const names = policies.map(({ name }) => name)
      tell(session, options, `${nameOf(subject)}: ${units} units given back in ${names.join(', ')}`, {
        subject: subject.name,
        units,
        policies: names,
      })
    })
}
