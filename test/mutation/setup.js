process.env.SLUICE_UNDER_MUTATION = 'true' // see test/stores.ts

/** Laws are tried on few examples: they are tried for a thousand mutants. */
const MOST = 30

jest.mock('fast-check', () => {
  const actual = jest.requireActual('fast-check')
  const assert = (property, { numRuns = MOST, ...more } = {}) =>
    actual.assert(property, { ...more, numRuns: Math.min(numRuns, MOST) })
  return { ...actual, assert, __esModule: true, default: { ...actual.default, assert } }
})
