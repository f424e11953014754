import { BoundedMap } from '../../limiter/bounded-map'

describe('a bounded map', () => {
  it('holds as many entries as it may, and then drops the one that was set longest ago', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2)
    expect([...map]).toEqual([
      ['a', 1],
      ['b', 2],
    ])
    map.set('c', 3)
    expect([...map.keys()]).toEqual(['b', 'c'])
  })

  it('keeps an entry that is set again, as the newest', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
    expect([...map]).toEqual([
      ['a', 3],
      ['c', 4],
    ])
  })
})
