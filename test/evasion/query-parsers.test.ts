import { runs } from '../runs'
import { cheaperThanRead, FRONTS, targets, unitsOf } from './query-law'
import { PARSERS } from './query-parsers'

describe('no spelling of a parameter is cheaper than the value that the backend reads:', () => {
  it.each(Object.keys(PARSERS))('%s', async (title) => {
    expect(await cheaperThanRead(PARSERS[title]!, targets(runs(300, 5000)))).toEqual([])
  })
})

it('and every parser reads plain parameters, or the law would say nothing', async () => {
  for (const [title, parser] of Object.entries(PARSERS)) {
    const [rows, size] = await parser(['/reports?rows=25', '/reports?page[size]=25'])
    expect([title, [rows?.rows].flat(2)[0], [size?.size].flat(2)[0]]).toEqual([title, '25', '25'])
  }
})

it.each(Object.keys(FRONTS))('a plain parameter costs its value, behind %s', (front) => {
  const units = (target: string) => unitsOf(FRONTS[front]!(target))
  expect(units('/reports')).toEqual({ rows: 10, size: 10 })
  expect(units('/reports?rows=25&page[size]=7&page[number]=900&q=a%20b')).toEqual({ rows: 25, size: 7 })
})
