import * as v from 'valibot'
import {
  BY_FIELD,
  headersIn,
  isOfEverybody,
  possibleSubjects,
  toCountedBy,
} from '../../lambda/config-table/items/counted-by'

test.each([
  ['client', ['client'], false],
  ['user', ['user'], false],
  ['global', ['global'], false],
  ['route', [], true],
  [['global', 'route'], ['global'], true],
  [['client', 'route'], ['client'], true],
  [['route', 'ip'], ['ip'], true],
  [['user', 'header:X-Device'], ['header:x-device', 'user'], false],
  [['header:X-Device', 'user'], ['header:x-device', 'user'], false],
  [['global', 'route'], ['global'], true],
  [['stage', 'api', 'ip', 'user', 'route'], ['api', 'ip', 'stage', 'user'], true],
  ['claim:https://example.com/Org', ['claim:https://example.com/Org'], false],
])('by: %j', (words, who, perRoute) => expect(toCountedBy(words)).toEqual({ who, perRoute }))

test.each([
  [undefined],
  [null],
  [7],
  [''],
  ['clients'],
  ['header:'],
  ['header:a b'],
  ['claim:'],
  ['claim:a b'],
  [[]],
  [[7]],
  [['client', undefined]],
  [['client', 'client']],
  [['header:A', 'header:a']],
  [['route', 'route']],
  [['global', 'client']],
  [['global', 'api']],
  [['client', 'user', 'ip', 'api', 'stage', 'route']],
])('by: %j counts nobody', (words) => {
  expect(toCountedBy(words)).toBeUndefined()
  expect(v.is(BY_FIELD.schema, words)).toBe(false)
})

test('everybody is counted together by places and by nothing, and by nothing that says who calls', () => {
  for (const who of [[], ['global'], ['api'], ['stage'], ['api', 'stage']] as const)
    expect(isOfEverybody({ who })).toBe(true)
  for (const who of [['client'], ['api', 'ip'], ['header:x'], ['claim:x'], ['user']] as const)
    expect(isOfEverybody({ who })).toBe(false)
})

describe('what dimensions can come down to', () => {
  it.each([
    [['client'], [['client'], ['client'], ['client'], ['ip']]],
    [['user'], [['user'], ['client'], ['client'], ['ip']]],
    [
      ['client', 'user'],
      [['client', 'user'], ['client'], ['client'], ['ip']],
    ],
    [
      ['header:a', 'ip'],
      [['header:a', 'ip'], ['header:a', 'ip'], ['ip'], ['ip']],
    ],
    [
      ['claim:org', 'user'],
      [['claim:org', 'user'], ['claim:org', 'client'], ['client', 'ip'], ['ip']],
    ],
    [
      ['api', 'client', 'stage'],
      [
        ['api', 'client', 'stage'],
        ['api', 'client', 'stage'],
        ['api', 'client', 'stage'],
        ['api', 'ip', 'stage'],
      ],
    ],
  ] as const)('%j', (who, ways) => {
    expect(possibleSubjects(who, true)).toEqual(ways)
    expect(possibleSubjects(who, false)).toEqual(ways.slice(0, -1))
  })

  it('everybody together, and a route, are what they are', () => {
    expect(possibleSubjects(['global'], true)).toEqual([['global']])
    expect(possibleSubjects([], true)).toEqual([[]])
    expect(possibleSubjects(['api', 'stage'], true)).toEqual([['api', 'stage']])
  })
})

test('the headers that are counted by', () =>
  expect(headersIn(['client', 'header:x-a', 'claim:b', 'header:x-c'])).toEqual(['x-a', 'x-c']))
