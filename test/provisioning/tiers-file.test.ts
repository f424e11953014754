import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { rulesOf } from '../../lambda/rules'
import { diff, fileOf, itemsOf } from '../../provisioning/tiers-file'

describe('the repository’s own tiers.yaml', () => {
  const file: unknown = parse(readFileSync(path.join(__dirname, '../../tiers.yaml'), 'utf8'))
  const set = parseTiersFile(file, 'tiers.yaml')

  it('has the tiers, their limits and whom they count', () => {
    const told = [...set.tiers.values()].map(({ name, policies }) => [
      name,
      policies.map((one) => `${one.name} ${one.limit} by ${one.by.who}`),
    ])
    expect(Object.fromEntries(told)).toEqual({
      anonymous: ['per-minute 20 by ip'],
      free: ['per-minute 60 by client', 'per-hour 1000 by client', 'per-day 10000 by client'],
      pro: ['per-minute 600 by client', 'per-hour 10000 by client', 'per-day 100000 by client'],
      enterprise: ['per-minute 6000 by client', 'per-hour 100000 by client', 'per-day 1000000 by client'],
    })
  })

  it('lets a batch cost five, and holds searches to ten a second for each client', () => {
    expect(rulesOf(set, 'POST', '/batch')).toMatchObject({ costs: [{ cost: 5 }], routes: [{ policies: [] }] })
    expect(rulesOf(set, 'GET', '/batch').routes).toEqual([])
    const [search] = rulesOf(set, 'GET', '/search').routes[0]!.policies
    expect(search).toMatchObject({ name: 'search', limit: 10, windowMs: 1000, by: { who: ['client'], perRoute: true } })
    expect(search!.stateSchema).toBe('gcra 1000')
  })

  it('stores a tier’s failure mode under the name that the release before knows, and exports it under the present one', () => {
    const stored = { pk: 'policy-set', sk: 'tier#free', onStoreError: 'deny', policies: [] }
    for (const name of ['failureMode', 'onStoreError'])
      expect(itemsOf({ tiers: { free: { [name]: 'deny', policies: [] } } })).toEqual([stored])
    expect(fileOf([stored])).toEqual({ tiers: { free: { failureMode: 'deny', policies: [] } } })
    const byHand = { pk: 'policy-set', sk: 'tier#free', failureMode: 'deny', policies: [] }
    expect([diff([byHand], [stored]), fileOf([byHand])]).toEqual([[], fileOf([stored])])
  })
})
