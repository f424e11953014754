import { join } from 'node:path'
import type ts from 'typescript'
import { ROOT } from './compilers'

/** What an editor offers at the `|` of a program: at least these. */
const OFFERED: readonly (readonly [program: string, names: readonly string[]])[] = [
  ['limiter.take("a", { costs: { | } })', ['tokens', 'bytes']],
  ['limiter.settle("a", { costs: { | } })', ['tokens', 'bytes']],
  ['limiter.take("a", { | })', ['cost', 'costs', 'reserve']],
  ['limiter.takeAll([], { | })', ['reserve']],
  ['limiter.waitFor("a", { | })', ['maxWaitMs', 'costs']],
  ['slots.acquire("a", { | })', ['reserve']],
  ['decision.policies.|', ['bytes', 'requests']],
  ['decision.policies["|"]', ['tokens-per-minute', 'bytes', 'requests']],
  ['if (decision.policy === "|") {}', ['tokens-per-minute', 'bytes', 'requests']],
  ['limiter.takeAll([{ subject: "a", policies: ["|"] }])', ['tokens-per-minute', 'bytes', 'requests']],
  ['createLimiter({ store, policies: [{ name: "a", limit: 1, window: "|" }] })', ['day', 'week', 'month', 'year']],
  [
    'createLimiter({ store, policies: [{ name: "a", algorithm: "|", limit: 1, window: "1m" }] })',
    ['gcra', 'fixed-window'],
  ],
  ['createLimiter({ store, policies: [{ name: "a", limit: 1, | }] })', ['window', 'burst', 'cost', 'timeout']],
  ['createLimiter({ store, | })', ['policies', 'onStoreError']],
]

const BEFORE = `import { createLimiter, MemoryStore } from 'sluice/limiter'
const store = new MemoryStore()
const limiter = createLimiter({
  store,
  policies: [
    { name: 'tokens-per-minute', limit: 1000, window: '1m', cost: 'tokens' },
    { name: 'bytes', limit: 1000, window: '1m', cost: 'bytes' },
    { name: 'requests', limit: 10, window: '1m' },
  ],
})
const slots = createLimiter({ store, policies: [{ name: 'slots', algorithm: 'concurrency', limit: 1, timeout: '1m' }] })
const decision = await limiter.take('a')
`

const pathOf = (index: number) => join(ROOT, `completion-${index}.ts`)

/** A program for each, by its path. */
export const COMPLETED: ReadonlyMap<string, string> = new Map(
  OFFERED.map(([program], i) => [pathOf(i), BEFORE + program.replace('|', '')]),
)

/** What is not offered. */
export const notOffered = (service: ts.LanguageService): string[] =>
  OFFERED.flatMap(([program, names], i) => {
    const { entries = [] } = service.getCompletionsAtPosition(pathOf(i), BEFORE.length + program.indexOf('|'), {}) ?? {}
    const missing = names.filter((name) => !entries.some((entry) => entry.name === name))
    return missing.length === 0 ? [] : [`${program} must offer ${missing.join(', ')}`]
  })
