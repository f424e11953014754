/**
 * How often a property is tried: seldom in `npm test`, which is run all day, and as often as it deserves with
 * `THOROUGH=1`, as `.ci/run` does.
 *
 * @param everyday times in `npm test`.
 * @param thorough times with `THOROUGH=1`.
 */
export const runs = (everyday: number, thorough: number): number => (process.env.THOROUGH ? thorough : everyday)

/** A test that takes a second or more: skipped in `npm test`, and run with `THOROUGH=1`. */
export const thoroughly = process.env.THOROUGH ? it : it.skip
