import fc from 'fast-check'

/**
 * Any Unicode character but half of a surrogate pair: the unit of a string that may have everything. It is fast-check's
 * own `unit: 'binary'`, without the second that it takes each suite to make.
 */
export const codePoint = fc
  .integer({ min: 0, max: 0x10_ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800))
