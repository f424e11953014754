import type { PolicyInput } from '../../limiter'

/**
 * How each algorithm counts, written a second time in the simplest way: over the list of all charges ever made, from
 * docs/algorithms.md alone. Nothing here is fast, and no code is shared with the algorithms.
 */

/** Charged units, and their place on the algorithm's own scale: the number of a window, or milliseconds. */
interface Charged {
  readonly place: number
  readonly units: number
}

/** All charges under one policy, in a form that is the same for all writers. */
export interface Tally {
  /** In the order in which they were charged. */
  readonly charged: readonly Charged[]
  /** The newest place ever charged: no decision is made for an earlier one. */
  readonly newest: number
  /** Anchored windows: when the open one began. */
  readonly openedAt?: number
  /** Paces: when the bucket is whole again, in microseconds. A refund is only known within bounds, hence a range. */
  readonly whole?: readonly [earliest: number, latest: number]
  /** Interval buckets: tokens missing in the newest interval. */
  readonly missing?: number
  /** Overage: units past the limit, by window. */
  readonly past?: readonly Charged[]
  /** Lock-outs: when the last one ends. */
  readonly lockedUntil?: number
  /** Denials that do not lock out yet: when the first one came, and how many there were. */
  readonly denied?: { readonly since: number; readonly count: number }
}

export const NOTHING: Tally = { charged: [], newest: -Infinity }

/** The tallies without repetitions. */
export function distinct(tallies: readonly Tally[]): Tally[] {
  const seen = new Map<string, Tally>()
  for (const tally of tallies) seen.set(JSON.stringify(tally), tally)
  return [...seen.values()]
}

/** The limit and burst of one writer. */
export interface Numbers {
  readonly limit: number
  readonly burst: number
}

