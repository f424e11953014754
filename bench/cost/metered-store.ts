import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Item, StateStore } from '../../limiter'
import { EXPIRY } from '../../limiter/stores/attributes'
import { afterWrite } from '../../limiter/stores/memory-store'
import { itemBytes } from '../item-size'
import type { Meter, Metered } from './meter'
import { readUnits, writeUnits } from './units'

/**
 * A store whose calls are counted as DynamoDB would bill the same calls: by the items that they touch, and whether or
 * not a condition holds.
 */
export class MeteredStore implements StateStore, Meter {
  private readonly tally = { writes: 0, refused: 0, writeUnits: 0, reads: 0, readUnits: 0 }

  constructor(private readonly store: StateStore) {}

  get total(): Metered {
    return { ...this.tally }
  }

  async write(...[key, write, options]: Parameters<StateStore['write']>): ReturnType<StateStore['write']> {
    const outcome = await this.store.write(key, write, options)
    const before = outcome.item === undefined ? 0 : storedBytes(key, outcome.item)
    const isApplied = outcome.kind === 'applied'
    this.tally.writes++
    if (!isApplied) this.tally.refused++
    this.tally.writeUnits += writeUnits(before, isApplied ? storedBytes(key, afterWrite(outcome.item, write)) : before)
    return outcome
  }

  async read(...[key, options]: Parameters<StateStore['read']>): ReturnType<StateStore['read']> {
    const item = await this.store.read(key, options)
    this.tally.reads++
    this.tally.readUnits += readUnits(storedBytes(key, item), true)
    return item
  }

  async delete(...[key, whileMarks, options]: Parameters<StateStore['delete']>): ReturnType<StateStore['delete']> {
    this.tally.writes++
    this.tally.writeUnits += writeUnits(storedBytes(key, await this.store.read(key)))
    return this.store.delete(key, whileMarks, options)
  }
}

/** Bytes of an item as the state table holds it; 0 when there is none. */
function storedBytes(key: string, { policies, marks, expiresAtSeconds }: Item): number {
  const attributes: Record<string, AttributeValue> = {}
  for (const [code, fields] of Object.entries(policies)) {
    for (const [name, value] of Object.entries(fields)) {
      attributes[code + name] =
        typeof value === 'number' ? { N: String(value) } : { L: value.map((entry) => ({ N: String(entry) })) }
    }
  }
  for (const [mark, value] of Object.entries(marks)) attributes[mark] = { N: String(value) }
  if (Object.keys(attributes).length === 0) return 0
  return itemBytes({ ...attributes, pk: { S: key }, [EXPIRY]: { N: String(expiresAtSeconds) } })
}
