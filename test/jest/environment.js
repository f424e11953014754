const { TestEnvironment } = require('jest-environment-node')
const { disableStorages } = require('./storages')

/** Leaves nothing of a suite in its worker that slows the next ones down. */
module.exports = class Environment extends TestEnvironment {
  async teardown() {
    await super.teardown()
    disableStorages()
  }
}
