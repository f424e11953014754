const { TestEnvironment } = require('jest-environment-node')
const { disableStorages } = require('./storages')
const { isolateVariables } = require('./variables')

/** What suites leave to those after them in their worker: see test/engines-left.ts. */
const left = { engines: [] }

/** Lets a suite see no variable of whoever runs it, and leaves nothing of it in its worker that slows others down. */
module.exports = class Environment extends TestEnvironment {
  constructor(config, context) {
    isolateVariables(config.projectConfig.testEnvironmentOptions.needsHome)
    super(config, context)
    this.global.leftInWorker = left
  }

  async teardown() {
    await super.teardown()
    disableStorages()
  }
}
