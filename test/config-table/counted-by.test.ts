import { headersIn, possibleSubjects, toCountedBy } from '../../lambda/config-table/items/counted-by'

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
  ['claim:https://example.com/Org', ['claim:https://example.com/Org'], false],
])('by: %j', (words, who, perRoute) => expect(toCountedBy(words)).toEqual({ who, perRoute }))

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
  ] as const)('%j', (who, ways) => {
    expect(possibleSubjects(who, true)).toEqual(ways)
    expect(possibleSubjects(who, false)).toEqual(ways.slice(0, -1))
  })

  it('everybody together, and a route, are what they are', () => {
    expect(possibleSubjects(['global'], true)).toEqual([['global']])
    expect(possibleSubjects([], true)).toEqual([[]])
  })
})

test('the headers that are counted by', () =>
  expect(headersIn(['client', 'header:x-a', 'claim:b', 'header:x-c'])).toEqual(['x-a', 'x-c']))
