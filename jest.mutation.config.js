const everyday = require('./jest.config.js')

/**
 * The tests of the pure folders, whose code Stryker changes; laws with fewer examples than every day, since they are
 * tried a thousand times over.
 * @type {import('jest').Config}
 */
module.exports = {
  ...everyday,
  roots: [
    '<rootDir>/test/algorithms',
    '<rootDir>/test/policies',
    '<rootDir>/test/routing',
    '<rootDir>/test/config-table',
  ],
  setupFiles: ['<rootDir>/jest.mutation.setup.js'],
}
