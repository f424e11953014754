import type { BenchEngine } from './engine'
import type { Figure } from './figure'
import type { Product } from './product'

/** What each part of the bench gets. */
export interface Bench {
  readonly engine: BenchEngine
  /** The library, compiled. */
  readonly product: Product
  /** Fewer rounds and less data: to see that the bench runs, not for numbers to quote. */
  readonly quick: boolean
}

export interface Part {
  readonly title: string
  run(bench: Bench): Promise<Outcome>
}

export interface Outcome {
  readonly figures: readonly Figure[]
  /** Printed below the table, a line each. */
  readonly details: readonly string[]
}
