import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import type { Fields } from '../../limiter/algorithms/conditional-write'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import {
  CALENDAR_UNITS,
  type CalendarUnit,
  calendarGrid,
  isCalendarUnit,
  isTimezone,
} from '../../limiter/policies/calendar'
import { applyWrite } from '../algorithms/timeline'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const UNIT_LENGTHS: Record<CalendarUnit, Temporal.DurationLike> = {
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  year: { years: 1 },
}

/** Zones with unusual changes of their clocks. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo', // midnight skipped until 2018
  'Asia/Beirut', // midnight skipped
  'Africa/Cairo', // midnight skipped, and daylight saving given up and taken up again
  'Africa/Casablanca', // an hour back for Ramadan
  'America/Havana', // midnight skipped
  'America/Asuncion',
  'Asia/Gaza',
  'Asia/Tehran', // midnight skipped, offsets of half hours
  'Asia/Kathmandu',
  'Asia/Pyongyang', // half an hour, there and back
  'Atlantic/Azores', // midnight twice
  'Australia/Lord_Howe', // half an hour of daylight saving
  'Antarctica/Troll', // two hours
  'Antarctica/Casey', // three hours
  'Pacific/Apia', // 2011-12-30 skipped
  'Pacific/Kiritimati',
  'America/Caracas',
  'America/St_Johns',
]
const EARLIEST = Date.UTC(2000, 0, 3)
const LATEST = Date.UTC(2036, 0, 1)

/** The start of the window that contains a zone's date, by Temporal. */
function startByTemporal(unit: CalendarUnit, date: Temporal.PlainDate, timezone: string): number {
  const first = {
    day: () => date,
    week: () => date.subtract({ days: date.dayOfWeek - 1 }),
    month: () => date.with({ day: 1 }),
    year: () => date.with({ day: 1, month: 1 }),
  }[unit]()
  return first.toZonedDateTime(timezone).epochMilliseconds
}

const dateAt = (at: number, timezone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDate()

/**
 * Newfoundland changed its clocks at 00:01 until 2011, Casey once at 02:00 by three hours: the date before came again,
 * see below.
 */
const beganTwice = (timezone: string, at: number): boolean =>
  (timezone === 'America/St_Johns' && at < Date.UTC(2012, 0, 1)) ||
  (timezone === 'Antarctica/Casey' && at < Date.UTC(2011, 0, 1))

/** Every change of a zone's clocks in these years. */
function changesOf(timezone: string): number[] {
  const changes: number[] = []
  let at = Temporal.Instant.fromEpochMilliseconds(EARLIEST).toZonedDateTimeISO(timezone).getTimeZoneTransition('next')
  while (at && at.epochMilliseconds < LATEST) {
    changes.push(at.epochMilliseconds)
    at = at.getTimeZoneTransition('next')
  }
  return changes
}

const CHANGES = new Map(ZONES.map((timezone) => [timezone, changesOf(timezone)]))

const instants = (timezone: string): fc.Arbitrary<number> => {
  const anywhere = fc.integer({ min: EARLIEST, max: LATEST })
  const changes = CHANGES.get(timezone)!
  if (changes.length === 0) return anywhere
  const nearChange = fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -30 * HOUR_MS, max: 30 * HOUR_MS }))
  const atChange = fc.tuple(fc.constantFrom(...changes), fc.constantFrom(-1, 0, 1))
  return fc.oneof(
    anywhere,
    nearChange.map(([change, away]) => change + away),
    atChange.map(([change, away]) => change + away),
  )
}

const zoneAndInstant = fc
  .constantFrom(...ZONES)
  .chain((timezone) => fc.tuple(fc.constant(timezone), instants(timezone)))

/** One grid per zone, as policies have. */
function gridsOf(unit: CalendarUnit) {
  const grids = new Map(ZONES.map((timezone) => [timezone, calendarGrid(unit, timezone)]))
  return (timezone: string) => grids.get(timezone)!
}

