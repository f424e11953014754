/** What a number of a form may be. */
export interface NumberRange {
  readonly from: number
  readonly to: number
  /** @default fractions too */
  readonly whole?: boolean
}

/** The numbers of the console's forms: the page checks them as they are typed, the gateway when they come. */
export const RANGES = {
  requests: { from: 1, to: 1000, whole: true },
  perSecond: { from: 0.2, to: 200 },
  slowMs: { from: 1, to: 20_000, whole: true },
  units: { from: 1, to: 1_000_000, whole: true },
} as const satisfies Readonly<Record<string, NumberRange>>

/** Why a value is no number of a range; `undefined` where it is one. */
export function wrongNumber({ from, to, whole = false }: NumberRange, value: unknown): string | undefined {
  const isRight = typeof value === 'number' && value >= from && value <= to && (!whole || Number.isInteger(value))
  if (isRight) return undefined
  const got = value === null || value === undefined ? 'nothing' : JSON.stringify(value)
  return `must be a ${whole ? 'whole ' : ''}number from ${from} to ${to}, got ${got}`
}

/** What was typed into a number's field; `null` where nothing was. */
export const typedNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text))
