const WRITE_UNIT_BYTES = 1024
const READ_UNIT_BYTES = 4096

/**
 * Write units of one `UpdateItem`: by the larger of the item before and after, in whole kilobytes, one at least. A
 * write whose condition fails is billed by the item that is there.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
 */
export const writeUnits = (bytesBefore: number, bytesAfter = bytesBefore): number =>
  Math.max(1, Math.ceil(Math.max(bytesBefore, bytesAfter) / WRITE_UNIT_BYTES))

/**
 * Read units of what one item, or all items of one query, hold: half where the read need not be consistent. What is not
 * there is billed like a small item.
 */
export const readUnits = (bytes: number, consistent: boolean): number =>
  Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (consistent ? 1 : 0.5)
