import { join } from 'node:path'
import { type Child, startChild } from '../child'
import type { Arm } from '../children/overhead'
import { type Figure, toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { buildProduct } from '../product'
import { interleaved, ratios, summary } from '../statistics'

interface Measured extends Arm {
  /** The most that a call may cost: processor time, in microseconds, and bytes of garbage. */
  readonly goal?: { readonly us: number; readonly bytes: number }
}

const ARMS: Readonly<Record<string, Measured>> = {
  'cached denial, 1 policy': { call: 'cached denial', policies: 1, goal: { us: 4, bytes: 2048 } },
  'cached denial, 4 policies': { call: 'cached denial', policies: 4, goal: { us: 6, bytes: 2048 } },
  'take on MemoryStore, 1 policy': { call: 'charge', policies: 1, goal: { us: 20, bytes: 8192 } },
  'take on MemoryStore, 4 policies': { call: 'charge', policies: 4, goal: { us: 40, bytes: 16_384 } },
  'take on MemoryStore, 30 policies, mixed algorithms': { call: 'charge', policies: 30 },
}

/** What the limiter costs by itself, without a network: processor time, garbage collection included, and garbage. */
export const overhead: Part = {
  title: "The limiter's own work, without a network",

  async run({ quick }: Bench) {
    const names = Object.keys(ARMS)
    const children = new Map<string, Child>()
    try {
      const product = buildProduct()
      for (const name of names) {
        const execArgv = ['--min-semi-space-size=64'] // so that garbage is counted before it is collected
        children.set(name, startChild(join(__dirname, '..', 'children', 'overhead.ts'), { execArgv }))
        await children.get(name)!.ask({ ask: 'limiter', product, arm: ARMS[name] })
      }
      const each = async (ask: 'cpu' | 'garbage', calls: number, rounds: { most: number; least: number }) => {
        const arm = (name: string) => () =>
          children.get(name)!.ask<number>({ ask, calls: ARMS[name]!.call === 'charge' ? calls : 5 * calls })
        return interleaved(Object.fromEntries(names.map((name) => [name, arm(name)])), {
          ...rounds,
          budgetMs: quick ? 1000 : 20_000,
        })
      }
      const cpu = await each('cpu', quick ? 500 : 4000, { most: 40, least: quick ? 3 : 15 })
      const garbage = await each('garbage', 100, { most: 9, least: 3 })
      return { figures: [...names.flatMap((name) => figures(name, cpu, garbage)), thirty(cpu)], details: DETAILS }
    } finally {
      for (const child of children.values()) await child.stop()
    }
  },
}

const DETAILS = [
  'Each row in a process of its own, in turns, over 2,000 subjects, one call at a time.',
  'CPU: user and system time of the process, garbage collection included. Garbage: what the heap grows by from call to call, once code is optimized.',
]

type Rounds = Readonly<Record<string, readonly number[]>>

function figures(name: string, cpu: Rounds, garbage: Rounds): Figure[] {
  const { goal } = ARMS[name]!
  return [
    toFigure(name, { ...summary(cpu[name]!), unit: 'µs', ...(goal && { goal: { atMost: goal.us } }) }),
    toFigure(`${name}, garbage`, {
      ...summary(garbage[name]!),
      unit: 'bytes',
      ...(goal && { goal: { atMost: goal.bytes } }),
    }),
  ]
}

const thirty = (cpu: Rounds): Figure =>
  toFigure('30 policies against 1, without a network', {
    ...summary(
      ratios(cpu['take on MemoryStore, 30 policies, mixed algorithms']!, cpu['take on MemoryStore, 1 policy']!),
    ),
    unit: '×',
  })
