/** The scenarios, in the order in which they are shown. */
export const SCENARIO_IDS = [
  'half-the-limit',
  'at-the-limit',
  'over-the-limit',
  'window-edge',
  'idle-then-all',
  'random',
  'one-hammers',
  'one-takes-all',
  'fair-shares',
  'retry-at-once',
  'retry-as-told',
  'three-and-three',
  'nine-and-five',
  'drawn',
] as const
export type ScenarioId = (typeof SCENARIO_IDS)[number]

/** All that a run depends on. Two runs of one setting are the same to the last figure. */
export interface Setting {
  readonly scenario: ScenarioId
  /** Requests that one client may send in a window. */
  readonly limit: number
  /** The window, in whole seconds. */
  readonly window: number
  /** What clients ask for, in percent of the limit. */
  readonly rate: number
  /** How long the traffic lasts, in windows. */
  readonly windows: number
  /** What the token bucket and the leaky bucket hold. */
  readonly burst: number
  /** What GCRA permits at once on top of an even pace. */
  readonly spread: number
  /** Chooses the random moments. */
  readonly seed: number
  /** The drawn traffic: in percent of the limit, for equal parts of the time. */
  readonly curve: readonly number[]
}

/** A field that is one number. */
export type NumberField = Exclude<keyof Setting, 'scenario' | 'curve'>

/** What a number may be, and its words. */
export interface NumberRule {
  readonly label: string
  readonly unit: string
  readonly least: number
  readonly most: number
}

export const NUMBERS: Readonly<Record<NumberField, NumberRule>> = {
  limit: { label: 'Limit', unit: 'requests', least: 1, most: 1000 },
  window: { label: 'Window', unit: 'seconds', least: 1, most: 86_400 },
  rate: { label: 'Rate', unit: '% of the limit', least: 1, most: 2000 },
  windows: { label: 'Length', unit: 'windows', least: 2, most: 1000 },
  burst: { label: 'Burst of the buckets', unit: 'requests', least: 1, most: 1000 },
  spread: { label: 'Burst of GCRA', unit: 'requests', least: 1, most: 1000 },
  seed: { label: 'Seed', unit: 'of the random moments', least: 1, most: 999_999 },
}
export const NUMBER_FIELDS = Object.keys(NUMBERS) as readonly NumberField[]

/** Parts of a drawn curve, and the most that one may say, in percent of the limit. */
export const CURVE_PARTS = 24
export const MAX_CURVE_PERCENT = 500

/** Why a number is none for its field; `undefined` where it is one. */
export function wrongNumber(field: NumberField, value: number): string | undefined {
  const { label, least, most } = NUMBERS[field]
  if (Number.isInteger(value) && value >= least && value <= most) return undefined
  const got = Number.isNaN(value) ? 'no number' : String(value)
  return `${label} must be a whole number from ${least} to ${most.toLocaleString('en')}, got ${got}`
}

/** Why a part of a curve is none; `undefined` where it is one. */
export const wrongPart = (value: number): string | undefined =>
  Number.isInteger(value) && value >= 0 && value <= MAX_CURVE_PERCENT
    ? undefined
    : `a part must be a whole number from 0 to ${MAX_CURVE_PERCENT} percent, got ${Number.isNaN(value) ? 'no number' : value}`