export interface Quota {
  readonly numbersOf: (policy: PolicyInput) => Numbers
  /** Whether so many units are allowed at this moment. */
  room(tally: Tally, numbers: Numbers, units: number, now: number): boolean
  charge(tally: Tally, numbers: Numbers, units: number, now: number): Tally
  /** The remaining units, as far as they are certain. */
  remaining(tally: Tally, numbers: Numbers, now: number): number
  /** Whether no charge counts any more. */
  isWhole(tally: Tally, numbers: Numbers, now: number): boolean
  /**
   * Every tally that a refund may leave: none of the units may be found, some, or all.
   *
   * @param least the number of units that are certainly found.
   */
  refund(
    tally: Tally,
    numbers: Numbers,
    units: number,
    now: number,
    chargedAt: number | undefined,
    least: number,
  ): Tally[]
  /** Whether writers with different limits count in the same units. */
  readonly sharesCounts: boolean
  overage?(tally: Tally, now: number): number
  /** What is left of a denial, where that is written down. */
  deny?(tally: Tally, numbers: Numbers, units: number, now: number): Tally
  delayMs?(tally: Tally, now: number): number
  /** Units that are charged where they belong, whatever came after; where absent, they are charged as others are. */
  chargeAt?(tally: Tally, units: number, at: number): Tally
  /**
   * Whether a charge, and what comes back of it or is owed yet, count in full where they were made: no window that they
   * belong to has ended.
   *
   * @param tally just after the charge, without what came to be owed.
   */
  isOpen?(tally: Tally, chargedAt: number, now: number): boolean
  /** Whether time has given back a part of what is given back later. */
  readonly fades?: boolean
  /** The most units that are allowed in any interval of so many milliseconds. */
  mostWithin(numbers: Numbers, ms: number): number
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function durationMs(text: string): number {
  const [, number, unit] = /^(\d+)([a-z]+)$/.exec(text)!
  return Number(number) * UNITS[unit!]!
}

const sum = (charged: readonly Charged[]): number => charged.reduce((total, { units }) => total + units, 0)

const plain = ({ limit, burst = limit }: PolicyInput): Numbers => ({ limit, burst })

/** Removes units from the newest entries at `until` or before. */
function without(charged: readonly Charged[], units: number, until: number): Charged[] {
  const order = charged.map((_, i) => i).sort((a, b) => charged[b]!.place - charged[a]!.place || b - a)
  const left = charged.map((one) => ({ ...one }))
  let wanted = units
  for (const i of order) {
    if (charged[i]!.place > until) continue
    const back = Math.min(wanted, left[i]!.units)
    left[i]!.units -= back
    wanted -= back
  }
  return left.filter((one) => one.units > 0)
}

const fromTo = (least: number, most: number): number[] =>
  Array.from({ length: Math.max(0, most - least + 1) }, (_, i) => least + i)

/** The quota of an algorithm that counts charges by place. */
function counted(
  placeOf: (at: number) => number,
  used: (tally: Tally, now: number) => number,
  windowsIn: (ms: number) => number,
): Quota {
  return {
    numbersOf: plain,
    room: (tally, { limit }, units, now) => used(tally, now) + units <= limit,
    charge: (tally, _numbers, units, now) => {
      const place = Math.max(placeOf(now), tally.newest)
      return { ...tally, charged: [...tally.charged, { place, units }], newest: place }
    },
    remaining: (tally, { limit }, now) => Math.max(0, limit - used(tally, now)),
    isWhole: (tally, _numbers, now) => used(tally, now) === 0,
    isOpen: (_tally, chargedAt, now) => placeOf(chargedAt) === placeOf(now),
    refund(tally, _numbers, units, now, chargedAt, least) {
      // From the newest place, or from an older one if the writer has not seen the newer.
      const last = chargedAt === undefined ? Math.max(placeOf(now), tally.newest) : placeOf(chargedAt)
      const ends = [...new Set([last, ...tally.charged.map(({ place }) => place).filter((place) => place < last)])]
      const found = ends.flatMap((until) => fromTo(least, units).map((back) => without(tally.charged, back, until)))
      return found.map((charged) => ({ ...tally, charged }))
    },
    sharesCounts: true,
    mostWithin: ({ limit }, ms) => limit * windowsIn(ms),
  }
}

const chargeIn =
  (placeOf: (at: number) => number) =>
  (tally: Tally, units: number, at: number): Tally => ({
    ...tally,
    charged: [...tally.charged, { place: placeOf(at), units }],
  })

const slots = (windowMs: number) => (ms: number) => Math.floor(ms / windowMs) + 2

function fixedWindow(placeOf: (at: number) => number, shortestMs: number): Quota {
  const used = ({ charged, newest }: Tally, now: number) => {
    const window = Math.max(placeOf(now), newest)
    return sum(charged.filter(({ place }) => place === window))
  }
  return counted(placeOf, used, slots(shortestMs))
}

/** A quota with overage: units past the limit are admitted, and recorded by the limit in force. */
function withOverage(quota: Quota, placeOf: (at: number) => number): Quota {
  const pastIn = ({ past = [] }: Tally, window: number) => sum(past.filter(({ place }) => place === window))
  const windowOf = ({ newest }: Tally, now: number) => Math.max(placeOf(now), newest)
  const usedIn = ({ charged }: Tally, window: number) => sum(charged.filter(({ place }) => place === window))
  return {
    ...quota,
    room: () => true,
    charge(tally, numbers, units, now) {
      const window = windowOf(tally, now)
      const before = usedIn(tally, window)
      const past = Math.max(0, before + units - Math.max(numbers.limit, before))
      return {
        ...quota.charge(tally, numbers, units, now),
        past: [...(tally.past ?? []), { place: window, units: past }],
      }
    },
    overage: (tally, now) => pastIn(tally, windowOf(tally, now)),
    /** Last in, first out, in each window that units were taken from. */
    refund(tally, numbers, units, now, chargedAt, least) {
      const windows = [...new Set(tally.charged.map(({ place }) => place))]
      return quota.refund(tally, numbers, units, now, chargedAt, least).map((left) => {
        const changes = windows.map((window) => {
          const used = usedIn(tally, window)
          const back = used - usedIn(left, window)
          const over = pastIn(tally, window)
          const after = Math.min(over - Math.min(over, back, Math.max(0, used - numbers.limit)), used - back)
          return { place: window, units: after - over }
        })
        return { ...left, past: [...(left.past ?? []), ...changes.filter(({ units }) => units !== 0)] }
      })
    },
    mostWithin: () => Infinity,
  }
}

function anchoredWindow(windowMs: number): Quota {
  const isOpen = ({ openedAt }: Tally, now: number) => openedAt !== undefined && openedAt > now - windowMs
  const used = (tally: Tally, now: number) => (isOpen(tally, now) ? sum(tally.charged) : 0)
  return {
    ...counted((at) => at, used, slots(windowMs)),
    charge: (tally, _numbers, units, now) =>
      isOpen(tally, now)
        ? { ...tally, charged: [...tally.charged, { place: now, units }] }
        : { charged: [{ place: now, units }], newest: now, openedAt: now },
    isOpen: ({ openedAt }, _chargedAt, now) => openedAt !== undefined && openedAt > now - windowMs,
    refund({ openedAt, charged }, _numbers, units, now, chargedAt = now, least = 0) {
      const inside = openedAt !== undefined && openedAt <= chargedAt && chargedAt < openedAt + windowMs
      return fromTo(inside ? least : 0, inside ? units : 0).map((back) => {
        const left = without(charged, back, Infinity)
        // A window whose units were all refunded closes.
        return left.length === 0 ? NOTHING : { charged: left, newest: openedAt!, openedAt }
      })
    },
  }
}

function slidingWindow(windowMs: number): Quota {
  const placeOf = (at: number) => Math.floor(at / windowMs)
  const used = ({ charged, newest }: Tally, now: number) => {
    const window = Math.max(placeOf(now), newest)
    const covered = Math.min(windowMs, (window + 1) * windowMs - now)
    const previous = sum(charged.filter(({ place }) => place === window - 1))
    return Math.floor((previous * covered) / windowMs) + sum(charged.filter(({ place }) => place === window))
  }
  return counted(placeOf, used, slots(windowMs))
}

function slidingBuckets(windowMs: number, buckets: number): Quota {
  const placeOf = (at: number) => Math.floor(at / (windowMs / buckets))
  const used = ({ charged, newest }: Tally, now: number) => {
    const current = Math.max(placeOf(now), newest)
    return sum(charged.filter(({ place }) => place > current - buckets))
  }
  return {
    ...counted(placeOf, used, slots(windowMs)),
    chargeAt: chargeIn(placeOf),
    isOpen: (_tally, chargedAt, now) => placeOf(chargedAt) > placeOf(now) - buckets,
  }
}

function slidingLog(windowMs: number): Quota {
  const used = ({ charged, newest }: Tally, now: number) => {
    const at = Math.max(now, newest)
    return sum(charged.filter(({ place }) => place > at - windowMs))
  }
  const placeOf = (at: number) => at
  return {
    ...counted(placeOf, used, (ms) => Math.floor(ms / windowMs) + 1),
    chargeAt: chargeIn(placeOf),
    isOpen: (_tally, chargedAt, now) => chargedAt > now - windowMs,
  }
}

const emissionUs = (limit: number, windowMs: number) => Math.ceil((windowMs * 1000) / limit)

/** GCRA, the token bucket that refills evenly and the leaky bucket are one rule. */
function pace(windowMs: number, queue: boolean, maxDelayMs: number): Quota {
  const emission = ({ limit }: Numbers) => emissionUs(limit, windowMs)
  const starts = ({ whole }: Tally, now: number) =>
    (whole ?? [0, 0]).map((at) => Math.max(at, now * 1000)) as [number, number]
  const fits = (start: number, numbers: Numbers, units: number, now: number) => {
    const end = start + emission(numbers) * units
    const patient = !queue || units === 0 || end - emission(numbers) - now * 1000 <= maxDelayMs * 1000
    return end - now * 1000 <= emission(numbers) * numbers.burst && patient
  }
  return {
    numbersOf: plain,
    room: (tally, numbers, units, now) => fits(starts(tally, now)[0], numbers, units, now),
    charge(tally, numbers, units, now) {
      const [early, late] = starts(tally, now)
      const most = fits(late, numbers, units, now) ? late : latestThatFits(numbers, units, now)
      return { ...tally, whole: [early + emission(numbers) * units, Math.max(early, most) + emission(numbers) * units] }
    },
    remaining(tally, numbers, now) {
      const [, late] = starts(tally, now)
      let units = 0
      while (fits(late, numbers, units + 1, now)) units++
      return units
    },
    isWhole: (tally, _numbers, now) => starts(tally, now)[1] === now * 1000,
    // no time has passed in vain
    isOpen: ({ whole }, _chargedAt, now) => whole !== undefined && whole[0] >= now * 1000,
    fades: true,
    refund(tally, numbers, units, now, chargedAt = now, least = 0) {
      const [early, late] = starts(tally, now)
      const gone = Math.max(0, now - chargedAt) * 1000 // has come back with time
      const after = (whole: number, units: number) =>
        Math.max(now * 1000, whole - Math.max(0, emission(numbers) * units - gone))
      return [{ ...tally, whole: [after(early, units), after(late, least)] }]
    },
    sharesCounts: false,
    delayMs: (tally, now) => (queue ? Math.ceil((starts(tally, now)[0] - now * 1000) / 1000) : 0),
    mostWithin: (numbers, ms) => numbers.burst + Math.ceil((ms * 1000) / emission(numbers)),
  }

  function latestThatFits(numbers: Numbers, units: number, now: number): number {
    const capacity = now * 1000 + emission(numbers) * (numbers.burst - units)
    return queue ? Math.min(capacity, now * 1000 + maxDelayMs * 1000 - emission(numbers) * (units - 1)) : capacity
  }
}

function intervalBucket(windowMs: number): Quota {
  const missingAt = ({ newest, missing = 0 }: Tally, { limit, burst }: Numbers, now: number) => {
    if (newest === -Infinity) return 0
    const passed = Math.max(0, Math.floor(now / windowMs) - newest)
    return Math.max(0, Math.min(missing, burst) - passed * limit)
  }
  return {
    numbersOf: plain,
    room: (tally, numbers, units, now) => missingAt(tally, numbers, now) + units <= numbers.burst,
    charge: (tally, numbers, units, now) => ({
      ...tally,
      newest: Math.max(Math.floor(now / windowMs), tally.newest),
      missing: missingAt(tally, numbers, now) + units,
    }),
    remaining: (tally, numbers, now) => numbers.burst - missingAt(tally, numbers, now),
    isWhole: (tally, numbers, now) => missingAt(tally, numbers, now) === 0,
    isOpen: (_tally, chargedAt, now) => Math.floor(chargedAt / windowMs) === Math.floor(now / windowMs),
    refund(tally, _numbers, units, now, chargedAt, least) {
      const isOver =
        chargedAt !== undefined && Math.floor(chargedAt / windowMs) < Math.max(tally.newest, Math.floor(now / windowMs))
      // What was charged before a refill may have come back with it.
      return fromTo(isOver ? 0 : least, isOver ? 0 : units).map((back) => ({
        ...tally,
        missing: Math.max(0, (tally.missing ?? 0) - back),
      }))
    },
    sharesCounts: false,
    mostWithin: ({ limit, burst }, ms) => burst + limit * (Math.floor(ms / windowMs) + 1),
  }
}

const days = new Map<string, Intl.DateTimeFormat>()

/** The date of an instant in a time zone, as a number of days since 1970. */
function dateOf(at: number, timezone: string): { year: number; month: number; day: number; days: number } {
  let format = days.get(timezone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, year: 'numeric', month: 'numeric', day: 'numeric' })
    days.set(timezone, format)
  }
  const [month, day, year] = format.format(at).split('/').map(Number) as [number, number, number]
  return { year, month, day, days: Date.UTC(year, month - 1, day) / 86_400_000 }
}

