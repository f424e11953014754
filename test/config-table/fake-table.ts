import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { LogEvent } from '../../lambda/telemetry/events'
import type { Log } from '../../lambda/telemetry/log'
import type { Mistake } from '../../limiter/errors'
import { sdkCalls } from '../../limiter/stores/sdk-calls'

/** One call that waits for its answer. */
export interface Call {
  /** `QueryCommand`, `GetItemCommand`. */
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  answer(output: Readonly<Record<string, unknown>>): Promise<void>
  fail(error: unknown): Promise<void>
}

/** A client of DynamoDB whose calls are answered one by one by the test, or by `answers` while that is set. */
export class FakeTable {
  /** All calls so far. */
  readonly calls: Call[] = []
  answers: ((call: Call) => Readonly<Record<string, unknown>>) | undefined

  readonly client = {
    send: (command: unknown, options: unknown) => this.send(command as never, options as never),
  } as unknown as Pick<DynamoDBClient, 'send'>

  private send(
    command: { readonly input: Call['input']; readonly constructor: { readonly name: string } },
    options: { abortSignal: AbortSignal },
  ) {
    return new Promise((resolve, reject) => {
      const call: Call = {
        name: command.constructor.name,
        input: command.input,
        signal: options.abortSignal,
        answer: (output) => settled(() => resolve(output)),
        fail: (error) => settled(() => reject(error)),
      }
      this.calls.push(call)
      try {
        if (this.answers) resolve(this.answers(call))
      } catch (error) {
        reject(error)
      }
    })
  }
}

/** Lets everything that follows from a step run, up to what waits for another step. */
export async function settled(step: () => void = () => {}): Promise<void> {
  step()
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}

/** Whether a promise has been fulfilled by now. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let done = false
  void promise.then(
    () => {
      done = true
    },
    () => {
      done = true
    },
  )
  await settled()
  return done
}

/** A clock that stands still until it is set. */
export class FakeClock {
  now = 1_700_000_000_000
  readonly read = (): number => this.now
}

export interface Entry {
  readonly level: string
  readonly event: LogEvent
  readonly details: Readonly<Record<string, unknown>>
}

/** Keeps what is logged. */
export class FakeLog {
  readonly entries: Entry[] = []
  readonly metrics: string[] = []
  /** Those of all entries, whose details have the sentences. */
  readonly mistakes: Mistake[] = []
  readonly write: Log = (level, event, details = {}, metric) => {
    const { issues } = details as { readonly issues?: readonly Mistake[] }
    this.mistakes.push(...(issues ?? []))
    this.entries.push({ level, event, details: { ...details, ...(issues && { issues: issues.map(String) }) } })
    if (metric) this.metrics.push(metric)
  }
}

/** Items as DynamoDB answers them. */
export const itemsOf = (items: readonly Readonly<Record<string, unknown>>[]) => items.map((item) => marshall(item))

export const tierItem = (name: string, limit: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  pk: 'policy-set',
  sk: `tier#${name}`,
  policies: [{ name: 'per-minute', limit, window: '1m' }],
  ...more,
})

/** The first call loads the SDK; after it, calls begin at once, at which these suites look. */
beforeAll(() => sdkCalls({ send: async () => ({}) } as never).call('GetItem', { TableName: 'config', Key: {} }))

/** How the config table `config` is read by a table's client: what every reader of it is made with. */
export const readingOf = (
  { client }: { readonly client: Pick<DynamoDBClient, 'send'> },
  clock: Pick<FakeClock, 'read'>,
  log: Pick<FakeLog, 'write'>,
) => ({ calls: sdkCalls(client), tableName: 'config', clock: clock.read, deadlineMs: 2000, log: log.write })
