import type { NumberField, ScenarioId, Setting } from './setting'
import { along, evenly, phases, poisson, type Traffic, together } from './traffic'

export interface Scenario {
  readonly title: string
  /** What happens, and what to look at. */
  readonly story: string
  /** Where it differs from the others. */
  readonly numbers: Partial<Record<NumberField, number>>
  /** Numbers that it does not read. */
  readonly ignores: readonly NumberField[]
  traffic(setting: Setting): Traffic
}

/** Other clients than the one that hammers, and what each asks for, in percent of the limit. */
const OTHERS = 10
const OTHERS_RATE = 50

/** Clients that share a limit beside one that asks for more; what they ask for together, in percent of the limit. */
const SHARING = 10
const SHARING_RATE = 86

/** How often a denied client tries again, before it gives up. */
const MAX_RETRIES = 10

const windowMs = ({ window }: Setting): number => window * 1000
const durationMs = (setting: Setting): number => setting.windows * windowMs(setting)
const inWindows = ({ limit }: Setting, percent: number, windows: number): number =>
  Math.max(1, Math.round((limit * percent * windows) / 100))

const steady = (percent: number, title: string, story: string): Scenario => ({
  title,
  story,
  numbers: { rate: percent },
  ignores: ['seed'],
  traffic: (setting) => ({
    times: evenly(inWindows(setting, setting.rate, setting.windows), 0, durationMs(setting)),
    durationMs: durationMs(setting),
  }),
})

const retrying = (title: string, story: string, afterMs: (setting: Setting) => number | 'as-told'): Scenario => ({
  title,
  story,
  numbers: { rate: 300 },
  ignores: ['seed'],
  traffic: (setting) => ({
    times: evenly(inWindows(setting, setting.rate, 1), 0, windowMs(setting) / 2),
    durationMs: durationMs(setting),
    retry: { afterMs: afterMs(setting), most: MAX_RETRIES },
  }),
})

/** One limit for all clients, of which one asks for far more than the others. */
const sharing = (title: string, story: string, sharedBy: (setting: Setting) => Traffic['shared']): Scenario => ({
  title,
  story,
  numbers: { limit: 110, window: 10, rate: 180, windows: 12, burst: 110, spread: 20 },
  ignores: [],
  traffic: (setting) => {
    const greedy = evenly(inWindows(setting, setting.rate, setting.windows), 0, durationMs(setting))
    const count = inWindows(setting, SHARING_RATE / SHARING, setting.windows)
    const gap = durationMs(setting) / count
    const others = phases(SHARING, setting.seed).map((phase) =>
      Array.from({ length: count }, (_, i) => Math.floor((i + phase) * gap)),
    )
    return { ...together([greedy, ...others]), durationMs: durationMs(setting), shared: sharedBy(setting) }
  },
})

/** Requests at fixed places, in windows from the start. */
const worked = (title: string, story: string, limit: number, windows: number, places: readonly number[]): Scenario => ({
  title,
  story,
  numbers: { limit, burst: limit, windows },
  ignores: ['rate', 'seed', 'windows'],
  traffic: (setting) => ({
    times: places.map((place) => Math.floor(place * windowMs(setting))),
    durationMs: windows * windowMs(setting),
  }),
})

