import { changesInWords, conditionsInWords, meaningOf } from '../../local/console/item-text'
import { Record } from '../../local/console/record'
import { headerText } from '../../pages/console/header-text'

describe('what the console says', () => {
  it('explains a denial’s headers, each in a sentence', () => {
    expect(headerText('Retry-After', '36', 429)).toBe('Do not try again before 36 s have passed.')
    expect(headerText('RateLimit', '"per-minute";r=0;t=36', 429)).toBe(
      'Policy per-minute: 0 units left; the request would pass in 36 s.',
    )
    expect(headerText('RateLimit-Policy', '"a";q=20;w=60, "b";q=3', 200)).toBe(
      'Policy a: 20 units in any 1 min. Policy b: 3 units at a time.',
    )
    expect(headerText('Content-Type', 'application/json', 200)).toBeUndefined()
  })

  it('says a condition and a change in words, also those of policies that it does not know', () => {
    const values = { ':0': '7', ':1': '9', ':2': '29922491', ':3': '1' }
    expect(conditionsInWords('NOT r2 BETWEEN :0 AND :1 AND NOT X1w>:2', values, new Map())).toEqual([
      'this write was not applied before (its mark r2 is absent)',
      'X1w (idempotency mark) is at most 29922491, or not there',
    ])
    expect(conditionsInWords('(NOT L5AZa1>:0 AND NOT L5AZa2>:1 OR L5AZa2<=:3)', values, new Map())).toEqual([
      'L5AZa1 is at most 7, or not there, and L5AZa2 is at most 9, or not there; or L5AZa2 is at most 1',
    ])
    expect(changesInWords('SET r2=:0 ADD L5AZa1 :3 REMOVE L5AZa0', values, new Map())).toEqual([
      'set r2 (idempotency mark) to 7',
      'add 1 to L5AZa1',
      'remove L5AZa0, which no decision reads any more',
    ])
    expect(meaningOf('L5AZa1', new Map())).toContain('not in force any more')
  })

  it('counts what was decided, forgets marks after two minutes, and tells new ones once', () => {
    let now = 0
    const record = new Record(() => now)
    const decided = (status: number, context: { [key: string]: unknown }) =>
      record.decided({ method: 'GET', path: '/', status, context } as never)
    decided(200, { allowed: true })
    decided(429, { allowed: false })
    decided(200, { allowed: true, degraded: true })
    expect(record.counts).toMatchObject({ requests: 3, allowed: 2, denied: 1, degraded: 1, allowedWatched: 0 })
    expect(record.takeNew()).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ])
    expect(record.takeNew()).toEqual([])
    now = 126_000
    expect(record.dots).toEqual([])
    expect(record.counts.requests).toBe(3)
  })
})
