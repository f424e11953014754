const everyday = require('./jest.config.js')

/** The tests of the pure folders, whose code Stryker changes. @type {import('jest').Config} */
module.exports = { ...everyday, roots: ['<rootDir>/test/algorithms', '<rootDir>/test/policies'] }
