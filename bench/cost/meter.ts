import { type AttributeValue, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { itemBytes } from '../item-size'
import { readUnits, writeUnits } from './units'

type Item = Record<string, AttributeValue>

/** What DynamoDB would bill for. */
export interface Metered {
  readonly writes: number
  /** The writes whose condition failed. */
  readonly refused: number
  readonly writeUnits: number
  readonly reads: number
  readonly readUnits: number
}

export interface Meter {
  /** All that was metered so far. */
  readonly total: Metered
}

interface Input {
  readonly TableName?: string
  readonly Key?: Item
  readonly ConsistentRead?: boolean
  readonly UpdateExpression?: string
  readonly ExpressionAttributeValues?: Item
  readonly RequestItems?: Readonly<Record<string, { readonly Keys: readonly Item[] }>>
}

interface Output {
  readonly Attributes?: Item
  readonly Item?: Item
  readonly Items?: readonly Item[]
  readonly Responses?: Readonly<Record<string, readonly Item[]>>
}

type Send = (command: { readonly input: Input }, options?: unknown) => Promise<Output>

/**
 * Counts what a client's calls would cost, from the items that they really touch.
 *
 * An engine on this machine does not report the size of an item, so the meter keeps an upper bound for each: the size
 * of what came back, and of what was written since. Where that could be more than one unit, it reads the item,
 * unmetered, and measures it.
 */
export class MeteredClient implements Meter {
  private tally = { writes: 0, refused: 0, writeUnits: 0, reads: 0, readUnits: 0 }
  private readonly atMost = new Map<string, number>()
  private readonly underWay = new Set<Promise<unknown>>()
  private readonly send: Send

  /** @param client whose calls are metered from now on. */
  constructor(client: Pick<DynamoDBClient, 'send'>) {
    this.send = client.send.bind(client) as unknown as Send
    client.send = ((command: { readonly input: Input }, options?: unknown) => {
      const call = this.metered(command, options)
      const settled = call.catch(() => {}).finally(() => this.underWay.delete(settled))
      this.underWay.add(settled)
      return call
    }) as unknown as typeof client.send
  }

  get total(): Metered {
    return { ...this.tally }
  }

  /** Resolves when no call is under way, those in the background too. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay)
  }

  private async metered(command: { readonly input: Input }, options: unknown): Promise<Output> {
    switch (command.constructor.name) {
      case 'UpdateItemCommand':
        return this.write(command, options)
      case 'GetItemCommand':
      case 'QueryCommand':
      case 'BatchGetItemCommand':
        return this.read(command, options)
      default:
        throw new Error(`the meter does not know what ${command.constructor.name} costs`)
    }
  }

  private async write(command: { readonly input: Input }, options: unknown): Promise<Output> {
    const { input } = command
    const id = JSON.stringify([input.TableName, input.Key])
    const before = this.atMost.get(id) ?? 0
    this.tally.writes++
    try {
      const output = await this.send(command, options)
      const found = output.Attributes ? itemBytes(output.Attributes) : 0 // as it was, or as it is now
      const bound = (found || before) + requestBytes(input)
      const after = writeUnits(bound) > 1 ? await this.measured(input) : bound
      this.atMost.set(id, after)
      this.tally.writeUnits += writeUnits(found || before, after)
      return output
    } catch (error) {
      if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
      const { Item } = error as { readonly Item?: Item }
      const there = Item ? itemBytes(Item) : writeUnits(before) > 1 ? await this.measured(input) : before
      this.tally.refused++
      this.tally.writeUnits += writeUnits(there)
      throw error
    }
  }

  private async read(command: { readonly input: Input }, options: unknown): Promise<Output> {
    const { ConsistentRead = false, RequestItems } = command.input
    const output = await this.send(command, options)
    const together = output.Items && [output.Items.reduce((sum, item) => sum + itemBytes(item), 0)]
    const apart = Object.values(output.Responses ?? {}).flatMap((items) => items.map(itemBytes))
    const asked = Object.values(RequestItems ?? {}).flatMap(({ Keys }) => Keys).length
    const absent = Array.from({ length: asked - apart.length }, () => 0)
    const sizes = together ?? (RequestItems ? [...apart, ...absent] : [output.Item ? itemBytes(output.Item) : 0])
    this.tally.reads++
    for (const bytes of sizes) this.tally.readUnits += readUnits(bytes, ConsistentRead)
    return output
  }

  /** The item's size now. */
  private async measured({ TableName, Key }: Input): Promise<number> {
    const { Item } = await this.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
    return Item ? itemBytes(Item) : 0
  }
}

/** More than a write can add to an item: its key and all names and values of the call. */
function requestBytes({ Key = {}, UpdateExpression = '', ExpressionAttributeValues = {} }: Input): number {
  return itemBytes(Key) + UpdateExpression.length + itemBytes(ExpressionAttributeValues)
}
