const { TestEnvironment } = require('jest-environment-node')
const { disableStorages } = require('./storages')
const { isolateVariables } = require('./variables')

/** Lets a suite see no variable of whoever runs it, and leaves nothing of it in its worker that slows others down. */
module.exports = class Environment extends TestEnvironment {
  constructor(config, context) {
    isolateVariables(config.projectConfig.testEnvironmentOptions.needsHome)
    super(config, context)
  }

  async teardown() {
    await super.teardown()
    disableStorages()
  }
}
