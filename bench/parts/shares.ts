import { type Figure, toFigure } from '../figure'
import type { Part } from '../part'
import { alike, type FairLoad, type FairWindow, fairLoad, sum } from '../scale/fair-loads'

const GREEDY = { asks: 20 }

const LOADS: readonly (readonly [name: string, load: FairLoad])[] = [
  ['10 callers', { instances: 20, limit: 11_000, seconds: 10, callers: [...alike(10, 0.95), GREEDY], windows: 8 }],
  ['100 callers', { instances: 50, limit: 10_100, seconds: 10, callers: [...alike(100, 0.95), GREEDY], windows: 8 }],
  [
    '10 callers, clocks ±500 ms',
    { instances: 20, limit: 11_000, seconds: 10, callers: [...alike(10, 0.95), GREEDY], windows: 8, skewMs: 500 },
  ],
  [
    '10 callers, by the second',
    { instances: 20, limit: 1100, seconds: 1, callers: [...alike(10, 0.9), GREEDY], windows: 12 },
  ],
]

/** Windows from the third contended one on. */
const contended = (windows: readonly FairWindow[]) => windows.slice(2)

/** What the callers that ask for no more than their share get of it. */
const served = (windows: readonly FairWindow[]): number =>
  sum(windows.map(({ got }) => sum(got.slice(0, -1)))) / sum(windows.map(({ asked }) => sum(asked.slice(0, -1))))

/** Calls a decision beside the write of each that was admitted. */
const beyondWrites = (windows: readonly FairWindow[]): number =>
  sum(windows.map(({ calls, got }) => calls - sum(got))) / sum(windows.map(({ asked }) => sum(asked)))

/** Callers that share a limit, one of whom asks for twenty times its share. */
export const shares: Part = {
  title: 'Fair shares: callers that ask for their share, beside one that asks for twenty times as much',

  async run({ quick }) {
    const figures: Figure[] = []
    for (const [name, load] of quick ? LOADS.slice(3) : LOADS) {
      const { limit, seconds } = load
      const windows = contended(await fairLoad(load))
      const unfair = contended(await fairLoad({ ...load, fair: false, windows: 4 }))
      const bySecond = seconds === 1
      figures.push(
        toFigure(`${name}: get of what they ask for`, {
          measured: 100 * served(windows),
          unit: '%',
          goal: { atLeast: 95 },
        }),
        toFigure(`${name}: the same without shares`, { measured: 100 * served(unfair), unit: '%' }),
        toFigure(`${name}: of the limit used`, {
          measured: (100 * sum(windows.map(({ got }) => sum(got)))) / limit / windows.length,
          unit: '%',
          goal: { atLeast: bySecond ? 92 : 95 },
        }),
        toFigure(`${name}: calls a decision beside the caller's own write`, {
          measured: beyondWrites(windows),
          unit: 'calls',
          goal: { atMost: 0.1 },
        }),
      )
    }
    return {
      figures,
      details: [
        'Simulated in virtual time: each instance a limiter of its own, calls of 5 ms, requests at random moments to any of them; from the third contended window on.',
      ],
    }
  },
}
