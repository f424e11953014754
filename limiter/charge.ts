import type { CompiledPolicy } from './compiled-policy'

/** Units that one request takes from one subject, under these policies. */
export interface Charge {
  /** Where the subject's state is, see `subjectKey`. */
  readonly key: string
  readonly policies: readonly CompiledPolicy[]
  /** Whole units, 0 to peek. */
  readonly cost: number
}
