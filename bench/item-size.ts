import type { AttributeValue } from '@aws-sdk/client-dynamodb'

/**
 * Bytes of an item by DynamoDB's rules: names and strings in UTF-8; a number 1 byte per two significant digits and 1
 * more; a boolean or null 1; a list or map 3 bytes, and 1 for each entry beside its own. What storage is billed for
 * beyond that is not part of a write unit.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export function itemBytes(item: Readonly<Record<string, AttributeValue>>): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0)
}

function valueBytes({ S, N, L, M, BOOL, NULL }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S)
  if (N !== undefined) return Math.ceil(significantDigits(N) / 2) + 1
  if (L !== undefined) return L.reduce((sum, entry) => sum + 1 + valueBytes(entry), 3)
  if (M !== undefined) return 3 + Object.keys(M).length + itemBytes(M)
  if (BOOL !== undefined || NULL !== undefined) return 1
  throw new Error('items of Sluice hold strings, numbers, booleans, lists and maps only')
}

/** Leading and trailing zeroes do not count. */
const significantDigits = (number: string): number => number.replace(/\D/g, '').replace(/^0+|0+$/g, '').length