const CALENDAR: Readonly<Record<string, (date: ReturnType<typeof dateOf>) => number>> = {
  day: ({ days }) => days,
  week: ({ days }) => Math.floor((days + 3) / 7), // 1970-01-01 was a Thursday
  month: ({ year, month }) => 12 * year + month,
  year: ({ year }) => year,
}

/** The window grid of a policy, if it has windows that all instances share. */
export function gridOf({
  algorithm = 'sliding-window',
  window,
  timezone = 'UTC',
  buckets = 60,
}: PolicyInput): ((at: number) => number) | undefined {
  const calendar = CALENDAR[window]
  if (calendar) return (at) => calendar(dateOf(at, timezone))
  const ms = durationMs(window)
  if (algorithm === 'fixed-window') return (at) => Math.floor(at / ms)
  if (algorithm === 'sliding-window') return (at) => Math.floor(at / ms)
  if (algorithm === 'sliding-buckets') return (at) => Math.floor(at / (ms / buckets))
  return undefined
}

/** Where denials are recorded as units. */
const withDenials = (quota: Quota): Quota => ({
  ...quota,
  deny: (tally, numbers, units, now) => quota.charge(tally, numbers, Math.min(units, numbers.limit), now),
})

/** A quota that locks out: nothing fits until the time that a denial has set. */
function withLockouts(quota: Quota, { window, blockFor, after = 1, extend = false }: PolicyInput): Quota {
  const forMs = durationMs(blockFor!)
  const isLocked = ({ lockedUntil = -Infinity }: Tally, now: number) => now < lockedUntil
  const kept =
    ({ lockedUntil, denied }: Tally) =>
    (tally: Tally) => ({ ...tally, lockedUntil, denied })
  const prolonged = (tally: Tally, now: number): Tally =>
    extend && tally.lockedUntil! < now + forMs
      ? { ...tally, lockedUntil: now + forMs + Math.min(1000, Math.floor(forMs / 10)) }
      : tally
  return {
    ...quota,
    room: (tally, numbers, units, now) => !isLocked(tally, now) && quota.room(tally, numbers, units, now),
    charge: (tally, numbers, units, now) => kept(tally)(quota.charge(tally, numbers, units, now)),
    remaining: (tally, numbers, now) => (isLocked(tally, now) ? 0 : quota.remaining(tally, numbers, now)),
    isWhole: (tally, numbers, now) => !isLocked(tally, now) && quota.isWhole(tally, numbers, now),
    refund: (tally, ...more) => quota.refund(tally, ...more).map(kept(tally)),
    deny(tally, _numbers, _units, now) {
      if (isLocked(tally, now)) return prolonged(tally, now)
      const { denied } = tally
      const count = denied && Math.abs(now - denied.since) < durationMs(window) ? denied.count + 1 : 1
      if (count >= after) return { ...tally, lockedUntil: now + forMs, denied: undefined }
      return { ...tally, denied: { since: count > 1 ? denied!.since : now, count } }
    },
  }
}

