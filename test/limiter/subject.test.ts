import { isCharged } from '../../limiter/algorithms/algorithm'
import type { CompiledPolicy } from '../../limiter/compiled-policy'
import { PendingCharges } from '../../limiter/consistency/counts'
import type { LeaseState } from '../../limiter/consistency/lease'
import { LeaseSize } from '../../limiter/consistency/lease-size'
import { NO_ITEM } from '../../limiter/stores/store'
import { type SubjectRecord, Subjects } from '../../limiter/subject'
import { othersWrote } from '../../limiter/view'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const subjects = (max = 3) => new Subjects(max, () => MIDNIGHT)

describe('what was seen of a subject', () => {
  it('keeps whether other instances write it, until that is changed', () => {
    const known = subjects()
    known.learn('a', NO_ITEM, 1)
    known.view('a')!.shared = true
    known.learn('a', NO_ITEM, 2)
    expect(known.view('a')).toMatchObject({ seenAt: 2, shared: true })
  })

  it('is not shared before another writer was seen', () => {
    const known = subjects()
    known.learn('a', NO_ITEM, 1)
    expect(known.view('a')).toMatchObject({ shared: false, contention: undefined })
  })

  it('keeps how hard others compete for it, for two minutes', () => {
    const known = subjects()
    const [policy] = compiled({ name: 'own', limit: 20, window: '1s' }) as [CompiledPolicy]
    const contention = { level: 2, policy, units: 1, deniedAt: 1, relief: 15, from: 3, firstMs: 20, waitMs: 0 }
    known.learn('a', NO_ITEM, 1)
    known.view('a')!.contention = contention
    known.learn('a', NO_ITEM, 120_001)
    expect(known.view('a')).toMatchObject({ seenAt: 120_001, contention })
    known.learn('a', NO_ITEM, 240_002)
    expect(known.view('a')).toMatchObject({ contention: undefined })
  })

  it('is forgotten on demand', async () => {
    const known = subjects()
    known.learn('a', NO_ITEM, 1)
    await known.forget('a')
    await known.forget('never seen')
    expect(known.get('a')).toBeUndefined()
  })

  it('tells another writer by its mark', () => {
    const mine = { ...NO_ITEM, marks: { r1: 5 } }
    expect(othersWrote(mine, mine)).toBe(false)
    expect(othersWrote(mine, { ...NO_ITEM, marks: { r1: 5, r2: 1 } })).toBe(true)
    expect(othersWrote(mine, { ...NO_ITEM, marks: { r1: 6 } })).toBe(true)
    expect(othersWrote(mine, NO_ITEM)).toBe(true)
    const two = { ...NO_ITEM, marks: { r1: 5, r2: 1 } }
    expect([othersWrote(two, { ...NO_ITEM, marks: { r1: 5, r2: 2 } }), othersWrote(two, { ...two })]).toEqual([
      true,
      false,
    ])
  })
})

describe('a flood of new subjects', () => {
  const policies = compiled({ name: 'all', limit: 100, window: '1m' })

  function lease(left: number, expiresAt = MIDNIGHT + 1000): LeaseState {
    const verdicts = policies.map(({ counter }) => counter.step({}, 1, MIDNIGHT).verdict)
    expect(verdicts.every(isCharged)).toBe(true)
    const times = { takenAt: MIDNIGHT, chargedAt: MIDNIGHT, usedAt: MIDNIGHT, expiresAt }
    return {
      key: 'a',
      poolName: 'p1aa',
      size: new LeaseSize(60_000),
      pools: { count: 1, stamp: 0 },
      failedWrites: 0,
      throttled: {},
      place: 0,
      awaited: 0,
      lease: { left, units: 10, ...times, policies, verdicts },
    }
  }

  function eventual(units: number, flush = jest.fn()): NonNullable<SubjectRecord['eventual']> {
    const pending = new PendingCharges(() => new Promise(() => {}))
    if (units > 0) pending.add(policies[0]!, units, MIDNIGHT)
    return { key: 'a', entries: new Map(), pending, triedAt: MIDNIGHT, failures: 0, flush, onEvicted: () => {} }
  }

  /** Whether a subject is still known after so many others. */
  function survives(record: SubjectRecord, others = 5): boolean {
    const known = subjects()
    Object.assign(known.of('a'), record)
    for (let i = 0; i < others; i++) known.learn(`other ${i}`, NO_ITEM, MIDNIGHT)
    expect(known.size).toBeLessThanOrEqual(4)
    return known.get('a') !== undefined
  }

  it('evicts the subject that was used longest ago', () => {
    const known = subjects()
    for (const key of ['a', 'b', 'c']) known.learn(key, NO_ITEM, 1)
    known.get('a')
    known.learn('d', NO_ITEM, 2)
    expect(['a', 'b', 'c', 'd'].filter((key) => known.get(key))).toEqual(['a', 'c', 'd'])
    expect(known.size).toBe(3)
  })

  it.each<[string, SubjectRecord, boolean]>([
    ['nothing but a view', {}, false],
    ['a lease that can be spent', { leases: new Map([['terms', lease(1)]]) }, true],
    ['a lease that is spent', { leases: new Map([['terms', lease(0)]]) }, false],
    ['a lease that is over', { leases: new Map([['terms', lease(1, MIDNIGHT)]]) }, false],
    ['units that were counted and not sent', { eventual: eventual(1) }, true],
    ['units that were counted and sent', { eventual: eventual(0) }, false],
    ['requests that wait', { line: [] }, true],
  ])('of a subject with %s: %j', (_, record, isKept) => {
    expect(survives(record)).toBe(isKept)
  })

  it('has units sent that were counted and not sent', () => {
    const flush = jest.fn()
    survives({ eventual: eventual(1, flush) })
    expect(flush).toHaveBeenCalled()
  })

  it('tells what was admitted without the store when its subject goes', () => {
    const onEvicted = jest.fn()
    const { pending } = eventual(0)
    const outage = { counts: new Map(), pending, admittedAt: MIDNIGHT, flushedAt: MIDNIGHT, onEvicted }
    expect(survives({ outage })).toBe(false)
    expect(onEvicted.mock.calls).toEqual([[outage]])
  })

  it('looks at 16 subjects at most for each new one, whatever it finds', () => {
    const known = subjects(17)
    for (let i = 0; i < 16; i++) known.of(`waiting ${i}`).line = []
    known.of('idle')
    known.of('new')
    expect(known.size).toBe(18)
    expect(known.get('idle')).toBeDefined()
  })

  it('of subjects that are all needed keeps twice as many at most', () => {
    const known = subjects()
    for (let i = 0; i < 20; i++) known.of(`${i}`).leases = new Map([['terms', lease(1)]])
    expect(known.size).toBe(6)
    for (let i = 0; i < 20; i++) known.of(`waiting ${i}`).line = []
    expect(known.size).toBe(20) // each of which is a request
  })
})
