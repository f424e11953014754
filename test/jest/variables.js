/** What whoever runs the tests chooses, see docs/testing.md; where programs and temporary files are; whose process. */
const KEPT = /^(CHROMIUM|RUNS|SEED|THOROUGH|PATH|TMPDIR|JEST_WORKER_ID|__STRYKER_ACTIVE_MUTANT__)$/

/** What slow suites need as well, which install packages and start engines that are kept in a home. */
const OF_HOME = /^(HOME|XDG_CACHE_HOME|JAVA_HOME|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|npm_config_\w+|\w+_proxy)$/i

/** The rest of every test's environment, and of the processes that it starts. */
const FIXED = {
  HOME: '/dev/null', // which nothing can make a folder
  XDG_RUNTIME_DIR: '/dev/null', // in which no local gateway says that it runs
  LANG: 'C.UTF-8',
  TZ: 'Pacific/Chatham', // so that local time is never UTC
  NODE_ENV: 'test', // else the CDK replaces functions of Node's
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', // of old Node versions, in every process
  CDK_VALIDATION: 'false', // a tenth of a second for each stack; `npm run synth` has the template validated
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  // a clone may belong to another user
  ...{ GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' },
}

/**
 * Takes from this process every variable that could change a test's result. What it starts afterwards gets the same.
 *
 * @param needsHome whether its suites install packages or start engines that are kept in a home.
 */
exports.isolateVariables = (needsHome) => {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name) || (needsHome && OF_HOME.test(name)))
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, FIXED, Object.fromEntries(kept))
}
