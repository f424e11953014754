import { answerParent } from '../answer'

/**
 * Loaded before a program that the bench starts: tells how much processor time its process has used, all threads, in
 * microseconds.
 */
answerParent(() => {
  const { user, system } = process.cpuUsage()
  return user + system
})
