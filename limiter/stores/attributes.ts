import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Fields } from '../algorithms/conditional-write'
import { PREFIX_LENGTH } from './attribute-prefix'
import { type Item, NO_ITEM } from './store'

/** Attribute that holds the time to live, in epoch seconds. */
export const EXPIRY = 'exp'

/**
 * Reads an item as DynamoDB returns it. Attributes that are none of ours are passed over; a number that is not one is
 * reported.
 */
export function toItem(attributes: Record<string, AttributeValue> | undefined): Item {
  if (!attributes) return NO_ITEM
  const policies: Record<string, Record<string, Fields[string]>> = {}
  const marks: Record<string, number> = {}
  let expiresAtSeconds = 0
  for (const name in attributes) {
    const value = attributes[name]!
    if (name.length > PREFIX_LENGTH) {
      const prefix = name.slice(0, PREFIX_LENGTH)
      const fields = policies[prefix] ?? {}
      policies[prefix] = fields
      if (value.N !== undefined) fields[name.slice(PREFIX_LENGTH)] = toNumber(value.N, name)
      else if (value.L !== undefined)
        fields[name.slice(PREFIX_LENGTH)] = value.L.map((entry) => toNumber(entry.N, name))
    } else if (name === EXPIRY) expiresAtSeconds = toNumber(value.N, name)
    else if (name !== 'pk') marks[name] = toNumber(value.N, name)
  }
  return { policies, expiresAtSeconds, marks }
}

function toNumber(text: string | undefined, name: string): number {
  const value = Number(text)
  if (text === undefined || !Number.isFinite(value)) throw new TypeError(`attribute ${name} is not a number`)
  return value
}
