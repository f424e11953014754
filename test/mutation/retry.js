/** A test that fails by a time limit, on a busy machine, kills no mutant. */
jest.retryTimes(process.env.__STRYKER_ACTIVE_MUTANT__ === undefined ? 3 : 1)
