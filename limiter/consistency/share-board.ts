import { add, type ConditionalWrite, exactly, numberOf, set, stillAt, when } from '../algorithms/conditional-write'
import type { CompiledPolicy } from '../compiled-policy'
import { type KnownItems, type Plan, writing } from '../plan'
import type { Item } from '../stores/store'

/** Prefix of the fields below; no policy can have it. */
const PREFIX = 'f0__'
/** Shares rise by so much of what was left over, since leases lose some of it; they fall by all that was missing. */
const RAISED = 1 / 2
/** A share is stored in thousandths of a unit. */
const PARTS = 1000

/** What callers did in one window, as one instance saw it, or as all of them did. */
export interface Report {
  /** The weights of the callers that took a unit. */
  readonly active: number
  /** The weights of those that took the last of their share. */
  readonly capped: number
  /** The weights of those that were denied by their share: each instance says so of the same caller. */
  readonly denied: number
  /** Units taken. */
  readonly used: number
  /** Units denied by the shared limit, to callers that had some of their share left. */
  readonly short: number
  /** Instances that say this. */
  readonly reports: number
}

/** The reports of a window, and the share that held in it. */
export interface Board extends Report {
  /** The window, numbered from the epoch. */
  readonly window: number
  /** Units of a caller of weight 1; `Infinity` where callers were held to none. */
  readonly share: number
  /** How many reports there were of the window before. */
  readonly before: number
}

export function boardOf(item: Item | undefined): Board {
  const fields = item?.policies[PREFIX]
  const number = (name: string) => numberOf(fields, name)
  return {
    window: number('k'),
    share: number('s') > 0 ? number('s') / PARTS : Infinity,
    before: number('b'),
    active: number('n'),
    capped: number('w'),
    denied: number('d'),
    used: number('u'),
    short: number('x'),
    reports: number('r'),
  }
}

/**
 * The share that holds after a window: the level to which callers are served while all that they ask for below it adds
 * up to the limit (max-min fairness). It begins with an equal share of the limit for each active caller, and rises by
 * what was left over, divided by those who would have taken it. So it comes from below, and is exact once as many
 * callers are capped as before. Where the limit was too small for what is below the level, it falls in the same way.
 *
 * @returns units of a caller of weight 1; `Infinity` where the limit was enough for everybody.
 */
export function nextShare({ share, reports, before, ...said }: Board, limit: number): number {
  if (share < Infinity && 2 * reports < before) return share
  const unheard = Math.max(1, before / Math.max(1, reports))
  const [active, capped, used, short] = [said.active, said.capped, said.used, said.short].map((one) => one * unheard)
  const equal = limit / Math.max(1, active!)
  if (share === Infinity) return short! > 0 ? equal : Infinity
  const held = Math.max(capped!, said.denied / Math.max(1, reports))
  if (held === 0 && short === 0) return share < limit ? 2 * share : Infinity
  const left = Math.max(0, limit - used!) * RAISED
  return Math.max(equal, Math.min(limit, held > 0 ? share + (left - short!) / Math.max(1, held) : equal))
}

/**
 * Adds what an instance saw in a window to what the others did. The first to do so in a window makes the share that
 * held in the last one the one before.
 *
 * @param limit units that all callers together may take in a window.
 */
export function* tell(
  items: KnownItems,
  key: string,
  policy: CompiledPolicy,
  window: number,
  report: Report,
  limit: number,
): Plan<void> {
  for (let isFirst = true; ; isFirst = false) {
    const item = items.view(key)?.item
    const board = boardOf(item)
    // others have most likely begun the window: a guess that is wrong brings the board back
    const isBegun = board.window >= window || isFirst
    const write = isBegun ? added(Math.max(window, board.window), report) : opened(board, window, report, limit)
    const { kind } = yield writing(items.fit([{ prefix: PREFIX, write }], [policy], item, items.now()))
    if (kind !== 'refused') return
  }
}

const added = (window: number, { active, capped, denied, used, short, reports }: Report): ConditionalWrite =>
  when(
    [exactly('k', window)],
    add('n', active),
    add('w', capped),
    add('d', denied),
    add('u', used),
    add('x', short),
    add('r', reports),
  )

function opened(board: Board, window: number, report: Report, limit: number): ConditionalWrite {
  const { active, capped, denied, used, short, reports } = report
  const isNext = board.window === window - 1
  const share = isNext ? nextShare(board, limit) : Infinity
  return when(
    [stillAt('k', board.window), stillAt('r', board.reports)],
    set('k', window),
    set('s', share === Infinity ? 0 : Math.max(1, Math.round(share * PARTS))),
    set('b', isNext ? board.reports : 0),
    set('n', active),
    set('w', capped),
    set('d', denied),
    set('u', used),
    set('x', short),
    set('r', reports),
  )
}
