import { type ConfigCell, ConfigTrial } from './config-cell'
import { ANSWERS, CONNECTIONS, type Fault, SLOW } from './fault'
import { type StateCell, StateTrial } from './state-cell'
import { type Outcome, runTrials, type Trial } from './trial'
import type { World } from './world'

/** A table of results: each row a fault at one step, each column a situation. */
export interface Matrix {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly { readonly fault: string; readonly step: string; readonly outcomes: readonly Outcome[] }[]
}

const STATE_COLUMNS: readonly (Omit<StateCell, 'fault' | 'applied'> & { readonly title: string })[] = [
  { title: 'first try', tries: 'first', instance: 'warm', left: 'some' },
  { title: 'first try, new instance', tries: 'first', instance: 'cold', left: 'some' },
  { title: 'every try', tries: 'every', instance: 'warm', left: 'some' },
  { title: 'every try, new instance', tries: 'every', instance: 'cold', left: 'some' },
  { title: 'over the limit, first try', tries: 'first', instance: 'warm', left: 'nothing' },
  { title: 'over the limit, every try', tries: 'every', instance: 'warm', left: 'nothing' },
  { title: 'known to be over', tries: 'every', instance: 'warm', left: 'nothing, known' },
]

const MODE_COLUMNS: typeof STATE_COLUMNS = (['allow', 'deny'] as const).flatMap((onStoreError) => [
  { title: onStoreError, tries: 'every', instance: 'warm', left: 'some', onStoreError },
  { title: `${onStoreError}, new instance`, tries: 'every', instance: 'cold', left: 'some', onStoreError },
])

const CONFIG_COLUMNS: readonly (Omit<ConfigCell, 'fault'> & { readonly title: string })[] = [
  { title: 'tiers of a new instance, first try', reading: 'tiers', tries: 'first' },
  { title: 'every try', reading: 'tiers', tries: 'every' },
  { title: 'tiers again', reading: 'tiers again', tries: 'every' },
  { title: 'a new client, first try', reading: 'client', tries: 'first' },
  { title: 'every try', reading: 'client', tries: 'every' },
  { title: 'a client again', reading: 'client again', tries: 'every' },
]

const step = (name: string, applied: boolean, faults: readonly Fault[]) =>
  faults.map((fault) => ({ fault, step: name, applied }))

/**
 * A write that a hot item rejects is made again as another write, by a lease. It would count twice if it had been
 * applied, which it never is.
 */
const isOfAWrite = ({ name }: Fault) => !name.endsWith('a hot key')

const STATE_ROWS = [
  ...step('connection', false, CONNECTIONS),
  ...step('before the write', false, ANSWERS),
  ...step('after the write', true, ANSWERS.filter(isOfAWrite)),
  ...step('after the write', true, SLOW),
]
/** One fault of each kind: the others differ only in the time until the caller gives up. */
const MODE_ROWS = STATE_ROWS.filter(
  ({ fault, step }) =>
    [
      'a connection that is silent',
      'ThrottlingException, the table',
      'AccessDeniedException',
      'garbage, no JSON',
    ].includes(fault.name) ||
    (fault.name === 'stalled, no answer' && step === 'after the write'),
)
const CONFIG_ROWS = [...step('connection', false, CONNECTIONS), ...step('answer', true, [...ANSWERS, ...SLOW])]

/** A cell and its problems. */
export interface Finding {
  readonly cell: string
  readonly problems: readonly string[]
}

/** The cells with problems. */
export const findings = (matrices: readonly Matrix[]): Finding[] =>
  matrices.flatMap(({ title, columns, rows }) =>
    rows.flatMap(({ fault, step, outcomes }) =>
      outcomes.flatMap(({ problems }, i) =>
        problems.length === 0
          ? []
          : [{ cell: `${title}: ${fault}, ${step}, ${columns[i]}`, problems: problems.map(({ text }) => text) }],
      ),
    ),
  )

/**
 * Runs every fault at every step in every situation: of the state table, of it in other failure modes, and of the
 * config table.
 */
export async function runMatrices(world: World): Promise<Matrix[]> {
  return [
    await run('State table', STATE_ROWS, STATE_COLUMNS, (cell) => new StateTrial(world, cell)),
    await run('Other failure modes', MODE_ROWS, MODE_COLUMNS, (cell) => new StateTrial(world, cell)),
    await run('Config table', CONFIG_ROWS, CONFIG_COLUMNS, (cell) => new ConfigTrial(world, cell)),
  ]
}

type Kind = (typeof STATE_ROWS)[number]

async function run<Column extends { readonly title: string }>(
  title: string,
  kinds: readonly Kind[],
  columns: readonly Column[],
  start: (cell: Column & { readonly fault: Fault; readonly applied: boolean }) => Trial,
): Promise<Matrix> {
  const cells = kinds.flatMap(({ fault, applied }) =>
    columns.map((column) => () => start({ ...column, fault, applied })),
  )
  const outcomes = await runTrials(cells)
  const rows = kinds.map((kind, i) => ({
    fault: kind.fault.name,
    step: kind.step,
    outcomes: outcomes.slice(i * columns.length, (i + 1) * columns.length),
  }))
  return { title, columns: columns.map((column) => column.title), rows }
}
