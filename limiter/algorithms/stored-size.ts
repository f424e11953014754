import type { Fields } from './conditional-write'

/**
 * Bytes of one stored field by DynamoDB's rules: the name, policy's prefix included; a number a byte for two
 * significant digits and one more; a list 3 bytes, and for each time of 13 digits 9.
 *
 * @param prefixLength letters that stand before each name.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export const fieldBytes = (prefixLength: number, name: string, value: Fields[string] | undefined): number =>
  value === undefined
    ? 0
    : prefixLength + name.length + (typeof value === 'number' ? numberBytes(value) : 3 + 9 * value.length)

/** Bytes of a policy's fields. */
export function fieldsBytes(prefixLength: number, fields: Fields): number {
  let bytes = 0
  for (const name in fields) bytes += fieldBytes(prefixLength, name, fields[name])
  return bytes
}

/** The key, two marks and the time to live of an item. */
const BESIDE_STATE_BYTES = 120
const WRITE_UNIT_BYTES = 1024

/** Write units that a write to an item with so many bytes of state is billed. */
export const writeUnitsOf = (stateBytes: number): number =>
  Math.ceil((BESIDE_STATE_BYTES + stateBytes) / WRITE_UNIT_BYTES)

/** Zeroes at the end do not count. */
function numberBytes(value: number): number {
  let rest = Math.abs(value)
  if (rest === 0) return 1
  while (rest % 10 === 0) rest /= 10
  let digits = 1
  for (let power = 10; power <= rest; power *= 10) digits++
  return Math.ceil(digits / 2) + 1
}
