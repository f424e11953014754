import { toContext } from '../../lambda/responses/context'
import { EVENTS } from '../../lambda/telemetry/events'
import type { Origin, TelemetryOptions } from '../../lambda/telemetry/telemetry'
import type { Decision } from '../../limiter/decision'
import { StoreUnavailableError } from '../../limiter/errors'
import { ALLOWED, DENIED, decisionOf, IMPOSSIBLE, NOW, standing } from '../responses/decisions'
import { brokenRules, sums } from './embedded-metrics'
import { watched, watchedGateway } from './watched'

const ORIGIN: Origin = {
  subject: 'client#hash',
  method: 'GET',
  route: 'GET /search',
  caller: () => ({ caller: 'client:acme', ip: '203.0.113.7' }),
}

function telling(options: Partial<TelemetryOptions> = {}) {
  const { clock, lines, telemetry, entries } = watched(options)
  const answered = (
    decision: Decision | undefined,
    more: { reason?: 'blocked' | 'unauthorized' | 'exempt'; subject?: string } = {},
  ) => {
    const { reason, subject = ORIGIN.subject } = more
    const told = toContext({ decision, reason, tier: decision && 'free', now: NOW })
    telemetry.answered(told, decision, { ...ORIGIN, subject }, clock.now)
  }
  return { clock, lines, entries, telemetry, answered }
}

const exceeding = (exceeded: 'observe' | 'overrun' | 'deprioritize') =>
  decisionOf('per-minute', {
    'per-minute': standing(),
    'per-day': { ...standing({ limit: 10_000, remaining: 0, resetAfterMs: 5000 }), exceeded },
    'per-month': { ...standing({ remaining: 0 }), exceeded },
  })

describe('a denial', () => {
  it('is logged with caller, policy and time to retry', () => {
    const { answered, entries } = telling()
    answered(DENIED)
    expect(entries()).toEqual([
      {
        level: 'info',
        event: 'request_denied',
        message: EVENTS.request_denied,
        reason: 'over-limit',
        tier: 'free',
        policy: 'per-minute',
        subject: 'client#hash',
        limit: 60,
        retryAfter: 13,
        method: 'GET',
        route: 'GET /search',
        denials: 1,
        leftOut: 0,
      },
    ])
  })

  it('is logged once until the whole quota is available again, and then with how many were left out', () => {
    const { clock, answered, entries } = telling()
    for (let i = 0; i < 100; i++) answered(DENIED)
    clock.now += DENIED.resetAfterMs - 1 // just too early
    answered(DENIED)
    expect(entries()).toHaveLength(1)
    clock.now += 1 // just in time
    answered(DENIED)
    expect(entries().map(({ leftOut }) => leftOut)).toEqual([0, 100])
    expect(entries().map(({ denials }) => denials)).toEqual([1, 101]) // together every denial there was
  })

  it('of a request that can never pass is logged once a second at most', () => {
    const { clock, answered, entries } = telling()
    for (let i = 0; i < 10; i++) {
      answered(IMPOSSIBLE)
      clock.now += 100
    }
    expect(entries()).toHaveLength(1)
    answered(IMPOSSIBLE)
    expect(entries()).toHaveLength(2)
  })

  it('is logged for each caller, policy and reason', () => {
    const { answered, entries } = telling()
    answered(DENIED, { subject: 'a' })
    answered(DENIED, { subject: 'b' })
    answered(decisionOf('per-day', { 'per-day': standing({ allowed: false }) }), { subject: 'a' })
    answered(undefined, { reason: 'blocked', subject: 'a' })
    answered(undefined, { reason: 'unauthorized', subject: 'a' })
    answered(undefined, { subject: '' })
    expect(entries().map(({ reason, subject }) => `${reason} ${subject}`)).toEqual([
      'over-limit a',
      'over-limit b',
      'over-limit a',
      'blocked a',
      'unauthorized a',
      'malformed ',
    ])
  })

  it('without a policy is logged once a minute', () => {
    const { clock, answered, entries } = telling()
    answered(undefined, { reason: 'blocked' })
    clock.now += 59_999
    answered(undefined, { reason: 'blocked' })
    clock.now += 1
    answered(undefined, { reason: 'blocked' })
    expect(entries().map(({ leftOut }) => leftOut)).toEqual([0, 1])
  })

  it('is logged for ten callers a second, and the next line says how many were left out', () => {
    const { clock, answered, entries } = telling()
    for (let i = 0; i < 500; i++) answered(DENIED, { subject: `caller ${i}` })
    expect(entries()).toHaveLength(10)
    clock.now += 1000
    answered(DENIED, { subject: 'caller 499' })
    expect(entries().at(-1)).toMatchObject({ subject: 'caller 499', leftOut: 0, othersLeftOut: 490 })
  })
})

