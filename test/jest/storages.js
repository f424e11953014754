const asyncHooks = require('node:async_hooks')

const made = new Set()

const { AsyncLocalStorage } = asyncHooks
asyncHooks.AsyncLocalStorage = class extends AsyncLocalStorage {
  constructor(...options) {
    super(...options)
    made.add(this)
  }
}

/**
 * Disables the storages that a suite has made. Each suite makes one by loading Jest's parts anew, and Node tells every
 * promise to all that were ever used: without this, each promise of a worker's hundredth suite is told to a hundred.
 */
exports.disableStorages = () => {
  for (const storage of made) storage.disable()
  made.clear()
}