describe.each(CALENDAR_UNITS)('windows of a calendar %s', (unit) => {
  const gridOf = gridsOf(unit)

  it('begin where Temporal says that the date begins in the zone', () => {
    fc.assert(
      fc.property(zoneAndInstant, ([timezone, at]) => {
        fc.pre(!beganTwice(timezone, at))
        const grid = gridOf(timezone)
        const start = grid.startOf(grid.indexAt(at))
        expect(new Date(start)).toEqual(new Date(startByTemporal(unit, dateAt(at, timezone), timezone)))
      }),
      { numRuns: 200 },
    )
  })

  it('last until the next date begins, and never longer than the grid says', () => {
    fc.assert(
      fc.property(zoneAndInstant, ([timezone, at]) => {
        const grid = gridOf(timezone)
        const index = grid.indexAt(at)
        const [start, end] = [grid.startOf(index), grid.startOf(index + 1)]
        expect(start).toBeLessThanOrEqual(at)
        expect(end).toBeGreaterThan(at)
        expect(end - start).toBeLessThanOrEqual(grid.longestMs)
        if (beganTwice(timezone, at) || timezone === 'Pacific/Apia') return
        const next = dateAt(start, timezone).add(UNIT_LENGTHS[unit])
        expect(new Date(end)).toEqual(new Date(startByTemporal(unit, next, timezone)))
      }),
      { numRuns: 200 },
    )
  })

  it('are numbered in ascending order, whatever was looked up in between', () => {
    fc.assert(
      fc.property(
        fc
          .constantFrom(...ZONES)
          .chain((timezone) =>
            fc.tuple(fc.constant(timezone), fc.array(instants(timezone), { minLength: 2, maxLength: 12 })),
          ),
        ([timezone, times]) => {
          const grid = calendarGrid(unit, timezone)
          const asked = times.map((at) => ({ at, index: grid.indexAt(at) }))
          const sorted = [...asked].sort((a, b) => a.at - b.at)
          for (const [i, { index }] of sorted.slice(1).entries()) expect(index).toBeGreaterThanOrEqual(sorted[i]!.index)
          for (const { at, index } of asked) expect(gridOf(timezone).indexAt(at)).toBe(index)
        },
      ),
      { numRuns: 20 },
    )
  })

  it('follow each other without a gap', () => {
    for (const timezone of ['UTC', 'Europe/Berlin', 'Asia/Beirut']) {
      const grid = calendarGrid(unit, timezone)
      let at = EARLIEST
      for (let step = 0; step < 60; step++) {
        const index = grid.indexAt(at)
        at = grid.startOf(index + 1)
        expect(grid.indexAt(at)).toBe(index + 1)
        expect(grid.indexAt(at - 1)).toBe(index)
      }
    }
  })
})

const day = (timezone: string, date: string) => {
  const grid = calendarGrid('day', timezone)
  const index = Date.parse(date) / DAY_MS
  return {
    start: new Date(grid.startOf(index)).toISOString(),
    hours: (grid.startOf(index + 1) - grid.startOf(index)) / HOUR_MS,
  }
}

