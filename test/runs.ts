/**
 * How often a property is tried: seldom in `npm test`, which is run all day, as often as it deserves with
 * `THOROUGH=1`, and with a smaller number so many times as often, as in `.ci/run`. Under mutation it is tried for each
 * of a thousand mutants, so `test/mutation` says how often at most.
 *
 * @param everyday times in `npm test`.
 * @param thorough times with `THOROUGH=1`.
 */
export function runs(everyday: number, thorough: number): number {
  const { THOROUGH, MAX_EXAMPLES = Infinity } = process.env
  if (THOROUGH) return Math.max(everyday, Math.ceil(thorough * Number(THOROUGH)))
  return Math.min(everyday, Number(MAX_EXAMPLES))
}

/** A test that takes a second or more: skipped in `npm test`, and run with `THOROUGH=1`. */
export const thoroughly = process.env.THOROUGH ? globalThis.it : globalThis.it?.skip // none outside of Jest
