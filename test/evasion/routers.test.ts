import { ROUTERS } from './routers'
import { APIS, holdSpellings } from './spelling-law'

describe.each(APIS)('no spelling of a path is cheaper than the one that the backend serves, behind %s:', (api) => {
  it.each(Object.keys(ROUTERS))('%s', (router) => holdSpellings(api, router, 100))
})

it('and every router serves plain paths, or the law would say nothing', async () => {
  for (const [title, router] of Object.entries(ROUTERS)) {
    const serve = router([
      ['a', 'b'],
      ['a', '{}'],
      ['admin', '*'],
    ])
    const served = await Promise.all(['/a/b', '/a/7', '/admin/x/y', '/a', '/elsewhere'].map(serve))
    expect([title, ...served]).toEqual([title, 0, 1, 2, 'none', 'none'])
  }
})
