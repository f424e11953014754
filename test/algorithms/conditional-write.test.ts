import {
  type Assignment,
  absentOrAtMost,
  add,
  append,
  apply,
  atLeast,
  atMost,
  between,
  type Clause,
  exactly,
  type Fields,
  holds,
  listOf,
  numberOf,
  remove,
  replace,
  set,
  setIfAbsent,
  sizeAtMost,
  when,
} from '../../limiter/algorithms/conditional-write'

describe('a guard', () => {
  const cases: [about: string, clause: Clause, fields: Fields, held: boolean][] = [
    ['at least: just enough', atLeast('a', 5), { a: 5 }, true],
    ['at least: just too little', atLeast('a', 5), { a: 4 }, false],
    ['at least: absent', atLeast('a', -5), {}, false],
    ['at most: just little enough', atMost('a', 5), { a: 5 }, true],
    ['at most: just too much', atMost('a', 5), { a: 6 }, false],
    ['at most: absent', atMost('a', 5), {}, false],
    ['between: the lower bound', between('a', 5, 7), { a: 5 }, true],
    ['between: the upper bound', between('a', 5, 7), { a: 7 }, true],
    ['between: below', between('a', 5, 7), { a: 4 }, false],
    ['between: above', between('a', 5, 7), { a: 8 }, false],
    ['exactly: equal', exactly('a', 0), { a: 0 }, true],
    ['exactly: more', exactly('a', 0), { a: 1 }, false],
    ['exactly: less', exactly('a', 0), { a: -1 }, false],
    ['exactly: absent', exactly('a', 0), {}, false],
    ['absent or at most: absent', absentOrAtMost('a', 5), { b: 9 }, true],
    ['absent or at most: just little enough', absentOrAtMost('a', 5), { a: 5 }, true],
    ['absent or at most: just too much', absentOrAtMost('a', 5), { a: 6 }, false],
    ['a list is not a number', absentOrAtMost('a', 5), { a: [9] }, true],
    ['size at most: just short enough', sizeAtMost('l', 2), { l: [7, 8] }, true],
    ['size at most: just too long', sizeAtMost('l', 2), { l: [7, 8, 9] }, false],
    ['size at most: an absent list has size 0', sizeAtMost('l', 0), {}, true],
    ['any of: the first', { anyOf: [[exactly('a', 1)], [exactly('a', 2)]] }, { a: 1 }, true],
    ['any of: the second', { anyOf: [[exactly('a', 1)], [exactly('a', 2)]] }, { a: 2 }, true],
    ['any of: neither', { anyOf: [[exactly('a', 1)], [exactly('a', 2)]] }, { a: 3 }, false],
    ['any of: all of one alternative', { anyOf: [[exactly('a', 1), exactly('b', 1)]] }, { a: 1, b: 1 }, true],
    ['any of: a part of one alternative', { anyOf: [[exactly('a', 1), exactly('b', 1)]] }, { a: 1, b: 2 }, false],
    ['any of: nothing to choose from', { anyOf: [] }, {}, false],
  ]
  it.each(cases)('compares: %s', (_, clause, fields, held) => {
    expect(holds([clause], fields)).toBe(held)
  })

  it('holds if all of its clauses hold, so an empty guard always holds', () => {
    expect(holds([exactly('a', 1), exactly('b', 2)], { a: 1, b: 2 })).toBe(true)
    expect(holds([exactly('a', 1), exactly('b', 2)], { a: 1, b: 3 })).toBe(false)
    expect(holds([exactly('a', 1), exactly('b', 2)], { a: 0, b: 2 })).toBe(false)
    expect(holds([], {})).toBe(true)
  })
})

describe('a write', () => {
  const fields: Fields = Object.freeze({ a: 5, l: Object.freeze([1, 2]) })
  const written = (...assignments: Assignment[]) => apply(when([], ...assignments), fields)

  it('sets a field, whether it existed or not', () => {
    expect(written(set('a', 7), set('b', 8))).toEqual({ a: 7, b: 8, l: [1, 2] })
    expect(written(set('a', 0))).toEqual({ a: 0, l: [1, 2] })
  })

  it('with setIfAbsent sets a missing field and leaves an existing one', () => {
    expect(written(setIfAbsent('a', 7), setIfAbsent('b', 8))).toEqual({ a: 5, b: 8, l: [1, 2] })
    expect(apply(when([], setIfAbsent('a', 7)), { a: 0 })).toEqual({ a: 0 })
  })

  it('adds to a number, which starts at 0 if it is missing', () => {
    expect(written(add('a', 7), add('b', -8))).toEqual({ a: 12, b: -8, l: [1, 2] })
  })

  it('removes a field, also one that does not exist', () => {
    expect(Object.keys(written(remove('a'), remove('b')))).toEqual(['l'])
  })

  it('appends to a list, which starts empty if it is missing', () => {
    expect(written(append('l', [3, 4]), append('m', [5]))).toEqual({ a: 5, l: [1, 2, 3, 4], m: [5] })
  })

  it('replaces a list', () => {
    expect(written(replace('l', [3]), replace('m', []))).toEqual({ a: 5, l: [3], m: [] })
  })

  it('does not change the fields that it is given', () => {
    written(set('a', 7), append('l', [3]))
    expect(fields).toEqual({ a: 5, l: [1, 2] })
  })

  it('consists of its guard and its assignments', () => {
    expect(when([atMost('a', 5)], set('a', 7), add('b', 1))).toEqual({
      guard: [{ field: 'a', atMost: 5 }],
      assignments: [
        { field: 'a', set: 7 },
        { field: 'b', add: 1 },
      ],
    })
  })
})

describe('a field of the state', () => {
  it('is read as a number if it is one, else as the default', () => {
    expect(numberOf({ a: 5 }, 'a', 7)).toBe(5)
    expect(numberOf({ a: 0 }, 'a', 7)).toBe(0)
    expect(numberOf({ a: [5] }, 'a', 7)).toBe(7)
    expect(numberOf({}, 'a', 7)).toBe(7)
    expect(numberOf(undefined, 'a', 7)).toBe(7)
    expect(numberOf(undefined, 'a')).toBe(0)
  })

  it('is read as a list if it is one, else as an empty list', () => {
    expect(listOf({ l: [1, 2] }, 'l')).toEqual([1, 2])
    expect(listOf({ l: 5 }, 'l')).toEqual([])
    expect(listOf({}, 'l')).toEqual([])
    expect(listOf(undefined, 'l')).toEqual([])
  })
})
