import type { Counting } from '../../limiter/policies/policy'
import { observing } from '../../limiter/policies/variants'
import { issuesIn, parsed, policy } from './issues'

const HERE = '(policy "per-minute")'
const QUEUE = { algorithm: 'leaky-bucket', mode: 'queue' }
const METERED = { algorithm: 'fixed-window', overage: 'allow' }
const DELAY = { action: 'delay' }
const only = (field: string, action = 'deny') =>
  `${field} does not go with action "${action}", which never delays a request`

describe('the fields for requests over the limit', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ action: 'drop' }, 'action must be one of deny, delay, deprioritize, observe, got "drop"'],
    [{ ...DELAY, delayIn: 'gateway' }, 'delayIn must be "authorizer" or "backend", got "gateway"'],
    [{ overrun: 10 }, 'overrun must be a whole percentage from "1%" to "1000%", got 10'],
    [{ overrun: '0%' }, 'overrun must be a whole percentage from "1%" to "1000%", got "0%"'],
    [{ overrun: '1001%' }, 'overrun must be a whole percentage from "1%" to "1000%", got "1001%"'],
    [{ overrun: '2.5%' }, 'overrun must be a whole percentage from "1%" to "1000%", got "2.5%"'],
    [{ ...METERED, action: 'observe' }, 'action "observe" does not go with overage "allow"'],
    [{ ...METERED, overrun: '10%' }, 'overrun does not go with overage "allow"'],
    [{ ...QUEUE, overrun: '10%' }, 'overrun does not go with mode "queue"'],
    [{ ...QUEUE, ...DELAY }, 'action "delay" does not go with mode "queue"'],
    [{ ...QUEUE, action: 'deprioritize' }, 'action "deprioritize" does not go with mode "queue"'],
    [{ ...DELAY, algorithm: 'sliding-log', countDenied: true }, 'countDenied does not go with action "delay"'],
    [
      { consistency: 'eventual', action: 'observe' },
      'consistency "eventual" does not go with action "observe", take "leased"',
    ],
    [
      { ...DELAY, consistency: 'leased' },
      `consistency must be "strict" where each unit is charged by itself: a leaky-bucket in mode "queue", a sliding-log with countDenied, overage "allow", blockFor, action "delay" or concurrency, got "leased"`,
    ],
    [{ ...METERED, blockFor: '1m' }, 'blockFor does not go with overage "allow"'],
    [{ action: 'observe', blockFor: '1m' }, 'blockFor does not go with action "observe"'],
    [{ action: 'deprioritize', blockFor: '1m' }, 'blockFor does not go with action "deprioritize"'],
    [{ algorithm: 'sliding-log', countDenied: true, blockFor: '1m' }, 'blockFor does not go with countDenied'],
    [{ after: 3 }, 'after needs blockFor'],
    [{ extend: false }, 'extend needs blockFor'],
    [{ maxDelay: '1s' }, only('maxDelay')],
    [{ maxDelay: '1s', algorithm: 'leaky-bucket' }, only('maxDelay')],
    [{ maxDelay: '1s', action: 'observe' }, only('maxDelay', 'observe')],
    [{ delayIn: 'backend' }, only('delayIn')],
    [{ ...QUEUE, action: 'observe', delayIn: 'backend' }, only('delayIn', 'observe')],
    [{ ...DELAY, maxDelay: '5001ms' }, 'maxDelay must be at most "5s" where the authorizer waits, got "5001ms"'],
    [
      { ...DELAY, maxDelay: '26s', delayIn: 'backend' },
      'maxDelay must be at most "25s" where the backend waits, got "26s"',
    ],
    [
      { ...QUEUE, maxDelay: '6s', delayIn: 'authorizer' },
      'maxDelay must be at most "5s" where the authorizer waits, got "6s"',
    ],
    [{ ...QUEUE, delayIn: 'authorizer' }, 'maxDelay must be at most "5s" where the authorizer waits, got undefined'],
    [
      { algorithm: 'sliding-log', limit: 10_000, overrun: '1%' },
      'with its overrun limit must be at most 10000 for a sliding-log, which stores every unit, got 10100',
    ],
    [
      { limit: 999_999_999_999_999, overrun: '1%' },
      'limit must be at most 999999999999999 with its overrun, got 1009999999999998',
    ],
    [
      { algorithm: 'gcra', limit: 60, burst: 4_503_599_627, overrun: '1%' },
      'with its overrun burst must be at most 4503599627 at this pace, which takes 142 years to refill, got 4503599628',
    ],
  ])('reject %j', (fields, sentence) => {
    expect(issuesIn([policy(fields)])).toEqual([`${sentence} ${HERE}`])
  })

  it.each<Record<string, unknown>>([
    { action: 'deny' },
    { ...DELAY, maxDelay: '5s' },
    { ...DELAY, maxDelay: '25s', delayIn: 'backend' },
    { ...DELAY, algorithm: 'leaky-bucket', maxDelay: '2s' },
    { ...DELAY, overrun: '10%' },
    { ...QUEUE, maxDelay: '10m' },
    { ...QUEUE, maxDelay: '5s', delayIn: 'authorizer' },
    { ...QUEUE, maxDelay: '5s', action: 'observe' },
    { ...METERED, action: 'deny' },
    { algorithm: 'sliding-log', countDenied: true, action: 'observe', overrun: '1000%' },
    { blockFor: '15m' },
    { blockFor: '3660d', after: 1000, extend: true, overrun: '10%' },
    { ...DELAY, blockFor: '1s' },
    { ...QUEUE, blockFor: '1s' },
    { algorithm: 'sliding-log', countDenied: false, blockFor: '250ms' },
  ])('accept %j', (fields) => {
    expect(issuesIn([policy(fields)])).toEqual([])
  })

  it.each<[Record<string, unknown>, { nonBlocking: boolean; waits: boolean }]>([
    [{}, { nonBlocking: false, waits: false }],
    [QUEUE, { nonBlocking: false, waits: false }],
    [
      { ...QUEUE, maxDelay: '1s', delayIn: 'authorizer' },
      { nonBlocking: false, waits: true },
    ],
    [DELAY, { nonBlocking: false, waits: true }],
    [
      { ...DELAY, delayIn: 'backend' },
      { nonBlocking: false, waits: false },
    ],
    [{ action: 'observe' }, { nonBlocking: true, waits: false }],
    [{ action: 'deprioritize' }, { nonBlocking: true, waits: false }],
  ])('of %j decide whether the policy is non-blocking and whether the authorizer waits', (fields, wanted) => {
    expect(parsed(policy(fields))).toMatchObject(wanted)
  })

  const verdict = ({ counter }: Counting, cost: number) => counter.step({}, cost, 60_000).verdict

  it.each<[Record<string, unknown>, number]>([
    [{ limit: 60, overrun: '10%' }, 66],
    [{ limit: 5, overrun: '10%' }, 6],
    [{ limit: 19, overrun: '10%' }, 20],
    [{ limit: 60, overrun: '1000%' }, 660],
    [{ algorithm: 'gcra', limit: 60, overrun: '10%' }, 66],
    [{ algorithm: 'gcra', limit: 60, burst: 20, overrun: '50%' }, 50],
    [{ algorithm: 'token-bucket', refill: 'interval', limit: 60, burst: 20, overrun: '10%' }, 26],
  ])('of %j admit that many units at once', (fields, most) => {
    const own = parsed(policy(fields))
    expect(verdict(own, most)).toMatchObject({ allowed: true, exceeded: 'overrun', remaining: 0 })
    expect(verdict(own, most + 1).allowed).toBe(false)
    expect(own.limit).toBe(fields.limit)
  })

  it('have a maxDelay of one second by default', () => {
    const own = parsed(policy({ algorithm: 'fixed-window', limit: 1, ...DELAY }))
    const full = { w: 1, '01': 1 }
    const at = (now: number) => own.counter.step(full, 1, now).verdict
    expect([at(119_000), at(118_999)]).toMatchObject([
      { allowed: true, delayMs: 1000 },
      { allowed: false, retryAfterMs: 1 },
    ])
  })

  it.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{ limit: 1 }, { allowed: true, exceeded: 'observe' }],
    [
      { limit: 1, ...DELAY, delayIn: 'backend' },
      { allowed: true, exceeded: 'observe', delayMs: 0 },
    ],
    [
      { limit: 1, action: 'deprioritize' },
      { allowed: true, exceeded: 'observe' },
    ],
    [
      { limit: 1, overrun: '100%' },
      { allowed: true, exceeded: 'overrun' },
    ],
    [
      { ...QUEUE, limit: 1 },
      { allowed: true, exceeded: 'observe', delayMs: 0 },
    ],
  ])('of %j are replaced by observing while the service observes, with the same state', (fields, wanted) => {
    const own = parsed(policy(fields))
    const watching = observing(own)
    expect(watching).toMatchObject({
      name: own.name,
      stateSchema: own.stateSchema,
      limit: own.limit,
      nonBlocking: true,
      waits: false,
    })
    expect(verdict(watching, 2)).toMatchObject(wanted)
  })
})
