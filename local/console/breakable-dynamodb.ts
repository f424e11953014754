import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { LastWrite, Standing, Trouble } from '../../pages/console/protocol'
import { TABLES } from '../dynamodb'
import { type Call, CountingProxy } from './counting-proxy'
import { changesInWords, conditionsInWords, type Prefixes, valueText } from './item-text'

/** The maximum of known prefixes; callers with other policies come and go. */
const MAX_PREFIXES = 2000
/** The maximum of items whose last write is kept. */
const MAX_WRITES = 4

/** The maximum of items whose calls are counted separately: the first ones. */
const MAX_ITEMS = 2000
const KEY = /"pk":\{"S":"([^"]+)"/

/** The key of the warm-up requests that new instances decide, which no user sent. */
const WARM_UP = '"preflight~'

type Written = Pick<LastWrite, 'at' | 'key' | 'update' | 'condition' | 'values'> & { refused?: boolean }

/** DynamoDB as the authorizers see it: calls are counted, the last write is kept, and it can be made to fail. */
export class BreakableDynamoDb {
  readonly #engine: string
  readonly #changed: () => void
  readonly #prefixes = new Map<string, Prefixes extends ReadonlyMap<string, infer One> ? One : never>()
  #proxy: CountingProxy | undefined
  #url: string | undefined
  #state = 0
  /** Calls for each item of the state table. */
  readonly #byItem = new Map<string, number>()
  #shared: ReadonlySet<string> = new Set()
  #config = 0
  #failed = 0
  /** The last write of each item, the latest one last. */
  readonly #writes = new Map<string, Written>()

  constructor(engine: string, changed: () => void) {
    this.#engine = engine
    this.#changed = changed
  }

  /** The proxy's endpoint, once it listens. */
  get endpoint(): string {
    return this.#url ?? this.#engine
  }

  get standing(): Pick<
    Standing,
    'stateCalls' | 'sharedCalls' | 'configCalls' | 'failedCalls' | 'trouble' | 'slowMs' | 'writes'
  > {
    return {
      stateCalls: this.#state,
      sharedCalls: [...this.#shared].reduce((sum, key) => sum + (this.#byItem.get(key) ?? 0), 0),
      configCalls: this.#config,
      failedCalls: this.#failed,
      trouble: (this.#proxy?.trouble ?? 'none') as Trouble,
      slowMs: this.#proxy?.slowMs ?? 0,
      writes: [...this.#writes.values()].reverse().map((write) => this.#inWords(write)),
    }
  }

  async listen(): Promise<void> {
    if (this.#proxy) return
    const proxy = new CountingProxy(this.#engine, (call) => this.#called(call))
    this.#url = await proxy.listen()
    this.#proxy = proxy
  }

  break(trouble: Trouble, slowMs: number): void {
    if (!this.#proxy) return
    this.#proxy.trouble = trouble
    this.#proxy.slowMs = slowMs
    this.#changed()
  }

  /** Sets the keys of the items that all callers share. */
  knowShared(keys: readonly string[]): void {
    this.#shared = new Set(keys)
  }

  /** Adds the policies of a caller whose writes may come. */
  know(prefixes: Prefixes): void {
    if (this.#prefixes.size > MAX_PREFIXES) this.#prefixes.clear()
    for (const [prefix, one] of prefixes) this.#prefixes.set(prefix, one)
  }

  async close(): Promise<void> {
    await this.#proxy?.close()
  }

  #called({ operation, table, body }: Call): ((statusCode: number) => void) | undefined {
    if (body.includes(WARM_UP)) return undefined
    if (this.#proxy?.trouble === 'down' || this.#proxy?.trouble === 'throttled') this.#failed++
    else if (table === TABLES.state) this.#countState(body)
    else this.#config++
    this.#changed()
    if (operation !== 'UpdateItem' || table !== TABLES.state) return undefined
    const write = writtenIn(body)
    if (!write) return undefined
    this.#writes.delete(write.key)
    this.#writes.set(write.key, write)
    if (this.#writes.size > MAX_WRITES) this.#writes.delete(this.#writes.keys().next().value!)
    return (statusCode) => {
      write.refused = statusCode !== 200
      this.#changed()
    }
  }

  #countState(body: string): void {
    this.#state++
    const key = KEY.exec(body)?.[1]
    const calls = this.#byItem.get(key ?? '')
    if (key !== undefined && (calls !== undefined || this.#byItem.size < MAX_ITEMS))
      this.#byItem.set(key, (calls ?? 0) + 1)
  }

  #inWords(write: Written): LastWrite {
    return {
      ...write,
      changes: changesInWords(write.update, write.values, this.#prefixes),
      conditions: conditionsInWords(write.condition, write.values, this.#prefixes),
    }
  }
}

function writtenIn(body: string): Written | undefined {
  const { Key, UpdateExpression, ConditionExpression, ExpressionAttributeValues } = JSON.parse(body) as {
    readonly Key?: Readonly<Record<string, AttributeValue>>
    readonly UpdateExpression?: string
    readonly ConditionExpression?: string
    readonly ExpressionAttributeValues?: Readonly<Record<string, AttributeValue>>
  }
  if (UpdateExpression === undefined) return undefined
  return {
    at: Date.now(),
    key: valueText(Key?.pk),
    update: UpdateExpression,
    condition: ConditionExpression ?? '',
    values: Object.fromEntries(
      Object.entries(ExpressionAttributeValues ?? {}).map(([name, value]) => [name, valueText(value)]),
    ),
  }
}
