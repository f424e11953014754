import { seeded } from '../../bench/random'
import { MemoryStore, type StateStore } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { type Board, FORGOTTEN_AFTER, nextShare, type Report } from '../../limiter/consistency/share-board'
import { boardOf, tell } from '../../limiter/consistency/share-reports'
import { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { FaultyStore, STORE_FAULTS } from './faulty-store'

const LIMIT = 1000
const T = Date.UTC(2026, 0, 15)
const EMPTY: Board = boardOf(undefined)
const SAID: Report = { active: 10, capped: 0, denied: 0, used: 1000, short: 500, starved: 0, reports: 20 }

interface Caller {
  readonly asks: number
  readonly weight: number
}

/** What callers do in a window with this share, none of whom is denied by the limit before the others. */
function windowOf(callers: readonly Caller[], share: number): Report {
  const within = callers.map(({ asks, weight }) => Math.min(asks, weight * share))
  const asked = within.reduce((sum, one) => sum + one, 0)
  const weights = (some: readonly Caller[]) => some.reduce((sum, { weight }) => sum + weight, 0)
  return {
    active: weights(callers),
    capped: weights(callers.filter(({ asks, weight }) => asks > weight * share)),
    denied: 0,
    used: Math.min(LIMIT, asked),
    short: Math.max(0, asked - LIMIT),
    starved: 0,
    reports: 1,
  }
}

/** The level up to which callers are served, by trying. */
function levelOf(callers: readonly Caller[]): number {
  let [low, high] = [0, LIMIT]
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    const asked = callers.reduce((sum, { asks, weight }) => sum + Math.min(asks, weight * middle), 0)
    if (asked > LIMIT) high = middle
    else low = middle
  }
  return low
}

const shareAfter = (board: Board) => nextShare(board, LIMIT).share

describe('the share that holds after a window', () => {
  it('is none while the limit is enough, and an equal share of the limit once it was not', () => {
    expect(shareAfter({ ...EMPTY, ...SAID, short: 0 })).toBe(Infinity)
    expect(shareAfter({ ...EMPTY, ...SAID })).toBe(100)
  })

  it('stays until half of the reports are there, and counts those that are missing as like the others', () => {
    const board = { ...EMPTY, ...SAID, share: 200, before: 41 }
    expect(shareAfter(board)).toBe(200)
    const half = { ...board, before: 40, active: 5, capped: 1, used: 400, short: 0 }
    expect(shareAfter(half)).toBe(200 + (1000 - 800) / 2 / 2)
  })

  it('is what was left while nobody has used it up and nobody was denied, and ends after some windows', () => {
    const idle = { ...EMPTY, ...SAID, short: 0, used: 300 }
    expect(nextShare({ ...idle, share: 200, calm: 3 }, LIMIT)).toEqual({ share: 700, wasted: 0, calm: 4 })
    expect(shareAfter({ ...idle, share: 800 })).toBe(800) // who took it all then may do so again
    expect(shareAfter({ ...idle, share: 200, calm: FORGOTTEN_AFTER - 2 })).toBe(700)
    expect(shareAfter({ ...idle, share: 200, calm: FORGOTTEN_AFTER - 1 })).toBe(Infinity)
  })

  it('counts a caller that got nothing as one more, so that one that comes first cannot have all', () => {
    const first = { ...EMPTY, ...SAID, active: 1, short: 30, reports: 5 }
    expect(shareAfter(first)).toBe(1000)
    expect(shareAfter({ ...first, starved: 1 })).toBe(500) // said by one instance
    expect(shareAfter({ ...first, starved: 15 })).toBe(250) // three, if all five instances denied each
  })

  it('does not rise while units are missing, nor later into what leases lost', () => {
    const missing = { ...EMPTY, ...SAID, share: 200, capped: 2, used: 940, short: 10 }
    expect(nextShare(missing, LIMIT)).toEqual({ share: 195, wasted: 60, calm: 0 })
    const next = { ...missing, share: 195, wasted: 60, used: 900, short: 0 }
    expect(nextShare(next, LIMIT)).toEqual({ share: 195 + (100 - 60) / 2 / 2, wasted: 54, calm: 0 })
    expect(nextShare({ ...missing, used: 300 }, LIMIT).wasted).toBe(100) // more than leases lose
  })

  it('takes callers that all instances denied for capped, where none said who took the last unit', () => {
    const board = { ...EMPTY, ...SAID, share: 100, used: 600, short: 0 }
    expect(shareAfter({ ...board, denied: 60 })).toBe(100 + 400 / 2 / 3)
    expect(shareAfter({ ...board, denied: 1 })).toBe(100 + 400 / 2) // of one caller at least
  })

  test.each(Array.from({ length: 200 }, (_, seed) => seed))(
    'rises to the level of max-min fairness, never above it, for any callers: %i',
    (seed) => {
      const random = seeded(seed)
      const upTo = (most: number) => 1 + Math.floor(most * random())
      const callers = Array.from({ length: upTo(30) + 1 }, () => ({
        asks: upTo(random() < 0.3 ? 3 * LIMIT : 60),
        weight: random() < 0.3 ? upTo(5) : 1,
      }))
      if (callers.reduce((sum, { asks }) => sum + asks, 0) <= 1.2 * LIMIT) callers.push({ asks: 2 * LIMIT, weight: 1 })
      const level = levelOf(callers)
      let board: Board = { ...EMPTY, ...windowOf(callers, Infinity) }
      for (let window = 0; window < 40; window++) {
        const { share, ...known } = nextShare(board, LIMIT)
        expect(share).toBeGreaterThanOrEqual(window === 0 ? 0 : board.share - 0.001)
        expect(share).toBeLessThanOrEqual(level + 0.001)
        board = { ...EMPTY, ...known, ...windowOf(callers, share), share }
      }
      expect(board.used).toBeGreaterThan(0.99 * LIMIT)
    },
  )

  it('falls by what was missing when more callers come, and to an equal share at least', () => {
    const board = { ...EMPTY, share: 300, active: 20, capped: 2, used: 1000, short: 100, reports: 1 }
    expect(shareAfter(board)).toBe(250)
    expect(shareAfter({ ...board, short: 10_000 })).toBe(50)
  })
})