const quotas = new Map<string, Quota>()

/** How a policy counts. */
export function quotaOf(policy: PolicyInput): Quota {
  const { algorithm = 'sliding-window', window, timezone, overage, refill, mode, buckets = 60, maxDelay } = policy
  const { countDenied, blockFor, after, extend } = policy
  const counts = [algorithm, window, timezone, overage, refill, mode, buckets, maxDelay]
  const id = [...counts, countDenied, blockFor, after, extend].join()
  const quota = quotas.get(id) ?? recording()
  quotas.set(id, quota)
  return quota

  function recording(): Quota {
    if (blockFor) return withLockouts(made(), policy)
    return countDenied ? withDenials(made()) : made()
  }

  function made(): Quota {
    if (algorithm === 'fixed-window') {
      const grid = gridOf(policy)!
      const fixed = fixedWindow(grid, CALENDAR[window] ? 82_800_000 : durationMs(window))
      return overage === 'allow' ? withOverage(fixed, grid) : fixed
    }
    const ms = durationMs(window)
    switch (algorithm) {
      case 'anchored-window':
        return anchoredWindow(ms)
      case 'sliding-window':
        return slidingWindow(ms)
      case 'sliding-buckets':
        return slidingBuckets(ms, buckets)
      case 'sliding-log':
        return slidingLog(ms)
      case 'token-bucket':
        return refill === 'interval' ? intervalBucket(ms) : pace(ms, false, Infinity)
      case 'leaky-bucket':
      case 'gcra':
        return pace(ms, mode === 'queue', maxDelay === undefined ? Infinity : durationMs(maxDelay))
      default:
        throw new Error(`the model has no quota for algorithm ${algorithm satisfies never}`)
    }
  }
}
