import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import { commonTokens, declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { DryRunStatus, MutantRunStatus, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import { transformSync } from '@swc/core'

const ofJest = createRequire(createRequire(import.meta.url).resolve('jest-runner'))
const circus = ofJest('jest-circus')
const { jestExpect: expect } = createRequire(ofJest.resolve('jest-circus'))('@jest/expect')
const { SnapshotState } = createRequire(ofJest.resolve('jest-circus'))('jest-snapshot')
const { ModuleMocker } = ofJest('jest-mock')
const { ModernFakeTimers } = createRequire(ofJest.resolve('jest-circus'))('@jest/fake-timers')

/** Laws are tried on few examples: they are tried for a thousand mutants. */
const MAX_EXAMPLES = 30

/** How long a test may compute under a mutant, beyond twice what its file took without one, in milliseconds. */
const MAX_MS = 5000

/** How long it may wait for what never comes, in milliseconds. */
const MAX_WAIT_MS = 3000

/** Statements of mutated files that a test may run under a mutant, beyond ten times those that it runs without one. */
const MAX_STEPS = 100_000

/** Stands for all tests of a file: it covers what the file runs outside of its tests, such as in `describe`. */
const EVERY_TEST = 'every test'

/**
 * Runs Jest's suites in this process, and for each mutant only the tests that cover it, until one fails. The modules of
 * the project are loaded anew for every file and every mutant, so nothing that one mutant left behind is seen by
 * another; what they are compiled to is kept. A mutant takes milliseconds of computing time, and Jest itself half a
 * second. Only for suites that use nothing of `jest` but `fn`, `spyOn`, `mocked`, `restoreAllMocks` and fake timers.
 */
class InProcessTestRunner {
  static inject = [commonTokens.options]

  root = process.cwd()
  compiled = new Map()
  /** The milliseconds of each file, and how many mutants it has killed. */
  found = new Map()
  /** How many statements of mutated files each test runs, and which tests are left out under mutants. */
  steps = new Map()
  leftOut = new Set()
  /** Where mutated code reads which mutant is active, anew for each run of a file. */
  namespace = {}
  isBailing = false
  hasFailed = false
  isWithoutEnd = false

  constructor({ inProcess = {} }) {
    this.longMs = inProcess.leaveOutMs ?? Infinity
  }

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    this.remember()
    const ofTests = createRequire(path.join(this.root, 'test/'))
    ofTests('./jest/variables.js').isolateVariables()
    process.env.SLUICE_UNDER_MUTATION = 'true' // see test/stores.ts
    process.env.MAX_EXAMPLES = String(MAX_EXAMPLES) // see test/runs.ts
    const fc = ofTests('./fast-check.js')
    fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: MAX_EXAMPLES, endOnFailure: true })
    this.timers = new ModernFakeTimers({ config: { rootDir: this.root, fakeTimers: {} }, global: globalThis })
    this.mocks = new ModuleMocker(globalThis)
    const { mocks, timers } = this
    const { describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = circus
    Object.assign(globalThis, { describe, it, test, beforeAll, beforeEach, afterAll, afterEach, expect })
    globalThis.jest = {
      fn: mocks.fn.bind(mocks),
      spyOn: mocks.spyOn.bind(mocks),
      mocked: (mock) => mock,
      restoreAllMocks: () => mocks.restoreAllMocks(),
      useFakeTimers: (options) => timers.useFakeTimers(options),
      setSystemTime: (at) => timers.setSystemTime(at),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
      getTimerCount: () => timers.getTimerCount(),
    }
    circus.addEventHandler(({ name, test }) => {
      if (name === 'hook_start') this.namespace.testId ??= EVERY_TEST
      if (/^hook_(success|failure)$/.test(name) && this.namespace.testId === EVERY_TEST)
        this.namespace.testId = undefined
      if (name === 'test_start') {
        const id = test.idForStryker
        if (this.isBailing && this.hasFailed) test.mode = 'skip'
        this.namespace.testId = id
        this.namespace.steps = 0
        this.namespace.maxSteps = this.isBailing ? MAX_STEPS + 10 * (this.steps.get(id) ?? 0) : Infinity
        expect.setState({ currentTestName: titleOf(test) })
      }
      if (name === 'test_done') {
        if (!this.isBailing) this.steps.set(test.idForStryker, this.namespace.steps)
        this.namespace.steps = 0
        this.namespace.maxSteps = this.isBailing ? MAX_STEPS : Infinity // what goes on after it blocks nobody
        this.isPolluted ||= test.errors.some((error) => /Exceeded timeout/.test(String(error?.[0]?.message ?? error)))
        this.hasFailed ||= test.errors.length > 0
        // a hook that failed may have left fake timers, with which neither Jest nor Stryker would go on
        if (this.isBailing && this.hasFailed) this.timers.useRealTimers()
        this.namespace.testId = undefined
      }
    })
  }

  async dryRun({ testFiles }) {
    const files = testFiles.map((file) => path.resolve(this.root, file))
    const mutantCoverage = { static: {}, perTest: {} }
    this.namespace.mutantCoverage = mutantCoverage
    this.isBailing = false
    const tests = []
    for (const file of files) {
      const startedAt = performance.now()
      const ofFile = await this.runFile(file)
      this.found.set(file, { ms: performance.now() - startedAt, kills: 0 })
      const { [EVERY_TEST]: shared = {}, ...perTest } = mutantCoverage.perTest
      for (const { id } of ofFile) perTest[id] = { ...shared, ...perTest[id] }
      mutantCoverage.perTest = perTest
      tests.push(...ofFile)
    }
    for (const { id, timeSpentMs } of tests) if (timeSpentMs > this.longMs) this.leftOut.add(id)
    this.keep()
    return { status: DryRunStatus.Complete, tests, mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter }) {
    if (this.isPolluted) process.exit(1) // Stryker starts another, in which nothing of earlier mutants goes on
    this.isBailing = true
    this.hasFailed = false
    this.isWithoutEnd = false
    const worth = (file) => (1 + this.foundOf(file).kills) / this.foundOf(file).ms
    const files = [...new Set(testFilter.map((id) => path.resolve(this.root, id.split(': ')[0])))].sort(
      (a, b) => worth(b) - worth(a),
    )
    const tests = []
    for (const file of files) {
      tests.push(...(await this.runFile(file, new Set(testFilter), activeMutant.id)))
      this.isPolluted ||= this.isWithoutEnd
      if (this.isWithoutEnd) return { status: MutantRunStatus.Timeout }
      if (this.hasFailed) {
        this.foundOf(file).kills++
        this.keep()
        break
      }
    }
    return toMutantRunResult({ status: DryRunStatus.Complete, tests }, false)
  }

  async runFile(file, chosen, mutant) {
    this.newNamespace(mutant)
    const { namespace } = this
    this.timers.useRealTimers()
    this.mocks.restoreAllMocks()
    circus.resetState()
    if (mutant !== undefined) circus.getState().testTimeout = MAX_WAIT_MS
    expect.setState({ testPath: file, snapshotState: snapshotOf(file) })
    namespace.testId = EVERY_TEST
    const bounded = (call) => (mutant === undefined ? call() : this.bounded(call, file))
    try {
      bounded(() => new Modules(this.root, this.compiled, namespace).load(file))
    } catch (error) {
      if (mutant === undefined) throw error
      this.hasFailed = true
      const [id] = chosen
      return [{ id, name: id, fileName: file, timeSpentMs: 0, status: TestStatus.Failed, failureMessage: `${error}` }]
    } finally {
      namespace.testId = undefined
    }
    const name = this.nameOf(file)
    const visit = (block) => {
      for (const child of block.children) {
        if (child.type === 'describeBlock') visit(child)
        else {
          child.idForStryker = `${name}: ${titleOf(child)}`
          if (chosen && !(chosen.has(child.idForStryker) && !this.leftOut.has(child.idForStryker))) child.mode = 'skip'
          const { fn } = child
          if (fn) child.fn = () => bounded(fn)
        }
      }
    }
    visit(circus.getState().rootDescribeBlock)
    const { testResults } = await circus.run()
    return testResults.map(({ testPath, errors, status, duration }) => {
      const title = testPath.slice(1).join(' ')
      const told = { id: `${name}: ${title}`, name: title, fileName: file, timeSpentMs: duration ?? 0 }
      if (errors.length > 0) return { ...told, status: TestStatus.Failed, failureMessage: errors.join('\n') }
      return { ...told, status: status === 'skip' ? TestStatus.Skipped : TestStatus.Success }
    })
  }

  /** A loop without end is left here, where a new worker would take many seconds. What it awaits is not bounded. */
  bounded(call, file) {
    this.namespace.call = call
    try {
      return CALL.runInThisContext({ timeout: MAX_MS + 2 * Math.ceil(this.foundOf(file).ms) })
    } catch (error) {
      this.isWithoutEnd ||= error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
      throw error
    }
  }

  /** A worker that was started anew, after another one crashed, has found nothing. */
  foundOf(file) {
    return this.found.get(file) ?? this.found.set(file, { ms: 1000, kills: 0 }).get(file)
  }

  nameOf(file) {
    return path.relative(this.root, file)
  }

  /**
   * Where the code of a file's run reads which mutant is active, and asks all the time which test runs: a loop that
   * awaits in each round blocks timers, and so ends here. What goes on after its test is over counts for no other.
   */
  newNamespace(mutant) {
    const runner = this
    const { mutantCoverage } = this.namespace
    this.namespace = {
      mutantCoverage,
      activeMutant: mutant,
      steps: 0,
      maxSteps: Infinity,
      get currentTestId() {
        if (++this.steps > this.maxSteps) {
          if (this === runner.namespace) runner.isWithoutEnd = true
          runner.isPolluted = true
          throw new Error('this test runs many times as long as without the mutant')
        }
        return this.testId
      },
    }
    globalThis.__stryker__ = this.namespace
  }

  /** What the first run found is for workers, too, that are started anew. */
  keep() {
    const { found, steps, leftOut } = this
    writeFileSync(`${FOUND}.new`, JSON.stringify({ found: [...found], steps: [...steps], leftOut: [...leftOut] }))
    renameSync(`${FOUND}.new`, FOUND) // a worker may be ended at any moment
  }

  remember() {
    if (!existsSync(FOUND)) return
    const { found, steps, leftOut } = JSON.parse(readFileSync(FOUND, 'utf8'))
    Object.assign(this, { found: new Map(found), steps: new Map(steps), leftOut: new Set(leftOut) })
  }
}

