import { answerParent } from '../answer'

/**
 * Loaded before a program that the bench starts: tells the bench how much processor time the process has used, in
 * microseconds over all threads.
 */
answerParent(() => {
  const { user, system } = process.cpuUsage()
  return user + system
})

// The channel to the bench does not keep a program running that has ended.
process.channel?.unref()
