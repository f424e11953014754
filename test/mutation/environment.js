const fs = require('node:fs')
const { TestEnvironment } = require('jest-environment-node')
const { FOUND, isKilled, told } = require('./found')

/** Leaves out, for a mutant, what comes after the first test that failed, and tests that took long without one. */
module.exports = class MutationEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context)
    const found = fs.existsSync(FOUND) ? JSON.parse(fs.readFileSync(FOUND, 'utf8'))[context.testPath] : undefined
    this.long = new Set(found?.long)
  }

  handleTestEvent({ name, test }) {
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__
    if (mutant === undefined) return
    if (name === 'test_start' && (isKilled(mutant) || this.long.has(fullNameOf(test)))) test.mode = 'skip'
    if (name === 'hook_failure' || (name === 'test_done' && test.errors.length > 0)) told(mutant)
  }
}

function fullNameOf({ name, parent }) {
  return parent ? `${fullNameOf(parent)} ${name}`.replace(/^ROOT_DESCRIBE_BLOCK /, '') : name
}
