import { NO_ITEM } from '../../limiter/stores/store'
import { othersWrote, SubjectCache } from '../../limiter/subject-cache'

describe('the cache of views', () => {
  it('is bounded: the subject that was used longest ago is evicted', () => {
    const known = new SubjectCache(3)
    for (const key of ['a', 'b', 'c']) known.learn(key, NO_ITEM, 1)
    known.get('a')
    known.learn('d', NO_ITEM, 2)
    expect(['a', 'b', 'c', 'd'].filter((key) => known.get(key))).toEqual(['a', 'c', 'd'])
    expect(known.size).toBe(3)
  })

  it('keeps whether other instances write a subject, until that is changed', () => {
    const known = new SubjectCache(3)
    known.learn('a', NO_ITEM, 1, true)
    known.learn('a', NO_ITEM, 2)
    expect(known.get('a')).toMatchObject({ seenAt: 2, shared: true })
    known.learn('a', NO_ITEM, 3, false)
    expect(known.get('a')).toMatchObject({ shared: false })
  })

  it('regards a subject as not shared before another writer was seen', () => {
    const known = new SubjectCache(3)
    known.learn('a', NO_ITEM, 1)
    expect(known.get('a')).toMatchObject({ shared: false, consecutiveConflicts: 0 })
  })

  it('counts consecutive conflicts, whatever views are stored meanwhile', () => {
    const known = new SubjectCache(3)
    known.recordConflict('a', true)
    expect(known.get('a')).toBeUndefined()
    known.learn('a', NO_ITEM, 1)
    const lost = (others: boolean) => {
      known.recordConflict('a', others)
      return known.get('a')!.consecutiveConflicts
    }
    expect([lost(false), lost(true), lost(true)]).toEqual([0, 1, 2])
    known.learn('a', NO_ITEM, 2)
    expect([known.get('a')!.consecutiveConflicts, known.get('a')!.seenAt, lost(true), lost(false), lost(true)]).toEqual(
      [2, 2, 3, 0, 1],
    )
  })

  it('forgets a subject on demand', () => {
    const known = new SubjectCache(3)
    known.learn('a', NO_ITEM, 1)
    known.forget('a')
    expect(known.get('a')).toBeUndefined()
  })

  it('recognizes another writer by its mark', () => {
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
