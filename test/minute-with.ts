import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Comes back when the present minute has this much left, in milliseconds: requests that follow are counted in one
 * window of a minute, within which no units become free.
 */
export async function minuteWith(leftMs: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000)
  if (left < leftMs) await sleep(left + 50)
}
