import type { CompiledPolicy } from './compiled-policy'
import type { Deadline } from './deadline'
import type { Verdicts } from './plan'
import type { TakeLoop } from './take-loop'

interface Waiting {
  readonly policies: readonly CompiledPolicy[]
  readonly cost: number
  readonly resolve: (verdicts: Verdicts) => void
  readonly reject: (error: unknown) => void
}

/**
 * Requests that one write takes along. Enough that a write is hardly ever the bottleneck, few enough to answer soon.
 */
const MOST_AT_ONCE = 200

/**
 * Lets requests for one subject that arrive while a write for it is under way share the next write. One subject never
 * has two writes in flight from this process, so they do not fail each other's guards either. In Lambda there is one
 * request at a time, and this adds nothing.
 */
export class SharedWrites {
  /** Requests that wait, for each subject with a write under way. */
  private readonly lines = new Map<string, Waiting[]>()

  constructor(private readonly loop: TakeLoop) {}

  /** @param deadline of the decision that this is a part of, where it begins at once. @default a new one */
  async take(key: string, policies: readonly CompiledPolicy[], cost: number, deadline?: Deadline): Promise<Verdicts> {
    const line = this.lines.get(key)
    if (line) {
      const denied = this.loop.foreseen(key, policies, cost)
      return denied ?? new Promise((resolve, reject) => line.push({ policies, cost, resolve, reject }))
    }
    this.lines.set(key, [])
    try {
      return (await this.loop.settle(key, policies, [cost], deadline))[0]!
    } finally {
      this.next(key)
    }
  }

  private next(key: string): void {
    const line = this.lines.get(key)!
    const [first] = line
    if (!first) return void this.lines.delete(key)
    void this.settle(key, first.policies, line.splice(0, alike(line, first)))
  }

  private async settle(key: string, policies: readonly CompiledPolicy[], batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.loop.settle(
        key,
        policies,
        batch.map(({ cost }) => cost),
      )
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.next(key)
    }
  }
}

/**
 * How many requests from the front of the line can be decided together. A denial that is recorded changes the next
 * one's, so those go alone.
 */
function alike(line: readonly Waiting[], first: Waiting): number {
  if (first.policies.some(({ algorithm, quota }) => algorithm.recordsDenials?.(quota))) return 1
  const other = line.findIndex(({ policies }) => policies !== first.policies)
  return Math.min(MOST_AT_ONCE, other < 0 ? line.length : other)
}
