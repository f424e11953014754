import { COURSE_NAMES, record } from './recording'

/**
 * What the limiter did before it was made smaller: the same calls in the same order, the same items, the same answers.
 * A change of behaviour that is meant is recorded by `npx jest test/limiter/recorded -u`.
 */
it.each(COURSE_NAMES)('does what was recorded: %s', async (name) => {
  expect(await record(name)).toMatchSnapshot()
})