const FOUND = path.resolve('.mutation-found.json')

const snapshotOf = (file) =>
  new SnapshotState(path.join(path.dirname(file), '__snapshots__', `${path.basename(file)}.snap`), {
    updateSnapshot: 'none',
    snapshotFormat: { escapeString: false, printBasicPrototype: false },
  })

const CALL = new vm.Script('__stryker__.call()')

const titleOf = ({ name, parent }) => (parent?.parent ? `${titleOf(parent)} ${name}` : name)

/** The modules of the project, each loaded once; those of node_modules are Node's. */
class Modules {
  loaded = new Map()

  constructor(root, compiled, namespace) {
    this.root = root
    this.compiled = compiled
    this.namespace = namespace
  }

  load(file) {
    const known = this.loaded.get(file)
    if (known) return known.exports
    const module = { exports: {} }
    this.loaded.set(file, module)
    const ofNode = createRequire(file)
    const require = (wanted) => {
      if (wanted === 'fast-check') return ofNode(path.join(this.root, 'test/fast-check.js'))
      if (!wanted.startsWith('.') || wanted.includes('node_modules')) return ofNode(wanted)
      const target = path.resolve(path.dirname(file), wanted)
      const found = [target, `${target}.ts`, `${target}/index.ts`].find((name) => name.endsWith('.ts') && isFile(name))
      return found ? this.imported(found) : ofNode(wanted)
    }
    this.scriptOf(file)(module.exports, require, module, file, path.dirname(file))
    return module.exports
  }

  /** No mutant is active while a module is loaded: what is worked out there once is the same for all tests. */
  imported(file) {
    const { namespace } = this
    const { testId, activeMutant } = namespace
    Object.assign(namespace, { testId: undefined, activeMutant: undefined })
    try {
      return this.load(file)
    } finally {
      Object.assign(namespace, { testId, activeMutant })
    }
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

/** What this runner can be told by the configuration. */
export const strykerValidationSchema = {
  properties: { inProcess: { type: 'object', properties: { leaveOutMs: { type: 'number' } } } },
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessTestRunner)]
