/** Which numbers reach the goal. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number }

export interface Spread {
  readonly min: number
  readonly max: number
}

export type Unit = 'calls' | 'writes' | '%' | '×' | 'KB' | 'bytes' | 'µs' | 'MB' | 'lines/s'

/** One measured number, with its goal if it has one. */
export interface Figure {
  readonly figure: string
  readonly measured: number
  readonly unit: Unit
  readonly goal: Goal | null
  readonly met: boolean | null
  /** Smallest and largest of the rounds that `measured` is the median of. */
  readonly spread?: Spread
  /** What a reader has to know to understand the number. */
  readonly notes: readonly string[]
}

interface Measurement {
  readonly measured: number
  readonly unit: Unit
  readonly goal?: Goal
  readonly spread?: Spread
  readonly notes?: readonly string[]
}

/** A number without a goal is shown for comparison and is neither met nor missed. */
export function toFigure(figure: string, { measured, unit, goal, spread, notes = [] }: Measurement): Figure {
  return {
    figure,
    measured,
    unit,
    goal: goal ?? null,
    met: goal ? isMet(measured, goal) : null,
    ...(spread && { spread }),
    notes,
  }
}

function isMet(measured: number, goal: Goal): boolean {
  return 'atMost' in goal ? measured <= goal.atMost : measured >= goal.atLeast
}
