import { type Figure, toFigure } from '../figure'
import type { Part } from '../part'
import { type OneCaller, simulateOneCaller } from '../scale/one-caller'

type Load = readonly [instances: number, limit: number, perSecond: number]

const SMALL: readonly Load[] = [
  [2, 1, 20],
  [5, 20, 21],
  [20, 1, 100],
  [50, 20, 400],
  [50, 500, 525],
]
const LARGE: readonly Load[] = [
  [700, 1, 100],
  [700, 20, 8300],
  [1000, 500, 50_000],
  [5000, 20, 2000],
  [5000, 500, 50_000],
]
const ALGORITHMS = ['gcra', 'fixed-window', 'sliding-window'] as const

const loadOf = (
  algorithm: (typeof ALGORITHMS)[number],
  [instances, limit, perSecond]: Load,
  quick: boolean,
): OneCaller => {
  const each = perSecond / instances // the slower an instance is asked, the longer it takes to learn
  const learning = instances > 100 ? Math.max(60, 60 / Math.min(1, each)) : 20
  return {
    instances,
    policy: { algorithm, limit, window: '1s' },
    perSecond,
    warmUp: quick ? 5 : learning,
    measured: quick ? 2 : Math.max(10, Math.min(400, Math.ceil(8000 / limit / instances))),
  }
}

/** One caller above its limit, on many instances: what its denials cost, and whether it gets its limit. */
export const contention: Part = {
  title: 'One caller above its limit, on many instances',

  async run({ quick }) {
    const figures: Figure[] = []
    for (const algorithm of ALGORITHMS) {
      for (const load of [...SMALL, ...(quick ? [] : LARGE)]) figures.push(...(await measure(algorithm, load, quick)))
      figures.push(await throttled(algorithm, quick))
    }
    return {
      figures,
      details: [
        'Virtual time, requests at random moments, each on any instance, calls that take no time; after the instances know the caller.',
        '"Without waiting": the same load, by requests that are never held back.',
        '"New": from the first request on, with an item that takes 1,000 writes and 3,000 reads a second.',
      ],
    }
  },
}

async function measure(algorithm: (typeof ALGORITHMS)[number], load: Load, quick: boolean): Promise<Figure[]> {
  const [instances, limit, perSecond] = load
  const name = `${algorithm}, ${limit}/s, ${perSecond.toLocaleString('en')}/s on ${instances.toLocaleString('en')}`
  const { refused, admitted } = await simulateOneCaller(loadOf(algorithm, load, quick))
  const most = instances > 1000 ? 1200 : 500
  const refusals = toFigure(`${name}: refused asks a second`, {
    measured: refused,
    unit: 'calls',
    ...(!quick && { goal: { atMost: most } }),
  })
  if (instances > 100) return [refusals, toFigure(`${name}: admitted`, percent(admitted / limit))]
  const free = await simulateOneCaller({ ...loadOf(algorithm, load, quick), isPaced: true })
  return [
    refusals,
    toFigure(`${name}: admitted, of that without waiting`, percent(admitted / free.admitted, 98, quick)),
  ]
}

async function throttled(algorithm: (typeof ALGORITHMS)[number], quick: boolean): Promise<Figure> {
  const policy = { algorithm, limit: 20, window: '1s' } as const
  const load = { instances: 1500, policy, perSecond: 6000, warmUp: 0, measured: quick ? 1 : 3, isLimited: true }
  const { degraded, requests } = await simulateOneCaller(load)
  return toFigure(`${algorithm}, 20/s, 6,000/s on 1,500 that are new: decided without the store`, {
    measured: (100 * degraded) / requests,
    unit: '%',
    ...(!quick && { goal: { atMost: algorithm === 'gcra' ? 15 : 0.1 } }),
  })
}

const percent = (share: number, atLeast = 98, isSmoke = false) => ({
  measured: 100 * share,
  unit: '%' as const,
  ...(!isSmoke && { goal: { atLeast } }),
})
