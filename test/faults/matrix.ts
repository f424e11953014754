import { type Cell, type Outcome, Trial } from './cell'
import { ANSWERS, CONNECTIONS, type Fault, SLOW } from './fault'
import type { World } from './world'

/** Cells whose decisions are timed at the same time. */
const AT_ONCE = 24

type Situation = Pick<Cell, 'tries' | 'instance' | 'left'>

/** The columns of the table. */
export const SITUATIONS: readonly (Situation & { readonly title: string })[] = [
  { title: 'first try', tries: 'first', instance: 'warm', left: 'some' },
  { title: 'first try, new instance', tries: 'first', instance: 'cold', left: 'some' },
  { title: 'every try', tries: 'every', instance: 'warm', left: 'some' },
  { title: 'every try, new instance', tries: 'every', instance: 'cold', left: 'some' },
  { title: 'over the limit, first try', tries: 'first', instance: 'warm', left: 'nothing' },
  { title: 'over the limit, every try', tries: 'every', instance: 'warm', left: 'nothing' },
  { title: 'known to be over the limit', tries: 'every', instance: 'warm', left: 'nothing, known' },
]

/** A row of the table: a fault, and the step at which it comes. */
export interface Row {
  readonly fault: Fault
  readonly step: string
  readonly outcomes: readonly Outcome[]
}

const STEPS: readonly { readonly step: string; readonly applied: boolean; readonly faults: readonly Fault[] }[] = [
  { step: 'connection', applied: false, faults: CONNECTIONS },
  { step: 'instead of the write', applied: false, faults: ANSWERS },
  { step: 'after the write', applied: true, faults: ANSWERS },
  { step: 'after the write', applied: true, faults: SLOW },
]

/** Runs every fault at every step in every situation. */
export async function runMatrix(world: World): Promise<Row[]> {
  const kinds = STEPS.flatMap(({ step, applied, faults }) => faults.map((fault) => ({ step, applied, fault })))
  const cells = kinds.flatMap(({ applied, fault }) => SITUATIONS.map(({ title: _, ...situation }): Cell => ({ applied, fault, ...situation })))
  const outcomes: Outcome[] = []
  for (let from = 0; from < cells.length; from += AT_ONCE) {
    const trials = cells.slice(from, from + AT_ONCE).map((cell) => new Trial(world, cell))
    for (const trial of trials) await trial.prepare()
    await Promise.all(trials.map((trial) => trial.meet()))
    outcomes.push(...(await Promise.all(trials.map((trial) => trial.settle()))))
  }
  return kinds.map(({ fault, step }, i) => ({ fault, step, outcomes: outcomes.slice(i * SITUATIONS.length, (i + 1) * SITUATIONS.length) }))
}
