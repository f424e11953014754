import {
  add,
  type ConditionalWrite,
  exactly,
  type Fields,
  numberOf,
  set,
  stillAt,
  when,
} from '../algorithms/conditional-write'

/** Shares rise by so much of what was left over; they fall by all that was missing. */
const RAISED = 1 / 2
/** What leases lose of a limit at most: what else was left is of an algorithm that counts earlier windows, too. */
const MOST_LOST = 1 / 10
/** How much of what leases lost is still taken for lost a window later, where nothing was missing. */
const LOST_STILL = 0.9
/** A share ends after so many windows in which nobody took all of it and nobody was denied. */
export const FORGOTTEN_AFTER = 30
/** How far clocks may be ahead, in windows: a board that is further ahead is taken for the last window's. */
const AHEAD = 3
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
  /** Units denied by the shared limit, to callers that had as much of their share left. */
  readonly short: number
  /** The weights of those of them that had taken no unit: each instance says so of the same caller. */
  readonly starved: number
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
  /** Units that leases lost, which nobody can take. */
  readonly wasted: number
  /** Windows in a row before it in which nobody took all of the share and nobody was denied. */
  readonly calm: number
}

/** The fields of what instances say, which are added up. */
const SAID: readonly (readonly [field: string, name: keyof Report])[] = [
  ['n', 'active'],
  ['w', 'capped'],
  ['d', 'denied'],
  ['u', 'used'],
  ['x', 'short'],
  ['q', 'starved'],
  ['r', 'reports'],
]

/** The board by its fields. */
export function boardIn(fields: Fields | undefined): Board {
  const number = (name: string) => numberOf(fields, name)
  return {
    window: number('k'),
    share: number('s') > 0 ? number('s') / PARTS : Infinity,
    before: number('b'),
    wasted: number('l'),
    calm: number('c'),
    ...(Object.fromEntries(SAID.map(([field, name]) => [name, number(field)])) as unknown as Report),
  }
}

/** What holds after a window: the share, and what is known of the windows before. */
export interface Next {
  readonly share: number
  readonly wasted: number
  readonly calm: number
}

const NO_SHARE: Next = { share: Infinity, wasted: 0, calm: 0 }

/**
 * The share that holds after a window: the level to which callers are served while all that they ask for below it adds
 * up to the limit (max-min fairness). It begins with an equal share of the limit for each active caller, and rises by
 * what was left over, divided by those who would have taken it. So it comes from below, and is exact once as many
 * callers are capped as before. Where the limit was too small for what is below the level, it falls by what was
 * missing, and what was left all the same counts as lost to leases.
 *
 * While nobody takes all of it, it is what was left: a caller that comes back finds that, and takes nothing from those
 * who stayed.
 *
 * @returns units of a caller of weight 1; `Infinity` where the limit was enough for everybody.
 */
export function nextShare(board: Board, limit: number): Next {
  const { share, reports, before, denied, starved } = board
  if (share < Infinity && 2 * reports < before) return board
  const unheard = Math.max(1, before / Math.max(1, reports))
  const [active, capped, used, short] = [board.active, board.capped, board.used, board.short].map(
    (one) => one * unheard,
  ) as [number, number, number, number]
  // as few as there may be: who got nothing is counted once a share leaves something
  const waiting = starved > 0 ? Math.max(1, starved / Math.max(1, reports)) : 0
  const equal = limit / Math.max(1, active + waiting)
  const unused = Math.max(0, limit - used)
  const held = Math.max(capped, denied / Math.max(1, reports))
  if (short > 0) {
    const fallen = held > 0 ? share - short / Math.max(1, held) : equal
    return {
      share: Math.max(equal, Math.min(limit, fallen)),
      wasted: Math.floor(Math.min(unused, MOST_LOST * limit)),
      calm: 0,
    }
  }
  if (share === Infinity) return NO_SHARE
  const left = Math.max(0, unused - board.wasted)
  const wasted = Math.floor(Math.min(unused, board.wasted) * LOST_STILL)
  if (held > 0) {
    const risen = share + (left * RAISED) / Math.max(1, held)
    return { share: Math.max(equal, Math.min(limit, risen)), wasted, calm: 0 }
  }
  if (board.calm + 1 >= FORGOTTEN_AFTER) return NO_SHARE
  return { share: Math.max(share, left), wasted, calm: board.calm + 1 }
}

/**
 * The write that adds a report to a board.
 *
 * @param isGuess others have most likely begun the window: a guess that is wrong brings the board back.
 */
export function reported(
  board: Board,
  window: number,
  report: Report,
  limit: number,
  isGuess = false,
): ConditionalWrite {
  const counted = board.window > window && board.window <= window + AHEAD ? board.window : window
  return isGuess || board.window === counted ? added(counted, report) : opened(board, window, report, limit)
}

const added = (window: number, report: Report): ConditionalWrite =>
  when([exactly('k', window)], ...SAID.map(([field, name]) => add(field, report[name])))

function opened(board: Board, window: number, report: Report, limit: number): ConditionalWrite {
  const isNext = board.window >= window - 1
  const { share, wasted, calm } = isNext ? nextShare(board, limit) : NO_SHARE
  return when(
    [stillAt('k', board.window), stillAt('r', board.reports)],
    set('k', window),
    set('s', share === Infinity ? 0 : Math.max(1, Math.round(share * PARTS))),
    set('b', isNext ? board.reports : 0),
    set('l', wasted),
    set('c', calm),
    ...SAID.map(([field, name]) => set(field, report[name])),
  )
}
