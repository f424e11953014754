import type { Session } from '../command'
import { failureOf, UserError } from '../exit'
import { pause } from '../terminal/pause'
import type { Names } from './names'
import { Screen } from './screen'
import type { Source } from './source'
import { type Field, type Order, sorted, Tally } from './tally'
import { toJson, toLines, type View } from './text'

export interface TopOptions {
  readonly by: readonly Field[]
  readonly sort: Order
  /** Rows. */
  readonly limit: number
  readonly sinceMs: number
  readonly intervalMs: number
  readonly once: boolean
  readonly json: boolean
}

/** The lines of a screen that are no rows of the table. */
const OTHER_LINES = 10

/**
 * Reads and shows, again and again, until Ctrl-C or q. A source that fails at first is an error; one that fails later
 * is waited for.
 *
 * @param wait between two readings.
 */
export async function runTop(
  session: Session,
  source: Source,
  names: Names,
  options: TopOptions,
  wait: typeof pause = pause,
): Promise<void> {
  const { io, print } = session
  await io.interrupts.during(async (pressed) => {
    const quit = new AbortController()
    const stop = AbortSignal.any([pressed, quit.signal])
    const live = !options.once && !options.json && print.isTerminal && io.env.TERM !== 'dumb'
    const tally = new Tally()
    let screen: Screen | undefined
    let last: readonly string[] = []
    const kept = live ? print.holdNotes() : undefined
    try {
      for (let first = true; !stop.aborted; first = false) {
        const trouble = await read(source, tally, options, session, stop, first)
        if (stop.aborted) break
        if (live) screen ??= new Screen(io, () => quit.abort())
        const rows = screen ? Math.max(1, Math.min(options.limit, screen.rows - OTHER_LINES)) : options.limit
        const view = await look(source, tally, names, { ...options, limit: rows }, session, trouble)
        if (options.json) print.json(toJson(view), options.once ? 2 : 0)
        else if (screen) {
          last = toLines(view, print)
          const note = [...kept!.notes].slice(-1)
          screen.show([...last, '', ...note, 'q ends'].map((text) => print.shown(text)))
        } else print.lines([...(first ? [] : ['']), ...toLines(view, print)])
        if (options.once) return
        await wait(options.intervalMs, stop)
      }
    } finally {
      screen?.close()
      print.lines(last)
      kept?.release()
    }
  })
}

/** @returns why it failed, if it did and there was an answer before. */
async function read(
  source: Source,
  tally: Tally,
  { sinceMs }: TopOptions,
  { io }: Session,
  stop: AbortSignal,
  isFirst: boolean,
): Promise<string | undefined> {
  try {
    tally.add(await source.read(io.clock() - sinceMs, stop))
    return undefined
  } catch (error) {
    if (stop.aborted) return undefined
    if (isFirst || error instanceof UserError) throw error
    return `${failureOf(error).message.split('\n')[0]}; trying again`
  }
}

async function look(
  source: Source,
  tally: Tally,
  names: Names,
  { by, sort, limit, sinceMs }: TopOptions,
  { io }: Session,
  trouble: string | undefined,
): Promise<View> {
  const at = io.clock()
  const known = tally.summary(at - sinceMs, by)
  // What was denied since the last answer is not known yet.
  const summary = { ...known, isLowerBound: known.isLowerBound || trouble !== undefined }
  const rows = sorted(summary.rows, sort).slice(0, limit)
  const hashes = rows.flatMap(({ values }) => values.client ?? [])
  return { source, at, by, summary, rows, names: await names.of(hashes), trouble }
}
