import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { DryRunStatus, determineHitLimitReached, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import { transformSync } from '@swc/core'

const ofJest = createRequire(createRequire(import.meta.url).resolve('jest-runner'))
const circus = ofJest('jest-circus')
const { jestExpect: expect } = createRequire(ofJest.resolve('jest-circus'))('@jest/expect')
const { ModuleMocker } = ofJest('jest-mock')
const { ModernFakeTimers } = createRequire(ofJest.resolve('jest-circus'))('@jest/fake-timers')

/** Laws are tried on few examples: they are tried for a thousand mutants. */
const MOST_EXAMPLES = 30

/** Whose tests are run, where the command line names no files. */
const SUITES = ['algorithms', 'config-table', 'policies', 'routing'].map((room) => `test/${room}`)

/**
 * Runs Jest's suites in this process, and for each mutant only the tests that cover it, until one fails. The modules of
 * the project are loaded anew for every file and every mutant, so nothing that one mutant left behind is seen by
 * another; what they are compiled to is kept. A mutant takes milliseconds of computing time, and Jest itself half a
 * second. Only for suites that use nothing of `jest` but `fn`, `spyOn` and fake timers.
 */
class InProcessTestRunner {
  root = process.cwd()
  compiled = new Map()
  /** The milliseconds of each file, and how many mutants it has killed. */
  found = new Map()
  /** Where mutated code reads which mutant is active. */
  namespace = {}
  isBailing = false
  hasFailed = false

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    globalThis.__stryker__ = this.namespace
    const timers = new ModernFakeTimers({ config: { rootDir: this.root, fakeTimers: {} }, global: globalThis })
    const mocks = new ModuleMocker(globalThis)
    const { describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = circus
    Object.assign(globalThis, { describe, it, test, beforeAll, beforeEach, afterAll, afterEach, expect })
    globalThis.jest = {
      fn: mocks.fn.bind(mocks),
      spyOn: mocks.spyOn.bind(mocks),
      useFakeTimers: () => timers.useFakeTimers(),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
      getTimerCount: () => timers.getTimerCount(),
    }
    circus.addEventHandler(({ name, test }) => {
      if (name === 'test_start') {
        if (this.isBailing && this.hasFailed) test.mode = 'skip'
        this.namespace.currentTestId = test.idForStryker
      }
      if (name === 'test_done') {
        this.hasFailed ||= test.errors.length > 0
        this.namespace.currentTestId = undefined
      }
    })
  }

  async dryRun({ testFiles }) {
    const files = testFiles?.map((file) => path.resolve(this.root, file)) ?? SUITES.flatMap((one) => this.suitesIn(one))
    this.namespace.mutantCoverage = { static: {}, perTest: {} }
    this.isBailing = false
    const tests = []
    for (const file of files) {
      const startedAt = performance.now()
      tests.push(...(await this.runFile(file)))
      this.found.set(file, { ms: performance.now() - startedAt, kills: 0 })
    }
    return { status: DryRunStatus.Complete, tests, mutantCoverage: this.namespace.mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const { namespace } = this
    this.isBailing = true
    this.hasFailed = false
    namespace.hitLimit = hitLimit
    namespace.hitCount = hitLimit === undefined ? undefined : 0
    const worth = (file) => (1 + this.found.get(file).kills) / this.found.get(file).ms
    const files = [...this.found.keys()]
      .filter((file) => !testFilter || testFilter.some((id) => id.startsWith(`${this.nameOf(file)}: `)))
      .sort((a, b) => worth(b) - worth(a))
    const tests = []
    try {
      for (const file of files) {
        const activate = () => (namespace.activeMutant = activeMutant.id)
        if (mutantActivation === 'static') activate()
        tests.push(...(await this.runFile(file, testFilter && new Set(testFilter), activate)))
        const timeout = determineHitLimitReached(namespace.hitCount, hitLimit)
        if (timeout) return timeout
        if (this.hasFailed) {
          this.found.get(file).kills++
          break
        }
        namespace.activeMutant = undefined
      }
    } finally {
      namespace.activeMutant = undefined
    }
    return toMutantRunResult({ status: DryRunStatus.Complete, tests }, false)
  }

  async runFile(file, chosen, activate = () => {}) {
    circus.resetState()
    new Modules(this.root, this.compiled).load(file)
    activate()
    const name = this.nameOf(file)
    const visit = (block) => {
      for (const child of block.children) {
        if (child.type === 'describeBlock') visit(child)
        else {
          child.idForStryker = `${name}: ${titleOf(child)}`
          if (chosen && !chosen.has(child.idForStryker)) child.mode = 'skip'
        }
      }
    }
    visit(circus.getState().rootDescribeBlock)
    const { testResults, unhandledErrors } = await circus.run()
    if (unhandledErrors.length > 0) this.hasFailed = true
    return testResults.map(({ testPath, errors, status, duration }) => {
      const title = testPath.slice(1).join(' ')
      const told = { id: `${name}: ${title}`, name: title, fileName: file, timeSpentMs: duration ?? 0 }
      if (errors.length > 0) return { ...told, status: TestStatus.Failed, failureMessage: errors.join('\n') }
      return { ...told, status: status === 'skip' ? TestStatus.Skipped : TestStatus.Success }
    })
  }

  nameOf(file) {
    return path.relative(this.root, file)
  }

  suitesIn(folder) {
    return readdirSync(path.join(this.root, folder), { recursive: true })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => path.join(this.root, folder, name))
  }
}

const titleOf = ({ name, parent }) => (parent?.parent ? `${titleOf(parent)} ${name}` : name)

/** The modules of the project, each loaded once; those of node_modules are Node's. */
class Modules {
  loaded = new Map()

  constructor(root, compiled) {
    this.root = root
    this.compiled = compiled
  }

  load(file) {
    const known = this.loaded.get(file)
    if (known) return known.exports
    const module = { exports: {} }
    this.loaded.set(file, module)
    const ofNode = createRequire(file)
    const require = (wanted) => {
      if (wanted === 'fast-check') return this.fewExamples()
      if (!wanted.startsWith('.') || wanted.includes('node_modules')) return ofNode(wanted)
      const target = path.resolve(path.dirname(file), wanted)
      const found = [`${target}.ts`, `${target}/index.ts`].find(isFile)
      return found ? this.load(found) : ofNode(wanted)
    }
    this.scriptOf(file)(module.exports, require, module, file, path.dirname(file))
    return module.exports
  }

  fewExamples() {
    const all = createRequire(path.join(this.root, 'test/'))('./fast-check.js')
    const assert = (property, { numRuns = MOST_EXAMPLES, ...more } = {}) =>
      all.assert(property, { ...more, numRuns: Math.min(numRuns, MOST_EXAMPLES) })
    return { ...all, assert, __esModule: true, default: { ...all.default, assert } }
  }

  scriptOf(file) {
    const known = this.compiled.get(file)
    if (known) return known
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      filename: file,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
    })
    const wrapped = `(function (exports, require, module, __filename, __dirname) {${code}\n})`
    const script = new vm.Script(wrapped, { filename: file }).runInThisContext()
    this.compiled.set(file, script)
    return script
  }
}

const isFile = (file) => existsSync(file) && statSync(file).isFile()

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessTestRunner)]
