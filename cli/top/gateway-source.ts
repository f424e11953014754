import { failureOf, ServiceError, UserError } from '../exit'
import type { EpochMs } from '../facade/values'
import { type Denial, denialOf } from './denial'
import type { News, Source } from './source'

const TIMEOUT_MS = 5000

interface Answer {
  readonly gateway: string
  readonly startedAt: EpochMs
  readonly next: number
  readonly missed: number
  readonly denials: readonly (Readonly<Record<string, unknown>> & { readonly at: EpochMs })[]
}

/** Denials of a local gateway, every one of them. */
export class GatewaySource implements Source {
  readonly kind = 'gateway'
  private gateway: string | undefined
  private next = 0
  private completeFrom = 0

  /** @param name its address, such as `http://localhost:3000`. */
  constructor(readonly name: string) {}

  async read(from: EpochMs, signal: AbortSignal): Promise<News> {
    let answer = await this.ask(this.next, signal)
    if (this.gateway !== undefined && answer.gateway !== this.gateway) {
      // Another one since: what the former had and had not told is gone.
      answer = await this.ask(0, signal)
      this.completeFrom = answer.startedAt
    }
    this.gateway = answer.gateway
    this.next = answer.next
    if (answer.missed > 0) this.completeFrom = (answer.denials[0]?.at ?? answer.startedAt) + 1
    const denials = answer.denials.flatMap((entry): Denial | [] => denialOf(entry, entry.at) ?? [])
    return { denials: denials.filter(({ at }) => at >= from), others: [], completeFrom: this.completeFrom }
  }

  private async ask(first: number, signal: AbortSignal): Promise<Answer> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    let response: Response
    let text: string
    try {
      response = await fetch(`${this.name}/_local/denials?from=${first}`, { signal: limited })
      text = await response.text() // which fails where the gateway goes away amid its answer
    } catch (error) {
      if (signal.aborted) throw error
      const why = error instanceof Error && error.cause ? error.cause : error
      throw new ServiceError(`no local gateway answers at ${this.name}: ${failureOf(why).message.split('\n')[0]}`)
    }
    const answer = parsed(text)
    if (!isAnswer(answer))
      // One that has answered as it should may come back.
      throw new (this.gateway === undefined ? UserError : ServiceError)(
        `${this.name} does not answer as sluice dev of this version does (status ${response.status})`,
      )
    return answer
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isAnswer(answer: unknown): answer is Answer {
  const { gateway, next, missed, startedAt, denials } = (answer ?? {}) as Partial<Answer>
  return (
    typeof gateway === 'string' &&
    [next, missed].every(Number.isSafeInteger) &&
    isTime(startedAt) &&
    Array.isArray(denials) &&
    denials.every((denial: Partial<Answer['denials'][number]> | null) => isTime(denial?.at))
  )
}

/** Whether a date can be that. */
const isTime = (at: unknown): boolean => Number.isSafeInteger(at) && Math.abs(at as number) <= 8.64e15
