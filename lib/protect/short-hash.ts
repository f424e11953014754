import { createHash } from 'node:crypto'

/** Eight letters that tell values of JSON apart, for logical ids. */
export const shortHash = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, 8)
