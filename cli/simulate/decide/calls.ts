import type { Fields } from '../../../limiter/algorithms/conditional-write'

/** Calls to DynamoDB that decisions have taken. */
export interface Calls {
  writes: number
  /** Write units that the writes are billed. */
  writeUnits: number
  /** Consistent reads of one item, a read unit each. */
  reads: number
}

const WRITE_UNIT_BYTES = 1024
/** The key, two marks and the time to live of an item. */
const BESIDE_STATE_BYTES = 120

/** Write units of an item with this state, by the rules of DynamoDB. */
export function writeUnitsOf(state: Readonly<Record<string, Fields>>): number {
  let bytes = BESIDE_STATE_BYTES
  for (const prefix in state) {
    const fields = state[prefix]!
    for (const name in fields) {
      const value = fields[name]!
      bytes += prefix.length + name.length + (typeof value === 'number' ? numberBytes(value) : 3 + 9 * value.length)
    }
  }
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES))
}

const numberBytes = (value: number): number => Math.ceil(String(Math.abs(value)).length / 2) + 1