describe('the board', () => {
  const policy = compile(
    parsePolicies([{ name: 'all', limit: LIMIT, window: '1s', consistency: 'leased' }], [], [])[0]!,
  )
  const decider = (store: StateStore) =>
    new Decider({
      store,
      clock: () => T,
      deadlineMs: 1000,
      firstDeadlineMs: 1000,
      denialTtlMs: 5000,
      maxSubjects: 10,
      onEvent: () => {},
    })
  const said = (one: Decider, window: number, report: Report = SAID) =>
    one.run('k', tell(one, 'k', policy, window, report, LIMIT))

  it('adds up what instances say of a window, and keeps the share that held in it', async () => {
    const store = new MemoryStore()
    const [first, second] = [decider(store), decider(store)]
    await Promise.all([said(first, 7), said(second, 7)])
    expect(boardOf(await store.read('k'))).toEqual({
      window: 7,
      share: Infinity,
      before: 0,
      wasted: 0,
      calm: 0,
      active: 20,
      capped: 0,
      denied: 0,
      used: 2000,
      short: 1000,
      starved: 0,
      reports: 40,
    }) // prettier-ignore
    await Promise.all([said(second, 8), said(first, 8)])
    expect(boardOf(await store.read('k'))).toMatchObject({ window: 8, share: 50, before: 40, used: 2000 })
  })

  it('takes a late report into the window that has begun, and begins anew after a gap', async () => {
    const store = new MemoryStore()
    const one = decider(store)
    await said(one, 7)
    await said(one, 6)
    expect(boardOf(await store.read('k'))).toMatchObject({ window: 7, reports: 40 })
    await said(one, 9)
    expect(boardOf(await store.read('k'))).toMatchObject({ window: 9, share: Infinity, before: 0, reports: 20 })
  })

  it('goes on with the share where a clock was far ahead, in the window of the others', async () => {
    const store = new MemoryStore()
    const one = decider(store)
    await said(one, 7)
    await said(one, 8)
    await said(one, 1000)
    expect(boardOf(await store.read('k'))).toMatchObject({ window: 1000, share: Infinity })
    await said(one, 9)
    await said(one, 10)
    expect(boardOf(await store.read('k'))).toMatchObject({ window: 10, share: 100, reports: 20 })
  })

  test.each(STORE_FAULTS)('counts a report once, or not, with the fault "%s"', async (fault) => {
    const store = new FaultyStore(new MemoryStore())
    const one = decider(store)
    await said(one, 7)
    store.plan([fault])
    const isTold = await said(one, 7).then(
      () => true,
      (error) => !(error instanceof StoreUnavailableError) && Promise.reject(error),
    )
    await store.deliverDelayed()
    const { reports } = boardOf(await store.read('k'))
    expect(isTold ? [40] : [20, 40]).toContain(reports)
  })
})
