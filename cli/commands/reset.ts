import { tell } from '../callers/client-changes'
import { countedOf } from '../callers/counted'
import { type AboutSubject, calledOf, nameOf, openSubject, withSubject } from '../callers/limits'
import { type AddCommand, describeTableCommand } from '../command'

export const addReset: AddCommand = (group, session) => {
  withSubject(
    describeTableCommand(
      group,
      'reset',
      'Reset all limits of a caller. An authorizer with a cached denial applies it within five seconds.',
      ['sluice reset acme'],
    ),
  ).action(async (text: string, options: AboutSubject) => {
    const { subject, limiter } = await openSubject(session, text, options)
    const counted = subject.hash === undefined ? countedOf(subject) : []
    const names = new Set([subject.name, ...counted.map(({ name }) => name)])
    await session.io.interrupts.during(async () => {
      for (const name of names) for (const key of subject.stateKeys.keysToReset(name)) await limiter.reset(key)
    })
    tell(session, options, `${nameOf(subject)}: all limits are reset`, { subject: calledOf(subject), reset: true })
  })
}
