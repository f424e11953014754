import { tell } from '../client-changes'
import { type AddCommand, describeAnswering } from '../command'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../limits'

export const addReset: AddCommand = (group, session) => {
  withTier(
    describeAnswering(
      group,
      'reset <subject>',
      `Make all quotas of somebody whole again: ${SUBJECT}. An authorizer that has just denied them notices within five seconds.`,
      ['sluice reset acme'],
    ),
  ).action(async (text: string, options: AboutSubject) => {
    const { subject, limiter } = await openSubject(session, text, options)
    const { name, key, keys } = subject
    const next = keys.nextAfter(session.io.clock()) // counters may have been copied there already
    await session.io.interrupts.during(async () => {
      if (next) await limiter.reset(keys.keyOf(name, next.activeFrom))
      await limiter.reset(key)
    })
    tell(session, options, `${nameOf(subject)}: all quotas are whole`, { subject: subject.name, reset: true })
  })
}
