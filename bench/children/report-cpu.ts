import { answerParent } from '../answer'

/**
 * Loaded before a program that the bench starts: tells the bench how much processor time the process has used, in
 * microseconds over all threads.
 */
answerParent(() => {
  const { user, system } = process.cpuUsage()
  return user + system
})
