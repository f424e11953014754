const { Script } = require('node:vm')
const { default: Runtime } = require('jest-runtime')

/** What a file was compiled to, by its name: its text, and a script unless it has to be compiled by Jest. */
const compiled = new Map()

/**
 * Compiles a file once for all suites of a worker. Each suite runs it anew, in its own context; Jest by itself would
 * parse the AWS SDK, the CDK and itself again for each.
 */
module.exports = class CompilingOnce extends Runtime {
  constructor(...options) {
    super(...options)
    const { executor } = this
    const compile = executor.compile.bind(executor)
    const head = `(function (${executor.injectedModuleParameters.join(', ')}) {`
    executor.compile = (source, filename) => {
      const context = this._environment.getVmContext()
      let known = compiled.get(filename)
      if (known?.source !== source) {
        known = { source, script: toScript(source, filename, head) }
        compiled.set(filename, known)
      }
      return context && known.script ? known.script.runInContext(context) : compile(source, filename)
    }
  }
}

/** Undefined for a file that imports dynamically, which is one suite's own, and where Jest has an error to explain. */
function toScript(source, filename, head) {
  if (/\bimport\s*\(/.test(source)) return undefined
  try {
    return new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length })
  } catch {
    return undefined
  }
}