describe('a calendar day', () => {
  it.each([
    ['UTC', '2024-02-29', '2024-02-29T00:00:00.000Z', 24],
    ['Europe/Berlin', '2024-03-30', '2024-03-29T23:00:00.000Z', 24],
    ['Europe/Berlin', '2024-03-31', '2024-03-30T23:00:00.000Z', 23],
    ['Europe/Berlin', '2024-10-27', '2024-10-26T22:00:00.000Z', 25],
    ['America/New_York', '2024-03-10', '2024-03-10T05:00:00.000Z', 23],
    ['America/New_York', '2024-11-03', '2024-11-03T04:00:00.000Z', 25],
    ['America/Sao_Paulo', '2018-11-03', '2018-11-03T03:00:00.000Z', 24],
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', 23], // begins at 01:00
    ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00:00.000Z', 25],
    ['Asia/Beirut', '2024-03-31', '2024-03-30T22:00:00.000Z', 23], // begins at 01:00
    ['Africa/Cairo', '2024-04-26', '2024-04-25T22:00:00.000Z', 23], // begins at 01:00
    ['America/Havana', '2024-03-10', '2024-03-10T05:00:00.000Z', 23], // begins at 01:00
    ['America/Havana', '2024-11-03', '2024-11-03T04:00:00.000Z', 25], // has 00:30 twice
    ['Atlantic/Azores', '2024-10-27', '2024-10-27T00:00:00.000Z', 25], // has 00:30 twice
    ['Asia/Tehran', '2022-03-22', '2022-03-21T20:30:00.000Z', 23], // begins at 01:00
    ['Asia/Kathmandu', '2024-07-01', '2024-06-30T18:15:00.000Z', 24],
    ['Australia/Lord_Howe', '2024-04-07', '2024-04-06T13:00:00.000Z', 24.5],
    ['Australia/Lord_Howe', '2024-10-06', '2024-10-05T13:30:00.000Z', 23.5],
    ['Pacific/Kiritimati', '2024-01-01', '2023-12-31T10:00:00.000Z', 24],
    ['Pacific/Apia', '2011-12-29', '2011-12-29T10:00:00.000Z', 24],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z', 24],
    ['Antarctica/Troll', '2024-10-27', '2024-10-26T22:00:00.000Z', 26],
  ])('in %s on %s begins at %s and has %d hours', (timezone, date, start, hours) => {
    expect(day(timezone, date)).toEqual({ start, hours })
  })

  it('has no time at all if the zone skipped it', () => {
    expect(day('Pacific/Apia', '2011-12-30')).toEqual({ start: '2011-12-30T10:00:00.000Z', hours: 0 })
    const grid = calendarGrid('day', 'Pacific/Apia')
    const skipped = Date.UTC(2011, 11, 30)
    expect(grid.indexAt(skipped + 10 * HOUR_MS - 1)).toBe(skipped / DAY_MS - 1)
    expect(grid.indexAt(skipped + 10 * HOUR_MS)).toBe(skipped / DAY_MS + 1)
  })

  it.each([
    ['America/St_Johns', '2010-11-07', '02:30:00Z', '02:31:00Z', '03:30:00Z', '2010-11-07T03:30:00.000Z', 24],
    ['Antarctica/Casey', '2010-03-05', '13:00:00Z', '15:00:00Z', '16:00:00Z', '2010-03-04T13:00:00.000Z', 27],
  ])(
    'that %s began twice on %s begins once, at one of the two midnights',
    (timezone, date, firstTime, backTime, secondTime, start, hours) => {
      const utcDate = start.slice(0, 10)
      const [first, back, second] = [firstTime, backTime, secondTime].map((time) =>
        Date.parse(`${utcDate}T${time}`),
      ) as [number, number, number]
      const before = Temporal.PlainDate.from(date).subtract({ days: 1 }).toString()
      expect([first - 1, first, back, second].map((at) => dateAt(at, timezone).toString())).toEqual([
        before,
        date,
        before,
        date,
      ])

      expect(day(timezone, date)).toEqual({ start, hours })
      const grid = calendarGrid('day', timezone)
      const index = Date.parse(date) / DAY_MS
      for (const at of [first - 1, first, back - 1, back, second - 1, second])
        expect(grid.indexAt(at)).toBe(at < Date.parse(start) ? index - 1 : index)
    },
  )
})

