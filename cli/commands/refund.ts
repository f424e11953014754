import type { EpochMs } from '../../limiter/clock'
import { gather, instant, wholeNumber } from '../arguments'
import { tell } from '../callers/client-changes'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../callers/limits'
import { planOf } from '../callers/subjects'
import { type AddCommand, describeTableCommand } from '../command'
import { UserError } from '../exit'

interface Options extends AboutSubject {
  readonly route?: string
  readonly policy?: readonly string[]
  readonly chargedAt?: EpochMs
  readonly delayMs?: number
}

export const addRefund: AddCommand = (group, session) => {
  withTier(
    describeTableCommand(
      group,
      'refund <subject>',
      `Return units to a caller’s limits, if the windows in which they were charged are still open: ${SUBJECT}.`,
      [
        'sluice refund acme 10',
        'sluice refund acme 1 --policy per-day',
        'sluice refund acme 1 --charged-at 2026-11-21T17:05:00Z',
      ],
    ).argument('<units>', 'number of units', wholeNumber(1)),
  )
    .option('--route <request>', 'method and path of the requests (default: requests without a configured route)')
    .option(
      '--charged-at <moment>',
      'when the units were charged, in ISO 8601; later charges stay (default: now)',
      instant,
    )
    .option('--delay-ms <ms>', 'how long the request was delayed, for policies with action "delay"', wholeNumber(0))
    .option('--policy <name>', 'only this policy; repeatable (default: all)', gather)
    .action(async (text: string, units: number, options: Options) => {
      const { subject, limiter } = await openSubject(session, text, options)
      const { charges } = planOf(subject, options.route)
      const all = charges.flatMap(({ policies }) => policies)
      const unknown = options.policy?.find((name) => !all.some((policy) => policy.name === name))
      if (unknown !== undefined || all.length === 0) {
        throw new UserError(
          `${nameOf(subject)} has no policy "${unknown ?? ''}" there: known are ${all.map(({ name }) => name).join(', ') || 'none'}`,
        )
      }
      const isMeant = ({ name }: { readonly name: string }) =>
        options.policy === undefined || options.policy.includes(name)
      const now = session.io.clock()
      await session.io.interrupts.during(async () => {
        for (const { name, policies } of charges) {
          const those = policies.filter(isMeant)
          const key = subject.keys.keyOfCharge(name, options.chargedAt ?? now, now)
          if (those.length > 0) await limiter.refund({ key, policies: those, cost: units }, options)
        }
      })
      const names = all.filter(isMeant).map(({ name }) => name)
      tell(session, options, `${nameOf(subject)}: ${units} units returned to ${names.join(', ')}`, {
        subject: subject.name,
        units,
        policies: names,
      })
    })
}
