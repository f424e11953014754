import type { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import type { Connection } from '../../cli/tables/connection'
import { checkLeftBehind } from '../../cli/tables/left-behind'
import type { Limiter } from '../../cli/tables/limiters'

const table = (stack: string, random = 'ABC') => `${stack}-LimiterTablesConfig0A1B2C3D-${random}`
const limiter = (stack: string, config = table(stack)): Limiter => ({
  name: `${stack}/Limiter`,
  stack,
  tables: { config, state: `${stack}-state` },
})

/** A Region with these limiters and tables, a page for each; `undefined` limiters may not be listed. */
const region = (limiters: readonly Limiter[] | undefined, tables: readonly string[], found = limiters?.[0]) =>
  ({
    foundLimiter: async () => found,
    limitersOf: async () => {
      if (!limiters) throw new Error('not authorized to perform: cloudformation:DescribeStacks')
      return limiters
    },
    client: {
      send: async ({ input: { ExclusiveStartTableName: from } }: ListTablesCommand) => {
        const at = from === undefined ? 0 : tables.indexOf(from) + 1
        return { TableNames: tables.slice(at, at + 1), LastEvaluatedTableName: tables[at + 1] && tables[at] }
      },
    },
  }) as unknown as Connection

test('a config table that no limiter has is named, with the page on what to do', async () => {
  const [prod, moved] = [limiter('Prod'), limiter('Moved')]
  const tables = [
    table('Prod'),
    table('Moved'),
    table('Old'),
    'orders',
    'Prod-LimiterTablesState0A1B2C3D-X',
    table('Gone'),
  ]
  expect(await checkLeftBehind(region([prod, moved], tables))).toEqual([
    {
      name: 'other config tables',
      status: 'warning',
      found: `no stack has a limiter with ${table('Old')}, ${table('Gone')}`,
      remedy: expect.stringContaining('"Rename a limiter, or move it" in docs/deploy.md'),
    },
  ])
})

test('a table that was handed over belongs to the limiter that has it now', async () => {
  const heir = limiter('New', table('Old'))
  expect(await checkLeftBehind(region([heir], [table('Old'), 'orders']))).toEqual([
    { name: 'other config tables', status: 'ok', found: 'each belongs to a limiter' },
  ])
})

test('nothing is said where no limiter named the tables, or stacks may not be listed', async () => {
  expect(await checkLeftBehind(region([], [table('Old')]))).toEqual([])
  expect(await checkLeftBehind(region(undefined, [table('Old')], limiter('Prod')))).toEqual([
    { name: 'other config tables', status: 'skipped', found: expect.stringContaining('cloudformation:DescribeStacks') },
  ])
})
