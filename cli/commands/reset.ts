import { tell } from '../callers/client-changes'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../callers/limits'
import { countedOf } from '../callers/subjects'
import { type AddCommand, describeTableCommand } from '../command'

export const addReset: AddCommand = (group, session) => {
  withTier(
    describeTableCommand(
      group,
      'reset <subject>',
      `Reset all limits of a caller: ${SUBJECT}. An authorizer with a cached denial applies it within five seconds.`,
      ['sluice reset acme'],
    ),
  ).action(async (text: string, options: AboutSubject) => {
    const { subject, limiter } = await openSubject(session, text, options)
    const { keys } = subject
    const now = session.io.clock()
    const next = keys.nextAfter(now) // counters may have been copied there already
    const names = new Set([subject.name, ...countedOf(subject).map(({ name }) => name)])
    await session.io.interrupts.during(async () => {
      for (const name of names) {
        if (next) await limiter.reset(keys.keyOf(name, next.activeFrom))
        await limiter.reset(keys.keyOf(name, now))
      }
    })
    tell(session, options, `${nameOf(subject)}: all limits are reset`, { subject: subject.name, reset: true })
  })
}
