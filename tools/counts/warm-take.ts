import { createHook } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'

/**
 * A process of its own, since the coverage of V8 is that of the whole process: prints, as JSON, what a `take` of one
 * sliding window in a `MemoryStore` does once twenty have gone before.
 *
 * Its argument is the limiter as one file that esbuild has bundled and not minified, in which a comment such as
 * `// limiter/items.ts` stands before what came of each file.
 */
const bundle = process.argv[2]!

export interface WarmTake {
  /** Functions of the limiter that it enters; getters, callbacks and constructors are functions. */
  readonly functions: number
  /** Files that have one of them. */
  readonly files: number
  /** Promises that are made, an `async` function's own and those of each `await` included. */
  readonly promises: number
  /** Turns of the queue of microtasks until its answer is there. */
  readonly turns: number
}

async function measure(): Promise<WarmTake> {
  const { createLimiter, MemoryStore } = require(bundle) as typeof import('../../limiter')
  const policies = [{ name: 'per-minute', algorithm: 'sliding-window', limit: 1000, window: '1m' }] as const
  const limiter = createLimiter({ store: new MemoryStore(), policies })
  const take = () => limiter.take('a')
  for (let i = 0; i < 20; i++) await take()

  const entered = await functionsOf(take)
  return {
    functions: entered.length,
    files: new Set(entered).size,
    promises: await promisesOf(take),
    turns: await turnsOf(take),
  }
}

/** Of each function of the limiter that was entered, its file. */
async function functionsOf(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  let entered: string[] = []
  session.post('Profiler.takePreciseCoverage', (_, { result }) => {
    const { functions } = result.find(({ url }) => url.endsWith(bundle))!
    const places = functions.flatMap(({ ranges: [range] }) =>
      range!.startOffset > 0 && range!.count > 0 ? [fileAt(range!.startOffset)] : [],
    )
    entered = places.filter((file) => file.startsWith('limiter/'))
  })
  session.disconnect()
  return entered
}

const text = readFileSync(bundle, 'utf8')
const HEADS = [...text.matchAll(/^ *\/\/ (\S+\.[cm]?[jt]s)$/gm)]

/** The file that a place in the bundle came from. */
const fileAt = (offset: number): string => HEADS.findLast(({ index }) => index < offset)?.[1] ?? ''

/** Beyond those of a promise that is there already. */
async function promisesOf(work: () => Promise<unknown>): Promise<number> {
  return (await allPromisesOf(work)) - (await allPromisesOf(() => DONE))
}

async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  return (await allTurnsOf(work)) - (await allTurnsOf(() => DONE))
}

const DONE = Promise.resolve()

async function allPromisesOf(work: () => Promise<unknown>): Promise<number> {
  let promises = 0
  const hook = createHook({
    init(_, type) {
      if (type === 'PROMISE') promises++
    },
  })
  hook.enable()
  await work()
  hook.disable()
  return promises
}

async function allTurnsOf(work: () => Promise<unknown>): Promise<number> {
  let isOver = false
  let turns = 0
  void work().then(() => {
    isOver = true
  })
  for (; !isOver; turns++) await undefined
  return turns
}

void measure().then((counts) => process.stdout.write(JSON.stringify(counts)))