describe('a request that passes over its limit', () => {
  it.each([
    ['observe', 'Observed', 'request_observed'],
    ['overrun', 'Overrun', 'request_overrun'],
    ['deprioritize', 'Deprioritized', 'request_deprioritized'],
  ] as const)(
    'by %s is counted as %s once, and logged under the first policy that says so',
    (exceeded, metric, event) => {
      const { clock, answered, entries, lines } = telling({ flushMs: 0 })
      answered(exceeding(exceeded))
      answered(exceeding(exceeded))
      expect(entries()).toMatchObject([{ event, reason: 'ok', policy: 'per-day', limit: 10_000, leftOut: 0 }])
      expect(entries()[0]).not.toHaveProperty('retryAfter')
      expect(sums(lines)).toEqual({
        Allowed: 2,
        'Allowed free per-minute': 2,
        [metric]: 2,
        [`${metric} free per-day`]: 2,
      })
      clock.now += 5000
      answered(exceeding(exceeded))
      expect(entries()[1]).toMatchObject({ event, leftOut: 1 })
    },
  )

  it('is a denial where another policy denies it', () => {
    const { answered, entries, lines } = telling({ flushMs: 0 })
    const observed = { ...standing(), exceeded: 'observe' as const }
    answered(decisionOf('per-minute', { 'per-day': observed, 'per-minute': standing({ allowed: false }) }))
    expect(entries().map(({ event }) => event)).toEqual(['request_denied'])
    expect(sums(lines)).toEqual({ Denied: 1, 'Denied free per-minute': 1 })
  })
})

describe('a caller who is locked out', () => {
  const LOCKED: Decision = { ...DENIED, lockedOut: true }

  it('is counted among the denials and by itself, and logged also after other denials', () => {
    const { answered, entries, lines } = telling({ flushMs: 0 })
    answered(DENIED)
    answered(LOCKED)
    answered(LOCKED)
    expect(entries().map(({ event, lockedOut }) => [event, lockedOut])).toEqual([
      ['request_denied', undefined],
      ['request_denied', true],
    ])
    expect(sums(lines)).toMatchObject({ Denied: 3, LockedOut: 2, 'LockedOut free per-minute': 2 })
  })
})

describe('a metric', () => {
  it('counts every answer, as allowed or as denied', () => {
    const { answered, lines } = telling({ flushMs: 0 })
    answered(ALLOWED)
    answered(DENIED)
    answered({ ...DENIED, degraded: true })
    answered({ ...ALLOWED, degraded: true })
    answered(undefined, { reason: 'blocked' })
    answered(undefined, { reason: 'exempt' })
    expect(sums(lines)).toEqual({
      Allowed: 3,
      'Allowed free per-minute': 2,
      Denied: 3,
      'Denied free per-minute': 2,
      Degraded: 2,
      'Degraded free per-minute': 2,
    })
    expect(lines.flatMap(brokenRules)).toEqual([])
  })

  it('counts what the limiter reports', () => {
    const { telemetry, answered, lines, entries } = telling({ flushMs: 0 })
    telemetry.onEvent({ kind: 'store-call', ms: 2.34 })
    telemetry.onEvent({ kind: 'store-call', ms: 300, failure: 'timeout' })
    telemetry.onEvent({ kind: 'conflict' })
    telemetry.onEvent({ kind: 'lease', units: 100 })
    telemetry.onEvent({ kind: 'lease', units: 50 })
    telemetry.onEvent({ kind: 'hot-key' })
    telemetry.onEvent({ kind: 'circuit', state: 'open' })
    telemetry.onEvent({ kind: 'circuit', state: 'closed' })
    answered(undefined, { reason: 'exempt' })
    expect(sums(lines)).toEqual({
      StoreLatency: 302.3,
      StoreFailures: 1,
      Conflicts: 1,
      LeaseGrants: 2,
      HotKeys: 1,
      CircuitOpened: 1,
      Allowed: 1,
    })
    expect(entries()).toMatchObject([
      { level: 'warn', event: 'circuit_opened' },
      { level: 'info', event: 'circuit_closed' },
    ])
  })

  it('counts a mistake in the configuration, in the line that reports it, whatever the log level', () => {
    const { telemetry, lines } = telling({ level: 'error', namespace: 'Shop' })
    telemetry.log('warn', 'config_item_invalid', { item: 'tier#free' }, 'ConfigErrors')
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'warn',
      event: 'config_item_invalid',
      item: 'tier#free',
      ConfigErrors: 1,
    })
    expect(JSON.parse(lines[0]!)._aws.CloudWatchMetrics[0].Namespace).toBe('Shop')
    expect(sums(lines)).toEqual({ ConfigErrors: 1 })
    expect(brokenRules(lines[0]!)).toEqual([])
  })
})

