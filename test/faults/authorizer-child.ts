import { eventOf } from '../../bench/authorizer-event'
import type { Told } from './instance'

/** A message of the parent: one request or several simultaneous ones. */
export interface Ask {
  readonly requests: readonly { readonly ip: string; readonly apiKey?: string }[]
}

export interface Reply {
  readonly told: readonly Told[]
  /** Until the last of them was answered. */
  readonly ms: number
  readonly thrown?: string
}

/**
 * A function instance in a process of its own, which can be stopped and killed: loads the given bundle and answers its
 * parent's requests.
 */
const { handler } = require(process.argv[2]!) as { handler(event: object): Promise<{ context: Told }> }

async function answer({ requests }: Ask): Promise<Reply> {
  const startedAt = performance.now()
  try {
    const answers = await Promise.all(requests.map((request) => handler(eventOf({ path: '/hello', ...request }))))
    return { told: answers.map(({ context }) => context), ms: performance.now() - startedAt }
  } catch (error) {
    return { told: [], ms: performance.now() - startedAt, thrown: String(error) }
  }
}

process.on('message', async (ask: Ask) => process.send!(await answer(ask)))
process.on('disconnect', () => process.exit())
process.send!('ready')
