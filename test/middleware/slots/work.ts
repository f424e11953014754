import { setTimeout as sleep } from 'node:timers/promises'

/** What the handler of a request does. */
export interface Job {
  /** How many parts its answer has. */
  readonly parts: number
  /** How long each part takes, in milliseconds. @default 5 */
  readonly everyMs?: number
  /** The part that takes 250 ms. @default none does */
  readonly slowPart?: number
  /** The part at which it throws. @default none is */
  readonly failsAt?: number
}

const PART = Buffer.from('one part of what a model says\n')

/** What one handler does, and from when to when. */
export class Work {
  beganAt: number | undefined
  endedAt: number | undefined

  constructor(private readonly job: Job) {}

  /** The parts of the answer. It runs from the first one that is asked for until the last, an error, or its return. */
  async *parts(): AsyncGenerator<Buffer> {
    const { parts, everyMs = 5, slowPart, failsAt } = this.job
    this.beganAt = performance.now()
    try {
      for (let i = 0; i < parts; i++) {
        await sleep(i === slowPart ? 250 : everyMs)
        if (i === failsAt) throw new Error('of the model')
        yield PART
      }
    } finally {
      this.endedAt = performance.now()
    }
  }

  /** The whole answer. */
  async text(): Promise<string> {
    let text = ''
    for await (const part of this.parts()) text += part
    return text
  }
}
