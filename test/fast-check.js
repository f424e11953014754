// What `import fc from 'fast-check'` gives in tests: the same examples each time, so that what fails for one fails for
// all. SEED=random tries others.
const fc = require('../node_modules/fast-check/lib/cjs/fast-check.js')

const { SEED = '1' } = process.env
if (SEED !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(SEED) })

module.exports = fc
