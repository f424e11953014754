import type { Verdicts } from '../algorithms/algorithm'
import type { Deadline } from '../deadline'
import type { Decider } from '../decider'
import type { Charge, Subject } from '../request'
import type { WaitingRequest } from '../subject'

/** Requests that share one write: enough that a write is hardly ever the bottleneck, few enough to answer soon. */
const MAX_AT_ONCE = 200
/** Of those that hold something: each hold takes its room in the write. */
const MAX_HOLDING = 40

/**
 * Lets requests for one subject that arrive while a write for it is under way share the next write.
 *
 * One subject never has two writes in flight from this process, so they do not fail each other's guards either. In
 * Lambda there is one request at a time, and this adds nothing.
 */
export class WriteCoalescer {
  constructor(private readonly items: Decider) {}

  /** @param deadline of the decision that this is a part of, where it begins at once. @default a new one */
  async take(charge: Charge, deadline?: Deadline): Promise<Verdicts> {
    const { key, policies } = charge
    const record = this.items.subjects.of(key)
    if (record.line) return this.items.cachedDenial(charge) ?? waitIn(record.line, charge)
    record.line = []
    try {
      return (await this.items.decideBatch({ key, policies, requests: [charge] }, deadline))[0]!
    } finally {
      this.next(key)
    }
  }

  private next(key: string): void {
    const record = this.items.subjects.of(key)
    const line = record.line!
    const [first] = line
    if (!first) record.line = undefined
    else void this.decide(first, line.splice(0, mergeable(line, first)))
  }

  private async decide({ key, policies }: Subject, batch: readonly WaitingRequest[]): Promise<void> {
    try {
      const answers = await this.items.decideBatch({ key, policies, requests: batch })
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.next(key)
    }
  }
}

const waitIn = (line: WaitingRequest[], charge: Charge): Promise<Verdicts> =>
  new Promise((resolve, reject) => line.push({ ...charge, resolve, reject }))

/**
 * How many requests from the front of the line can be decided together. A denial that is recorded changes the next
 * one's, so those go alone.
 */
function mergeable(line: readonly WaitingRequest[], first: WaitingRequest): number {
  if (first.policies.some(({ counter }) => counter.recordsDenials)) return 1
  const other = line.findIndex(({ policies }) => policies !== first.policies)
  return Math.min(first.holds ? MAX_HOLDING : MAX_AT_ONCE, other < 0 ? line.length : other)
}
