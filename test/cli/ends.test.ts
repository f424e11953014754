import { endOf } from '../../cli/ends'

const SATURDAY = Date.parse('2026-11-21T12:00:00Z')

describe('an end given as text', () => {
  it.each([
    ['2026-11-27T09:00:00+02:00', 'UTC', '2026-11-27T07:00:00Z'],
    ['36h', 'UTC', '2026-11-23T00:00:00Z'],
    ['2026-11-27', 'UTC', '2026-11-28T00:00:00Z'],
    ['2028-02-29', 'UTC', '2028-03-01T00:00:00Z'],
    ['2026-11-27', 'America/New_York', '2026-11-28T05:00:00Z'],
    ['2026-11-21', 'UTC', '2026-11-22T00:00:00Z'], // today, to its end
    ['sunday', 'UTC', '2026-11-23T00:00:00Z'],
    ['Friday', 'UTC', '2026-11-28T00:00:00Z'],
    ['saturday', 'UTC', '2026-11-29T00:00:00Z'], // not the one that it is
    ['saturday', 'Pacific/Kiritimati', '2026-11-28T10:00:00Z'], // where it is Sunday already
    ['2027-03-28', 'Europe/Berlin', '2027-03-28T22:00:00Z'], // a day of 23 hours
  ])('%s in %s is at %s', (text, timezone, at) => expect(endOf(text, '--until', timezone, SATURDAY)).toBe(at))

  it.each([
    ['fri', 'UTC', /^--until must be a time .*, got "fri"$/],
    ['2026-02-30T00:00', 'UTC', /^--until must be a time/],
    ['2027-02-30', 'UTC', /^--until must be a time .*, got "2027-02-30"$/],
    ['2027-04-31T12:00:00+02:00', 'UTC', /^--until must be a time/],
    ['friday', 'Berlin', /^--timezone must be an IANA time zone such as "Europe\/Berlin", got "Berlin"$/],
    ['2026-11-21T12:00:00Z', 'UTC', /^--until "2026-11-21T12:00:00Z" is in the past/],
  ])('%s in %s is rejected', (text, timezone, sentence) =>
    expect(() => endOf(text, '--until', timezone, SATURDAY)).toThrow(sentence),
  )

  it.each(['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'])(
    '%s is within the next seven days, from any',
    (day) => {
      for (let i = 0; i < 14; i++) {
        const now = SATURDAY + i * 86_400_000
        const last = new Date(Date.parse(endOf(day, '--until', 'UTC', now)) - 1)
        expect(last.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' }).toLowerCase()).toBe(day)
        expect(last.getTime() - now).toBeLessThan(8 * 86_400_000)
        expect(last.getTime() - now).toBeGreaterThan(86_400_000 / 2)
      }
    },
  )
})
