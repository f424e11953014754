#!/usr/bin/env node
// The published package holds the compiled command line; a clone holds its source, which tsx runs as it is.
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const source = join(__dirname, '..', 'cli', 'main.ts')
const isClone = existsSync(source)
if (isClone) require('tsx/cjs/api').register()
require(isClone ? source : '../dist/cli/main.js').main(require('../package.json').version)
