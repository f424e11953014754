import fc from 'fast-check'
import { type MetricsOptions, makeMetrics } from '../../lambda/telemetry/metrics'
import { FakeClock } from '../config-table/fake-table'
import { brokenRules, extracted, sums } from './embedded-metrics'

function watched(options: Partial<MetricsOptions> = {}) {
  const clock = new FakeClock()
  const lines: string[] = []
  return { clock, lines, metrics: makeMetrics({ write: (line) => lines.push(line), clock: clock.read, ...options }) }
}

const timesOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line)._aws.Timestamp)

describe('metrics', () => {
  it('are written by the first request of an instance, and then when ten seconds have passed', () => {
    const { clock, lines, metrics } = watched()
    const request = () => {
      metrics.count('Allowed')
      metrics.flush()
      return lines.length
    }
    expect(request()).toBe(1)
    clock.now += 9999 // just too early
    expect(request()).toBe(1)
    clock.now += 1 // just in time
    expect(request()).toBe(2)
    expect(sums(lines)).toEqual({ Allowed: 3 })
  })

  it('are written with every request where so configured', () => {
    const { lines, metrics } = watched({ flushMs: 0 })
    for (let i = 1; i <= 5; i++) {
      metrics.count('Allowed')
      metrics.count('Conflicts')
      metrics.flush()
      expect(lines).toHaveLength(i)
    }
    expect(sums(lines)).toEqual({ Allowed: 5, Conflicts: 5 })
  })

  it('are not written when nothing was counted', () => {
    const { clock, lines, metrics } = watched()
    for (let i = 0; i < 5; i++) {
      metrics.flush()
      clock.now += 20_000
    }
    expect(lines).toEqual([])
  })

  it('have the Embedded Metric Format', () => {
    const { lines, metrics } = watched({ namespace: 'Shop' })
    metrics.count('Denied', 'free', 'per-minute')
    metrics.flush()
    expect(JSON.parse(lines[0]!)).toEqual({
      _aws: {
        Timestamp: 1_700_000_000_000,
        CloudWatchMetrics: [
          { Namespace: 'Shop', Dimensions: [[], ['tier', 'policy']], Metrics: [{ Name: 'Denied', Unit: 'Count' }] },
        ],
      },
      tier: 'free',
      policy: 'per-minute',
      Denied: 1,
    })
  })

  it('are counted for a tier and policy and in total, or in total only where one of them is missing', () => {
    const { lines, metrics } = watched()
    metrics.count('Denied', 'free', 'per-minute')
    metrics.count('Denied', 'free', 'per-minute')
    metrics.count('Denied', 'free', 'per-day')
    metrics.count('Denied', 'free', '')
    metrics.count('Denied')
    metrics.flush()
    expect(sums(lines)).toEqual({ Denied: 5, 'Denied free per-minute': 2, 'Denied free per-day': 1 })
  })

  it('have the time at which they were counted, however long the instance was frozen after it', () => {
    const { clock, lines, metrics } = watched()
    metrics.flush()
    const burst = clock.now
    for (let i = 0; i < 3; i++) metrics.count('Denied')
    metrics.flush()
    clock.now += 3_600_000
    const [before, after] = [burst, clock.now]
    metrics.count('Allowed')
    metrics.flush()
    expect(timesOf(lines)).toEqual([before, after])
    expect(sums(lines)).toEqual({ Denied: 3, Allowed: 1 })
  })

  it('are written after the clock was set back, too', () => {
    const { clock, lines, metrics } = watched()
    metrics.count('Allowed')
    metrics.flush()
    clock.now -= 3_600_000
    metrics.count('Allowed')
    metrics.flush()
    expect(sums(lines)).toEqual({ Allowed: 2 })
  })

  it('have each latency of a store call, at most a hundred in a line', () => {
    const { lines, metrics } = watched()
    for (let i = 0; i < 1000; i++) metrics.called(i + 0.26)
    metrics.flush()
    expect(lines).toHaveLength(10)
    expect(extracted(lines).get('StoreLatency')).toEqual(Array.from({ length: 1000 }, (_, i) => i + 0.3))
    expect(lines.flatMap(brokenRules)).toEqual([])
  })

  it('have a fair sample of more latencies than fit', () => {
    const { lines, metrics } = watched()
    for (let i = 0; i < 50_000; i++) metrics.called(i < 25_000 ? 1 : 2)
    metrics.flush()
    const values = extracted(lines).get('StoreLatency')!
    expect(values).toHaveLength(1000)
    const early = values.filter((ms) => ms === 1).length
    expect(early).toBeGreaterThan(400) // 500 on average; beyond 400 to 600 once in ten thousand million runs
    expect(early).toBeLessThan(600)
  })

  it('say why calls to the store failed, and count them as calls', () => {
    const { lines, metrics } = watched()
    metrics.called(3)
    metrics.called(300, 'timeout')
    metrics.called(300, 'timeout')
    metrics.called(2, 'throttled')
    metrics.flush()
    expect(sums(lines)).toEqual({ StoreLatency: 605, StoreFailures: 3 })
    expect(lines.map((line) => JSON.parse(line).failures).filter(Boolean)).toEqual([{ timeout: 2, throttled: 1 }])
  })

  it('are counted for at most a hundred pairs of tier and policy in the life of an instance; the others are in the totals', () => {
    const { clock, lines, metrics } = watched()
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 5000; i++) metrics.count('Denied', `tier-${i + round * 5000}`, 'per-minute')
      clock.now += 10_000
      metrics.flush()
    }
    const { Denied, ...apart } = sums(lines)
    expect(Denied).toBe(15_000)
    expect(Object.keys(apart)).toHaveLength(100)
    expect(lines.flatMap(brokenRules)).toEqual([])
  })

  it('are counted for each API where so configured, and once in total', () => {
    const { lines, metrics } = watched({ byApi: true })
    metrics.count('Denied', 'free', 'per-minute', 'shop')
    metrics.count('Denied', 'free', 'per-minute', 'cart')
    metrics.count('Allowed', undefined, undefined, 'shop')
    metrics.count('Conflicts')
    metrics.flush()
    const found = lines.map((line) => JSON.parse(line))
    expect(lines.flatMap((line) => brokenRules(line))).toEqual([])
    const ofApis = found.filter(({ Api }) => Api)
    expect(
      ofApis.map(({ Api, Denied, Allowed, _aws }) => [Api, Denied, Allowed, _aws.CloudWatchMetrics[0].Dimensions]),
    ).toEqual([
      ['shop', 1, 1, [['Api']]],
      ['cart', 1, undefined, [['Api']]],
    ])
    expect(
      found.filter(({ Api }) => !Api).map(({ Denied, Allowed, Conflicts }) => [Denied, Allowed, Conflicts]),
    ).toEqual([
      [undefined, 1, 1],
      [2, undefined, undefined],
    ])
  })

  it('are not counted by API by default, and for at most a hundred APIs where so configured', () => {
    const [plain, byApi] = [watched(), watched({ byApi: true })]
    for (const { metrics } of [plain, byApi]) {
      for (let i = 0; i < 150; i++) metrics.count('Allowed', undefined, undefined, `api-${i}`)
      metrics.flush()
    }
    expect(plain.lines).toHaveLength(1)
    expect(byApi.lines).toHaveLength(101)
    expect(JSON.parse(byApi.lines[0]!).Allowed).toBe(150)
  })

  it('are neither lost nor counted twice, whenever they are written', () => {
    const step = fc.oneof(
      fc.record({
        name: fc.constantFrom('Allowed', 'Denied', 'Degraded', 'Conflicts'),
        tier: fc.constantFrom('free', 'pro', undefined),
        policy: fc.constantFrom('per-minute', 'per-day', ''),
      }),
      fc.record({ flush: fc.integer({ min: -5000, max: 30_000 }) }),
      fc.record({
        ms: fc.double({ min: 0, max: 2000, noNaN: true }),
        failure: fc.constantFrom(undefined, 'timeout', 'throttled'),
      }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.constantFrom(0, 1000, 10_000), (steps, flushMs) => {
        const { clock, lines, metrics } = watched({ flushMs })
        const due: Record<string, number> = {}
        const add = (series: string) => {
          due[series] = (due[series] ?? 0) + 1
        }
        for (const taken of steps) {
          if ('flush' in taken) {
            clock.now += taken.flush
            metrics.flush()
          } else if ('ms' in taken) {
            metrics.called(taken.ms, taken.failure as never)
            add('calls')
            if (taken.failure) add('StoreFailures')
          } else {
            metrics.count(taken.name as never, taken.tier, taken.policy)
            add(taken.name)
            if (taken.tier && taken.policy) add(`${taken.name} ${taken.tier} ${taken.policy}`)
          }
        }
        clock.now += 100_000
        metrics.flush()
        const { StoreLatency: _, ...counted } = sums(lines)
        const calls = extracted(lines).get('StoreLatency')?.length
        expect({ ...counted, ...(calls !== undefined && { calls }) }).toEqual(due)
        expect(lines.flatMap(brokenRules)).toEqual([])
      }),
    )
  })
})
