#!/usr/bin/env node
// The published package holds the compiled command line; a clone holds its source, which tsx runs as it is: what is
// required, and what is imported when it is needed.
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const source = join(__dirname, 'main.ts')
const run = (main) => require(main).main(require('../package.json').version)

if (existsSync(source)) {
  import('tsx/esm/api').then(({ register }) => {
    register()
    require('tsx/cjs/api').register()
    run(source)
  })
} else {
  run('../dist/cli/main.js')
}
