import fc from 'fast-check'
import { MAX_DURATION_MS, parseDuration } from '../../limiter/policies/duration'

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

describe('a duration', () => {
  it.each([
    ['1ms', 1],
    ['250ms', 250],
    ['30s', 30_000],
    ['1m', 60_000],
    ['90m', 5_400_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    ['007s', 7000],
    ['3660d', MAX_DURATION_MS],
    ['316224000000ms', MAX_DURATION_MS],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    '0s',
    '0ms',
    '3661d',
    '316224000001ms',
    '999999999999999d',
    '9999999999999999ms',
    '1',
    's',
    '',
    ' 1s',
    '1s ',
    '1 s',
    '1S',
    '1M',
    '-1s',
    '+1s',
    '1.5s',
    '1e3s',
    '0x1s',
    '1s1s',
    '1m30s',
    '1s\n',
    '١s',
    '1w',
    '1y',
    '1month',
    'day',
    'Infinity',
    '1constructor',
    '1__proto__',
    60,
    60_000n,
    true,
    null,
    undefined,
    ['1s'],
    { toString: () => '1s' },
    Symbol('1s'),
  ])('does not include %p', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })

  it('is its number times its unit, for every number that fits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 999_999_999_999_999 }),
        fc.constantFrom(...(Object.keys(UNITS) as (keyof typeof UNITS)[])),
        (count, unit) => {
          const ms = count * UNITS[unit]
          expect(parseDuration(`${count}${unit}`)).toBe(ms <= MAX_DURATION_MS ? ms : undefined)
        },
      ),
    )
  })

  it('is not found in other texts, and the longest text is parsed at once', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (!/^\d+(ms|s|m|h|d)$/.test(text)) expect(parseDuration(text)).toBeUndefined()
      }),
    )
    expect(parseDuration(`${'1'.repeat(1_000_000)}s`)).toBeUndefined()
    expect(parseDuration('s'.repeat(1_000_000))).toBeUndefined()
  })
})