describe('other calendar windows', () => {
  const windowAt = (unit: CalendarUnit, timezone: string, at: string) => {
    const grid = calendarGrid(unit, timezone)
    const index = grid.indexAt(Date.parse(at))
    return [grid.startOf(index), grid.startOf(index + 1)].map((start) => new Date(start).toISOString())
  }

  it.each([
    ['week', 'UTC', '2024-02-29T12:00:00Z', ['2024-02-26T00:00:00.000Z', '2024-03-04T00:00:00.000Z']],
    ['week', 'UTC', '2024-03-03T23:59:59.999Z', ['2024-02-26T00:00:00.000Z', '2024-03-04T00:00:00.000Z']],
    ['week', 'UTC', '2024-03-04T00:00:00Z', ['2024-03-04T00:00:00.000Z', '2024-03-11T00:00:00.000Z']],
    ['week', 'Europe/Berlin', '2024-03-31T12:00:00Z', ['2024-03-24T23:00:00.000Z', '2024-03-31T22:00:00.000Z']],
    ['month', 'UTC', '2024-02-29T23:59:59.999Z', ['2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z']],
    ['month', 'UTC', '2023-12-31T23:59:59.999Z', ['2023-12-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z']],
    ['month', 'Europe/Berlin', '2024-03-31T22:30:00Z', ['2024-03-31T22:00:00.000Z', '2024-04-30T22:00:00.000Z']],
    ['month', 'Asia/Kathmandu', '2024-01-31T18:15:00Z', ['2024-01-31T18:15:00.000Z', '2024-02-29T18:15:00.000Z']],
    ['year', 'UTC', '2024-12-31T23:59:59.999Z', ['2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z']],
    ['year', 'Pacific/Kiritimati', '2024-12-31T10:00:00Z', ['2024-12-31T10:00:00.000Z', '2025-12-31T10:00:00.000Z']],
  ] as const)('are right: the %s of %s at %s is %j', (unit, timezone, at, window) => {
    expect(windowAt(unit, timezone, at)).toEqual(window)
  })

  it('are right at the epoch, which is not a Monday', () => {
    expect(windowAt('week', 'UTC', '1970-01-01T00:00:00Z')).toEqual([
      '1969-12-29T00:00:00.000Z',
      '1970-01-05T00:00:00.000Z',
    ])
    expect(windowAt('month', 'America/New_York', '1970-01-01T00:00:00Z')).toEqual([
      '1969-12-01T05:00:00.000Z',
      '1970-01-01T05:00:00.000Z',
    ])
  })
})

describe('a lookup of a calendar window', () => {
  it('converts no time for the window of the last lookup, and few times for two windows in turn', () => {
    const format = jest.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts')
    try {
      const grid = calendarGrid('month', 'Europe/Berlin')
      const [march, april] = [Date.UTC(2024, 2, 10), Date.UTC(2024, 3, 10)]
      grid.indexAt(march)
      expect(format.mock.calls.length).toBeLessThan(120)
      format.mockClear()
      for (let second = 0; second < 10_000; second++) grid.indexAt(march + second * 1000)
      expect(format).not.toHaveBeenCalled()
      grid.indexAt(april)
      format.mockClear()
      for (let turn = 0; turn < 100; turn++) {
        grid.indexAt(march)
        grid.indexAt(april)
      }
      expect(format.mock.calls.length).toBeLessThanOrEqual(200)
    } finally {
      format.mockRestore()
    }
  })

  it('caches few windows, and finds evicted ones again', () => {
    const grid = calendarGrid('day', 'Europe/Berlin')
    const starts = Array.from({ length: 400 }, (_, i) => grid.startOf(19_000 + i))
    for (const [i, start] of starts.entries()) expect(grid.startOf(19_000 + i)).toBe(start)
  })
})

