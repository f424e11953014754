import { Option } from 'commander'
import { durationMs } from '../arguments'
import { listText } from '../callers/client-standing'
import { countedOf, sharedBy } from '../callers/counted'
import { checkPoliciesKnown } from '../callers/hashed-subject'
import {
  type AboutSubject,
  calledOf,
  nameOf,
  noPolicies,
  type OpenSubject,
  openSubject,
  reservationText,
  withSubject,
} from '../callers/limits'
import type { Subject } from '../callers/subjects'
import { type AddCommand, describeTableCommand, type Session } from '../command'
import { type OpenReservations, reservationsOf, sharesOf, type Usage, usageOf } from '../facade/counters'
import type { EpochMs } from '../facade/values'
import { duration } from '../terminal/output'
import { pause } from '../terminal/pause'

interface Options extends AboutSubject {
  readonly watch?: boolean
  /** Milliseconds. */
  readonly interval: number
}

/** Running requests of a policy that are shown. */
const MAX_SHOWN = 10

export const addUsage: AddCommand = (group, session) => {
  withSubject(
    describeTableCommand(
      group,
      'usage',
      'Show a caller’s usage of each policy: also recorded periods and running requests. Nothing is charged.',
      ['sluice usage acme', 'sluice usage ip:203.0.113.7 --watch'],
    ),
  )
    .option('--watch', 'refresh until Ctrl-C')
    .addOption(
      new Option('--interval <duration>', 'refresh interval of --watch').argParser(durationMs).default(2000, '2s'),
    )
    .action(async (text: string, options: Options) => {
      const opened = await openSubject(session, text, options)
      const { subject } = opened
      checkPoliciesKnown(subject)
      if (subject.unread !== undefined) session.print.note(subject.unread)
      if (countedOf(subject).length === 0) throw noPolicies(subject)
      const show = async (drawn: number) =>
        print(session, subject, await standingOf(opened, session.io.clock()), options, drawn)
      if (!options.watch) return void (await show(0))
      await session.io.interrupts.during(async (pressed) => {
        for (let lines = 0; !pressed.aborted; await pause(options.interval, pressed)) lines = await show(lines)
      })
    })
}

interface Standing {
  readonly usage: readonly Usage[]
  readonly reservations: OpenReservations | undefined
}

async function standingOf(opened: OpenSubject, now: EpochMs): Promise<Standing> {
  const { subject, store } = opened
  const [usage, shares, reservations] = await Promise.all([
    usageOf(opened, countedOf(subject), now),
    sharesOf(opened, sharedBy(subject)),
    reservationsOf(store, subject.stateKeys.keyOf(subject.name), now),
  ])
  return { usage: [...usage, ...shares], reservations }
}

/** @param drawn lines to draw over. @returns the lines drawn now. */
function print(
  { print }: Session,
  subject: Subject,
  { usage, reservations }: Standing,
  { json, watch }: Options,
  drawn: number,
): number {
  if (json) {
    const { mode } = subject.configuration.policies.settings
    const value = {
      subject: calledOf(subject),
      tier: subject.tier?.name ?? null,
      mode,
      reason: subject.beforeLimits ?? null,
      ...(subject.entry && { entry: subject.entry }),
      policies: usage,
      ...(reservations && { reservations }),
    }
    print.json(value, watch ? 0 : 2)
    return 0
  }
  const byRoute = usage.some(({ route }) => route !== null)
  const byCost = usage.some(({ cost }) => cost !== null)
  const isLocked = usage.some(({ lockedOutMs }) => lockedOutMs !== undefined)
  const table = print.tableLines(
    [
      'policy',
      ...(byRoute ? ['route'] : []),
      ...(byCost ? ['counts'] : []),
      '',
      'used',
      'remaining',
      'limit',
      'full again in',
      ...(isLocked ? ['locked out for'] : []),
    ],
    usage.map(({ policy, route, cost, limit, used, remaining, resetAfterMs, lockedOutMs }) => [
      policy,
      ...(byRoute ? [route ?? ''] : []),
      ...(byCost ? [cost ?? 'requests'] : []),
      print.bar(used, used + remaining),
      String(used),
      String(remaining),
      String(limit),
      duration(resetAfterMs),
      ...(isLocked ? [lockedOutMs === undefined ? '' : duration(lockedOutMs)] : []),
    ]),
  )
  const { entry } = subject
  const listed = entry ? [listText(entry)] : []
  const lines = [
    nameOf(subject),
    ...listed,
    ...table,
    ...reservationLines(reservations),
    ...runningLines(print, usage),
    ...periodLines(print, usage),
  ]
  print.rewind(drawn)
  print.lines(lines)
  return lines.length
}

function reservationLines(reservations: OpenReservations | undefined): string[] {
  return reservations ? ['', `${reservationText(reservations)}: their requests are not settled`] : []
}

/** A table of the requests that are running; no lines where no policy counts them, or none is. */
function runningLines(print: Session['print'], usage: readonly Usage[]): string[] {
  const rows = usage.flatMap(({ policy, route, running = [] }) => {
    const name = [policy, route].filter(Boolean).join(' ')
    const shown = running.slice(0, MAX_SHOWN).map(({ since, leftMs }) => [name, since, duration(leftMs)])
    const others = running.length - shown.length
    return others > 0 ? [...shown, [name, `and ${others} more`, '']] : shown
  })
  if (rows.length === 0) return []
  return ['', ...print.tableLines(['running', 'since', 'free again in'], rows)]
}

/** A table of the windows on record; no lines where no policy keeps any. */
function periodLines(print: Session['print'], usage: readonly Usage[]): string[] {
  const rows = usage.flatMap(({ policy, route, periods = [] }) =>
    periods.map(({ start, end, used, overage }) => [
      [policy, route].filter(Boolean).join(' '),
      start,
      end,
      String(used),
      String(overage),
    ]),
  )
  if (rows.length === 0) return []
  return ['', ...print.tableLines(['on record', 'from', 'to', 'used', 'overage'], rows)]
}
