/**
 * The long way round: many processes, AWS's own DynamoDB Local, the packed package. `.ci/run` runs it. @type
 * {import('jest').Config}
 */
module.exports = {
  ...require('./jest.config.js'),
  testMatch: ['<rootDir>/test/slow/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  setupFiles: [],
  testEnvironmentOptions: { needsHome: true },
  testTimeout: 300_000,
  maxWorkers: 1,
}
