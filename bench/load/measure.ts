import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { type Figure, toFigure } from '../figure'
import type { EngineProxy } from '../proxies'
import { interleaved, median, ratios, summary } from '../statistics'
import { type Answers, fire, sum } from './fire'
import { keyOf, pathOf } from './seed'
import type { Shape } from './shapes'
import type { Target } from './targets'

/** One shape of traffic at one target. */
export interface Taken extends Pick<Answers, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  readonly shape: string
  /** Calls to the state table per decision, and their goal. */
  readonly calls: Figure
  readonly configCalls: number
  readonly requests: number
  readonly admitted: number
  readonly due: number
  /** A sentence for each mistake; none where admitted equals expected. */
  readonly wrong: readonly string[]
}

/** A target with the proxy through which it decides. */
export interface Measured {
  readonly name: string
  readonly target: Target
  readonly proxy: EngineProxy
}

export async function measureShape({ name, target, proxy }: Measured, shape: Shape, index: number): Promise<Taken> {
  const keys = Array.from({ length: shape.requests }, (_, i) => keyOf(name, index, shape.sender(i)))
  await proxy.counts()
  const answers = await fire({ url: target.url, path: pathOf(name, index), keys })
  const { tables } = await proxy.counts()
  const admitted = sum(answers.admitted)
  const { perSecond, p50Ms, p99Ms } = answers
  return {
    ...{ perSecond, p50Ms, p99Ms, admitted, shape: shape.name, requests: shape.requests, due: shape.due.all },
    calls: toFigure(`${name}, ${shape.name}`, {
      measured: (tables[LOCAL_TABLES.state] ?? 0) / shape.requests,
      unit: 'calls',
      goal: shape.goal,
    }),
    configCalls: tables[LOCAL_TABLES.config] ?? 0,
    wrong: wrongs(shape, answers, admitted).map((text) => `${name}, ${shape.name}: ${text}`),
  }
}

/** Admitted equals expected to the last unit, for each client and in all; only leases may leave some units unspent. */
function wrongs({ due, utilisation }: Shape, { admitted }: Answers, all: number): string[] {
  const least = Math.ceil(due.all * utilisation)
  const greedy = [...admitted.values()].filter((count) => count > due.each).length
  return [
    ...(greedy > 0 ? [`${greedy} clients were admitted more often than the ${due.each} expected for each`] : []),
    ...(all > due.all ? [`admitted ${all}, expected at most ${due.all}`] : []),
    ...(all < least ? [`admitted ${all}, expected at least ${least}`] : []),
  ]
}

/** What a denied request costs compared with an allowed one, measured in turns in one run. */
export async function measureDenials(
  measured: Measured,
  allowed: Shape,
  denied: Shape,
  quick: boolean,
): Promise<{ figures: Figure[]; note: string }> {
  const { name, target, proxy } = measured
  const requests = quick ? 160 : 480
  const arm = (shape: Shape, index: number, expected: 'admitted' | 'denied') => {
    const keys = Array.from({ length: requests }, (_, i) => keyOf(name, index, shape.sender(i)))
    const seen = { ms: [] as number[], calls: [] as number[] }
    const run = async (): Promise<number> => {
      await proxy.counts()
      const before = await target.cpu()
      const answers = await fire({ url: target.url, path: pathOf(name, index), keys })
      const used = (await target.cpu()) - before
      if (sum(answers[expected]) !== requests)
        throw new Error(`${name}: of ${requests} requests ${sum(answers[expected])} were ${expected}`)
      seen.ms.push(1000 / answers.perSecond)
      seen.calls.push(((await proxy.counts()).tables[LOCAL_TABLES.state] ?? 0) / requests)
      return used / requests
    }
    return { run, seen }
  }
  const arms = { allowed: arm(allowed, 0, 'admitted'), denied: arm(denied, 3, 'denied') }
  const cpu = await interleaved(
    { allowed: arms.allowed.run, denied: arms.denied.run },
    { most: 12, least: quick ? 3 : 8, budgetMs: quick ? 1000 : 20_000 },
  )
  const counted = (values: readonly number[]) => values.slice(1) // the first round warmed up
  const times = ratios(counted(arms.denied.seen.ms), counted(arms.allowed.seen.ms))
  const calls = median(counted(arms.denied.seen.calls)) / median(counted(arms.allowed.seen.calls))
  const goal = { atMost: 0.99 }
  return {
    figures: [
      toFigure(`${name}: calls of a denied request`, { measured: calls, unit: '×', goal }),
      toFigure(`${name}: processor time of a denied request`, {
        ...summary(ratios(cpu.denied, cpu.allowed)),
        unit: '×',
        goal,
      }),
      toFigure(`${name}: time per denied request`, { ...summary(times), unit: '×', goal }),
    ],
    note: `${name}: ${median(cpu.allowed).toFixed(0)} µs of processor for an allowed request, ${median(cpu.denied).toFixed(0)} µs for a denied one, ${cpu.allowed.length} rounds of ${requests} in turns.`,
  }
}
