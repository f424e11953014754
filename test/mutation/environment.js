const fs = require('node:fs')
const Environment = require('../jest/environment')
const { FOUND, isKilled, told } = require('./found')

/** Leaves out, for a mutant, what comes after the first test that failed, and tests that took long without one. */
module.exports = class MutationEnvironment extends Environment {
  constructor(config, context) {
    super(config, context)
    const found = fs.existsSync(FOUND) ? JSON.parse(fs.readFileSync(FOUND, 'utf8'))[context.testPath] : undefined
    this.long = new Set(found?.long)
    this.failed = new Set()
  }

  handleTestEvent({ name, test }) {
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__
    if (mutant === undefined) return
    if (name === 'test_start' && ((isKilled(mutant) && !this.failed.has(test)) || this.long.has(fullNameOf(test))))
      test.mode = 'skip'
    if (name === 'hook_failure') told(mutant)
    if (name === 'test_done' && test.errors.length > 0) {
      if (this.failed.has(test)) told(mutant) // for the second time, see retry.js
      this.failed.add(test)
    }
  }
}

function fullNameOf({ name, parent }) {
  return parent ? `${fullNameOf(parent)} ${name}`.replace(/^ROOT_DESCRIBE_BLOCK /, '') : name
}
