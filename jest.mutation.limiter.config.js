const everyday = require('./jest.config.js')

/**
 * The tests of the limiter, whose files Stryker changes one at a time. Those of whole engines, and those that live for
 * days, are left out.
 * @type {import('jest').Config}
 */
module.exports = {
  ...everyday,
  roots: ['<rootDir>/test'],
  testMatch: ['<rootDir>/test/limiter/**/*.test.ts', '<rootDir>/test/model/replays.test.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    '/limiter/(budget|faults|imports|lost-answers|overage|tireless|write-ids)\\.test\\.ts$',
  ],
  setupFiles: ['<rootDir>/test/mutation/setup.js'],
  setupFilesAfterEnv: ['<rootDir>/test/mutation/retry.js'],
  testEnvironment: require.resolve('./test/mutation/environment.js'), // Stryker knows no <rootDir>
  runner: '<rootDir>/test/mutation/runner.js',
}