describe('the level', () => {
  it.each([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
  ] as const)('%s leaves out what is below it', (level, written) => {
    const { telemetry, entries } = telling({ level })
    for (const each of ['debug', 'info', 'warn', 'error'] as const) telemetry.log(each, 'clock_skewed')
    expect(entries().map((entry) => entry.level)).toEqual(written)
  })

  it('debug logs a line for every answer', () => {
    const { answered, entries } = telling({ level: 'debug' })
    answered(ALLOWED)
    answered(DENIED)
    answered(DENIED)
    expect(entries().map(({ level, event, allowed }) => [level, event, allowed])).toEqual([
      ['debug', 'request_answered', true],
      ['info', 'request_denied', undefined],
      ['debug', 'request_answered', false],
      ['debug', 'request_answered', false],
    ])
    expect(entries()[0]).toMatchObject({
      reason: 'ok',
      tier: 'free',
      policy: 'per-minute',
      limit: 60,
      remaining: 59,
      subject: 'client#hash',
    })
  })

  it('debug leaves no answer out, however many there are', () => {
    const { answered, entries } = telling({ level: 'debug' })
    for (let i = 0; i < 500; i++) answered(ALLOWED)
    expect(entries()).toHaveLength(500)
  })

  it('warn logs no denials, which are counted all the same', () => {
    const { answered, entries, lines } = telling({ level: 'warn' })
    answered(DENIED)
    expect(entries()).toEqual([])
    expect(sums(lines)).toMatchObject({ Denied: 1 })
  })
})

describe('callers', () => {
  it('are named by a hash', () => {
    const { answered, lines } = telling({ level: 'debug' })
    answered(DENIED)
    expect(lines.join()).not.toMatch(/acme|203\.0\.113/)
  })

  it('are named with id and address where so configured', () => {
    const { answered, entries } = telling({ callers: 'clear' })
    answered(DENIED)
    expect(entries()).toMatchObject([{ subject: 'client#hash', caller: 'client:acme', ip: '203.0.113.7' }])
  })
})

describe('an entry that a client can cause', () => {
  it('is written three times a minute, however many requests there are, and then with how many were left out', () => {
    const { clock, telemetry, entries } = watched()
    for (let i = 0; i < 500; i++) telemetry.log('warn', 'decision_without_store', { tier: 'free' })
    expect(entries()).toHaveLength(3)
    clock.now += 60_000
    telemetry.log('warn', 'decision_without_store', { tier: 'free' })
    expect(entries().at(-1)).toMatchObject({ tier: 'free', leftOut: 497 })
  })

  it('does not suppress a different entry, nor is it suppressed by one that is counted', () => {
    const { telemetry, entries } = watched()
    for (let i = 0; i < 10; i++) telemetry.log('error', 'upstream_unavailable', { error: 'one' })
    telemetry.log('error', 'upstream_unavailable', { error: 'two' })
    expect(entries().at(-1)).toMatchObject({ error: 'two' })
    for (let i = 0; i < 10; i++) telemetry.log('error', 'config_items_conflict', {}, 'ConfigErrors')
    expect(entries().filter(({ event }) => event === 'config_items_conflict')).toHaveLength(10)
  })

  it('is sampled where a client asks for an invalid item, and the metric counts what the log leaves out', () => {
    const { telemetry, lines, entries, answered } = telling()
    for (let i = 0; i < 10; i++) telemetry.log('error', 'client_invalid', { item: 'client#1' }, 'ConfigErrors')
    expect(entries()).toHaveLength(3)
    answered(ALLOWED)
    expect(sums(lines)).toMatchObject({ ConfigErrors: 10 })
  })

  it('is written a bounded number of times where every entry differs', () => {
    const { telemetry, entries } = watched()
    for (let i = 0; i < 500; i++) telemetry.log('error', 'client_unreadable', { error: `made up ${i}` })
    expect(entries()).toHaveLength(10)
  })

  it.each([
    ['the state table is away', { store: { read: away, write: away, delete: away } }],
    [
      'the upstream authorizer fails',
      { upstream: { check: async () => ({ kind: 'unavailable' as const, cause: new Error('away') }) } },
    ],
  ])('is written a few times for 500 requests when %s', async (_, parts) => {
    const { gateway, entries } = watchedGateway({}, parts as never)
    for (let i = 0; i < 500; i++) await gateway.rest().catch(() => {}) // what cannot be verified is an error
    expect(entries().length).toBeGreaterThan(0)
    expect(entries().length).toBeLessThanOrEqual(12)
  })
})

async function away(): Promise<never> {
  throw new StoreUnavailableError('timeout', 'away')
}
