import type { Weight } from './build-program'
import type { Measured } from './compare-programs'
import { titleOf } from './programs'
import type { Answered } from './running-program'
import { markdownLines } from './table'
import { ANSWERS_WITHIN_MS, type Calls, CROWD, type OutageResult } from './try-program'

const NO_ANSWER = `no answer in ${ANSWERS_WITHIN_MS / 1000} s`

interface Column {
  /** Its head. */
  readonly question: string
  /** What it is, for the notes below the table. */
  readonly how: string
  cell(measured: Measured): string
}

export const COLUMNS: readonly Column[] = [
  {
    question: 'lines',
    how: 'of the program in `bench/peers/programs`, without blank ones and comments.',
    cell: ({ lines }) => String(lines),
  },
  {
    question: 'loaded at start',
    how: 'bundled by esbuild as an ES module and minified, in brackets gzipped. Express stays outside; the AWS SDK is in it where the program imports it.',
    cell: ({ start }) => weightText(start),
  },
  {
    question: 'in all, without the AWS SDK',
    how: 'together with what is loaded when something needs it. Node on Lambda brings the SDK.',
    cell: ({ withoutSdk }) => weightText(withoutSdk),
  },
  {
    question: 'calls of the store',
    how: 'for an allowed request (of 100), for the first denied one, and for each denied one after it (of 20).',
    cell: ({ program, calls }) => (program.store ? callsText(calls) : 'no store'),
  },
  {
    question: 'store down',
    how: `every connection is closed as soon as it has asked: one request, the slowest of three more, one after another, then ${CROWD} of another key at once.`,
    cell: ({ outages }) => (outages ? outageText(outages.down) : 'no store'),
  },
  {
    question: 'store silent',
    how: 'the same requests while the store accepts calls and answers none.',
    cell: ({ outages }) => (outages ? outageText(outages.slow) : 'no store'),
  },
]

/** A row for each program. */
export const programsTable = (all: readonly Measured[]): string =>
  markdownLines(
    ['', ...COLUMNS.map(({ question }) => question)],
    all.map((measured) => [titleOf(measured.program), ...COLUMNS.map(({ cell }) => cell(measured))]),
  )

const weightText = ({ bytes, gzipped }: Weight): string => `${kilobytes(bytes)} KB (${kilobytes(gzipped)} KB)`

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(0)

export const callsText = ({ allowed, denied, deniedAgain }: Calls): string =>
  [allowed, denied, deniedAgain].map((calls) => calls.toFixed(2)).join(', ')

function outageText({ first, slowest, crowd }: OutageResult): string {
  const one = [first, slowest].flatMap((answered) => (answered ? [answerText(answered)] : [])).join(', then ')
  const many = [...crowd].map(([status, requests]) => `${requests} × ${status ?? 'no answer'}`).join(', ')
  return `${one}; ${many}`
}

const answerText = ({ status, ms }: Answered): string =>
  status === undefined
    ? NO_ANSWER
    : `${status} after ${ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`}`
