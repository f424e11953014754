const fs = require('node:fs')
const { default: TestRunner } = require('jest-runner')
const { FOUND, isKilled, told } = require('./found')

/** Tests that take longer than this without a mutant are not run with one, in milliseconds. */
const LONG_MS = 400

/**
 * Runs what may kill the mutant at hand and no more: the files whose tests cover it, those first that have killed most
 * in the least time, until one test fails. Stryker by itself loads every file for each mutant, and runs all of its
 * tests though one has failed.
 */
module.exports = class MutationRunner extends TestRunner {
  async runTests(tests, watcher, options) {
    const found = fs.existsSync(FOUND) ? JSON.parse(fs.readFileSync(FOUND, 'utf8')) : {}
    const { testNamePattern } = this._globalConfig
    const pattern = testNamePattern ? new RegExp(testNamePattern, 'i') : undefined
    const covers = ({ path }) => !pattern || found[path]?.names.some((name) => pattern.test(name))
    const worth = ({ path }) => (found[path] ? (1 + found[path].kills) / found[path].ms : 0)
    this.on('test-file-success', ([{ path }, { testResults, perfStats }]) => {
      const killed = testResults.some(({ status }) => status === 'failed')
      if (killed && pattern) told(process.env.__STRYKER_ACTIVE_MUTANT__)
      if (pattern) {
        if (killed && found[path]) found[path].kills++
      } else {
        const long = testResults.filter(({ duration }) => duration > LONG_MS).map(({ fullName }) => fullName)
        found[path] = { names: testResults.map(({ fullName }) => fullName), ms: perfStats.runtime, kills: 0, long }
      }
    })
    for (const test of tests.filter(covers).sort((a, b) => worth(b) - worth(a))) {
      if (pattern && isKilled(process.env.__STRYKER_ACTIVE_MUTANT__)) break
      await super.runTests([test], watcher, options)
    }
    fs.writeFileSync(FOUND, JSON.stringify(found))
  }
}