describe('a fixed window on a calendar', () => {
  /** Uses up `limit` units, and returns the instant at which there are more. */
  function whenUsedUp(unit: CalendarUnit, timezone: string, limit: number, at: string): string {
    const quota = { limit, grid: calendarGrid(unit, timezone) }
    const now = Date.parse(at)
    const state: Fields = applyWrite(fixedWindow.step({}, quota, limit, now).write!, {})
    const { verdict } = fixedWindow.step(state, quota, 1, now)
    expect(verdict).toMatchObject({ allowed: false, remaining: 0 })
    const again = now + verdict.retryAfterMs
    expect(verdict.resetAfterMs).toBe(verdict.retryAfterMs)
    expect(fixedWindow.step(state, quota, 1, again - 1).verdict.allowed).toBe(false)
    expect(fixedWindow.step(state, quota, 1, again).verdict).toMatchObject({ allowed: true, remaining: limit - 1 })
    return new Date(again).toISOString()
  }

  it.each([
    ['day', 'UTC', '2024-05-05T12:00:00Z', '2024-05-06T00:00:00.000Z'],
    ['day', 'Europe/Berlin', '2024-03-30T23:00:00Z', '2024-03-31T22:00:00.000Z'], // 23 hours
    ['day', 'Europe/Berlin', '2024-10-26T22:00:00Z', '2024-10-27T23:00:00.000Z'], // 25 hours
    ['day', 'Europe/Berlin', '2024-10-27T00:30:00Z', '2024-10-27T23:00:00.000Z'], // 02:30 the first time
    ['day', 'Europe/Berlin', '2024-10-27T01:30:00Z', '2024-10-27T23:00:00.000Z'], // 02:30 the second time
    // until a midnight that was skipped
    ['day', 'America/Sao_Paulo', '2018-11-04T02:59:59.999Z', '2018-11-04T03:00:00.000Z'],
    ['day', 'Pacific/Apia', '2011-12-30T09:00:00Z', '2011-12-30T10:00:00.000Z'], // until a day that was skipped
    // just after a midnight that came twice
    ['day', 'America/St_Johns', '2010-11-07T02:30:30Z', '2010-11-07T03:30:00.000Z'],
    ['week', 'America/New_York', '2024-03-10T12:00:00Z', '2024-03-11T04:00:00.000Z'],
    ['month', 'Europe/Berlin', '2024-02-10T00:00:00Z', '2024-02-29T23:00:00.000Z'],
    ['month', 'Europe/Berlin', '2024-03-10T00:00:00Z', '2024-03-31T22:00:00.000Z'],
    ['year', 'Asia/Tehran', '2024-03-10T00:00:00Z', '2024-12-31T20:30:00.000Z'],
  ] as const)('of a %s in %s, used up at %s, is whole again at %s', (unit, timezone, at, again) => {
    expect(whenUsedUp(unit, timezone, 3, at)).toBe(again)
  })

  it('refunds units to the day that was charged in its zone', () => {
    const quota = { limit: 5, grid: calendarGrid('day', 'America/New_York') }
    // 23:59 and 00:01
    const [evening, morning] = [Date.parse('2024-11-04T04:59:00Z'), Date.parse('2024-11-04T05:01:00Z')]
    const state = applyWrite(fixedWindow.step({}, quota, 2, evening).write!, {})
    expect(fixedWindow.refund(state, quota, 1, morning, morning)).toBeUndefined()
    expect(fixedWindow.refund(state, quota, 1, evening, morning)).toBeDefined()
  })

  it('keeps its state for the longest window', () => {
    for (const unit of CALENDAR_UNITS) {
      const grid = calendarGrid(unit, 'Antarctica/Casey')
      expect(fixedWindow.retentionMs({ limit: 1, grid })).toBe(grid.longestMs)
    }
    expect(CALENDAR_UNITS.map((unit) => calendarGrid(unit, 'UTC').longestMs / HOUR_MS)).toEqual([
      27,
      7 * 24 + 3,
      31 * 24 + 3,
      366 * 24 + 3,
    ])
  })
})

describe('valid values of the calendar fields', () => {
  it('are day, week, month and year', () => {
    expect(['day', 'week', 'month', 'year'].every(isCalendarUnit)).toBe(true)
    for (const word of ['Day', 'days', 'hour', '', 'constructor', '1d', 0, null, undefined, ['day']])
      expect(isCalendarUnit(word)).toBe(false)
  })

  it('are time zones when the runtime knows them', () => {
    for (const name of ['UTC', 'Europe/Berlin', 'america/new_york', 'EST5EDT', 'Etc/GMT+12'])
      expect(isTimezone(name)).toBe(true)
    for (const name of [
      '',
      ' ',
      'Berlin',
      'Europe/Nowhere',
      'europe',
      '__proto__',
      '../etc/passwd',
      'UTC\n',
      '日本',
      'x'.repeat(1_000_000),
    ]) {
      expect(isTimezone(name)).toBe(false)
    }
  })
})
