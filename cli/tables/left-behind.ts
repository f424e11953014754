import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { pages } from '../../provisioning/pages'
import { failureOf } from '../exit'
import { type Check, notChecked } from './check'
import type { Connection } from './connection'

/** A config table as CloudFormation names it for a limiter, unless the app did. */
const CONFIG_TABLE = /TablesConfig[\dA-F]{8}-/

/**
 * Checks that no config table of the Region is without a limiter: one that moved to another stack left its clients
 * behind. Nothing is checked where the tables were not found by a limiter's outputs.
 */
export async function checkLeftBehind(
  connection: Pick<Connection, 'client' | 'foundLimiter' | 'limitersOf'>,
): Promise<Check[]> {
  const name = 'other config tables'
  if ((await connection.foundLimiter()) === undefined) return []
  try {
    const known = new Set((await connection.limitersOf()).map(({ tables }) => tables?.config))
    const tables = await pages(async (ExclusiveStartTableName) => {
      const { TableNames = [], LastEvaluatedTableName } = await connection.client.send(
        new ListTablesCommand({ ExclusiveStartTableName }),
      )
      return { items: TableNames, next: LastEvaluatedTableName }
    })
    const left = tables.filter((table) => CONFIG_TABLE.test(table) && !known.has(table))
    if (left.length === 0) return [{ name, status: 'ok', found: 'each belongs to a limiter' }]
    const remedy =
      'a limiter that moved or was renamed can have its clients again, see "Rename a limiter, or move it" in docs/deploy.md; else delete the table'
    return [{ name, status: 'warning', found: `no stack has a limiter with ${left.join(', ')}`, remedy }]
  } catch (error) {
    return notChecked([name], failureOf(error).message)
  }
}
