const SWC = ['@swc/jest', { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } }]

/**
 * Globals that every file gets as arguments: inside of a suite's context, looking up a global takes 200 ns, and a law
 * does so a million times. None that fake timers replace, and none that a package declares anew, such as Buffer.
 */
const UNCHANGING =
  'Array BigInt Boolean Error Infinity JSON Map Math Number Object Promise Proxy RangeError Reflect RegExp Set String ' +
  'Symbol TypeError Uint8Array WeakMap WeakSet parseInt'

/**
 * Everything that Node alone can run; jest.slow.config.js adds what needs other engines or minutes. @type
 * {import('jest').Config}
 */
module.exports = {
  testEnvironment: require.resolve('./test/jest/environment.js'), // Stryker knows no <rootDir>
  runtime: require.resolve('./test/jest/runtime.js'),
  sandboxInjectedGlobals: UNCHANGING.split(' '),
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/slow/'],
  transform: { '^.+\\.ts$': SWC, '/(temporal-[a-z]+|@middy)/.+\\.js$': SWC },
  transformIgnorePatterns: ['/node_modules/(?!temporal-|@middy/)'], // which come as ES modules only
  moduleNameMapper: {
    '^sluice/tiered$': '<rootDir>/tiered/index.ts', // as the examples import it
    '^fast-check$': '<rootDir>/test/fast-check.js', // the same examples each time
    '^@middy/(core|util)$': '<rootDir>/node_modules/@middy/$1/index.js', // which name no file for `require`
  },
  setupFiles: ['<rootDir>/test/no-bundling.js'],
  testTimeout: 60_000,
  maxWorkers: '100%', // of two cores Jest would leave one idle
}
