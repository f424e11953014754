import { type Fields, fieldsBytes, writeUnitsOf } from '../../facade/limiter'

/** Calls to DynamoDB that decisions have taken. */
export interface Calls {
  writes: number
  /** Write units that the writes are billed. */
  writeUnits: number
  /** Consistent reads of one item, a read unit each. */
  reads: number
}

/** Write units of an item with this state, by the rules of DynamoDB. */
export function writeUnitsOfState(state: Readonly<Record<string, Fields>>): number {
  let bytes = 0
  for (const prefix in state) bytes += fieldsBytes(prefix.length, state[prefix]!)
  return writeUnitsOf(bytes)
}