export const SCENARIOS: Readonly<Record<ScenarioId, Scenario>> = {
  'half-the-limit': steady(
    50,
    'Steady, half the limit',
    'One client sends evenly, half of what it may. Nothing is denied.',
  ),
  'at-the-limit': steady(
    100,
    'Steady, at the limit',
    'One client sends evenly and exactly what it may. What is denied here is denied by an approximation.',
  ),
  'over-the-limit': steady(
    150,
    'Steady, half as much again',
    'A third must be denied. Fixed windows and the log deny it in one piece, the token bucket every third request once its burst is used, and GCRA with a burst of 1 every second one.',
  ),
  'window-edge': {
    title: 'A burst at the window’s edge',
    story:
      'The full limit just before a window ends, and the full limit again just after. A fixed window admits both: twice the limit in a fifth of a window.',
    numbers: { rate: 100, windows: 4 },
    ignores: ['seed', 'windows'],
    traffic: (setting) => {
      const [count, edge, length] = [inWindows(setting, setting.rate, 1), 2 * windowMs(setting), windowMs(setting) / 10]
      const times = [...evenly(count, edge - length, length), ...evenly(count, edge, length)]
      return { times, durationMs: 4 * windowMs(setting) }
    },
  },
  'idle-then-all': {
    title: 'Idle, then everything',
    story:
      'Nothing for two and a half windows, then three times the limit at once. Compare what passes at once, what waits, and how long the rest must stay away.',
    numbers: { rate: 300, windows: 5 },
    ignores: ['seed', 'windows'],
    traffic: (setting) => ({
      times: evenly(inWindows(setting, setting.rate, 1), 2.5 * windowMs(setting), windowMs(setting) / 50),
      durationMs: 5 * windowMs(setting),
    }),
  },
  random: {
    title: 'Random',
    story:
      'Requests at random moments (Poisson), on average exactly the limit. Here approximations err: see what was wrongly allowed or denied against an exact log.',
    numbers: { rate: 100, windows: 20 },
    ignores: [],
    traffic: (setting) => ({
      times: poisson(inWindows(setting, setting.rate, setting.windows), durationMs(setting), setting.seed),
      durationMs: durationMs(setting),
    }),
  },
  'one-hammers': {
    title: 'Ten clients, and one that hammers',
    story:
      'Each of ten clients sends half of its limit, an eleventh five times its own. The ten lose nothing. The line is that of the eleventh.',
    numbers: { rate: 500, windows: 4 },
    ignores: [],
    traffic: (setting) => {
      const hammering = evenly(inWindows(setting, setting.rate, setting.windows), 0, durationMs(setting))
      const count = inWindows(setting, OTHERS_RATE, setting.windows)
      const gap = durationMs(setting) / count
      const others = phases(OTHERS, setting.seed).map((phase) =>
        Array.from({ length: count }, (_, i) => Math.floor((i + phase) * gap)),
      )
      return { ...together([hammering, ...others]), durationMs: durationMs(setting) }
    },
  },
  'one-takes-all': sharing(
    'One limit for all, and one that takes it',
    'Eleven clients share one limit. Ten ask for a little less than an equal part each, the first for twenty times as much. See what passed of the others. The line is that of all together.',
    () => 'first-come',
  ),
  'fair-shares': sharing(
    'One limit for all, in fair shares',
    'The same clients and limit, with fair: true. After three windows the first client has what the others leave. A leaky bucket that queues cannot be shared out.',
    ({ seed }) => ({ fair: true, seed }),
  ),
  'retry-at-once': retrying(
    'Denied, and tried again at once',
    'Three times the limit within half a window. A denied client tries again after a hundredth of a window, ten times at most.',
    (setting) => windowMs(setting) / 100,
  ),
  'retry-as-told': retrying(
    'Denied, and tried again as Retry-After says',
    'Each client waits as long as its denial says. Those with the same moment return together: if it is the next window, as many as the full limit pass; under a pace, one.',
    () => 'as-told',
  ),
  'three-and-three': worked(
    'Worked example: three late, three early',
    'Limit 3: three requests late in a window and three early in the next. A fixed window admits all six within a third of a window, an exact log three.',
    3,
    3,
    [0.8, 0.87, 0.94, 1.03, 1.07, 1.1],
  ),
  'nine-and-five': worked(
    'Worked example: nine before, five now, at 25 %',
    'Limit 10: nine requests in the window before, five in this one, and one more when a quarter of it is over. The sliding window weighs the nine with 75 %: 6.75 + 5 = 11.75, so that last one is denied.',
    10,
    3,
    [...Array.from({ length: 9 }, (_, i) => (i + 0.5) / 9), 1.025, 1.075, 1.125, 1.175, 1.225, 1.25],
  ),
  drawn: {
    title: 'Your own curve',
    story: 'Draw what one client sends over time, or type it. The line across is the limit.',
    numbers: {},
    ignores: ['rate', 'seed'],
    traffic: (setting) => {
      const { curve, windows } = setting
      const amounts = curve.map((percent) => (setting.limit * percent * windows) / (100 * curve.length))
      return { times: along(amounts, durationMs(setting)), durationMs: durationMs(setting) }
    },
  },
}

export const scenarioOf = ({ scenario }: Pick<Setting, 'scenario'>): Scenario => SCENARIOS[scenario]

/** A hill above the limit, and a lull. */
const HILL = [40, 40, 60, 80, 110, 150, 200, 240, 250, 240, 200, 150, 110, 80, 40, 20, 0, 0, 0, 0, 60, 120, 120, 60]

/** A scenario as it is meant to be seen. */
export const settingOf = (scenario: ScenarioId): Setting => ({
  scenario,
  limit: 10,
  window: 60,
  rate: 100,
  windows: 6,
  burst: 10,
  spread: 1,
  seed: 1,
  curve: HILL,
  ...SCENARIOS[scenario].numbers,
})

/** Requests that one run has at most, retries not counted. */
const MAX_REQUESTS = 100_000

/** Why a setting whose numbers are right by themselves is too much; `undefined` where it is not. */
export function tooMuch(setting: Setting): string | undefined {
  const { limit, windows, rate, scenario, curve } = setting
  const average = curve.reduce((sum, percent) => sum + percent, 0) / curve.length
  const others =
    scenario === 'one-hammers'
      ? OTHERS * OTHERS_RATE
      : scenario === 'one-takes-all' || scenario === 'fair-shares'
        ? SHARING_RATE
        : 0
  const percent = scenario === 'drawn' ? average : rate + others
  const lasting = [
    'drawn',
    'random',
    'one-hammers',
    'one-takes-all',
    'fair-shares',
    'half-the-limit',
    'at-the-limit',
    'over-the-limit',
  ]
  const requests = (limit * percent * (lasting.includes(scenario) ? windows : 1)) / 100
  if (requests <= MAX_REQUESTS) return undefined
  return `limit × rate × length makes ${Math.ceil(requests).toLocaleString('en')} requests, and ${MAX_REQUESTS.toLocaleString('en')} are the most: lower one of them`
}
