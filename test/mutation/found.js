const path = require('node:path')

/**
 * What the first run found: each file's tests, how long it took, and how many mutants it has killed since. A worker
 * that is started anew reads it again.
 */
exports.FOUND = path.resolve('.mutation-found.json')

let killed

/** A test has failed for this mutant. */
exports.told = (mutant) => {
  killed = mutant
}

exports.isKilled = (mutant) => mutant !== undefined && mutant === killed
