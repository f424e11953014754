import type { BenchEngine } from './engine'
import type { Figure } from './figure'
import type { Product } from './product'

/** What a part of the bench works with. */
export interface Bench {
  readonly engine: BenchEngine
  /** The library, compiled. */
  readonly product: Product
  /** Fewer rounds and less data, of everything: to see that it runs, not to quote. */
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
