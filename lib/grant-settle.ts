import { Stack, Token } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'

/** The environment variable with the state table of a backend. */
const VARIABLE = 'SLUICE_STATE_TABLE'

/** The table of each function that settles: its environment holds one. */
const tables = new WeakMap<LambdaFunction, ITableV2>()

/**
 * Lets a function change single items of the state table, and sets the table's name in its environment.
 *
 * @throws where the function is in another account or Region than the limiter, settles for another one, or has an
 * environment that cannot be set, such as an alias or a function that is imported.
 */
export function grantSettle(fn: LambdaFunction, stateTable: ITableV2, limiter: Stack): void {
  const own = Stack.of(fn)
  for (const place of ['account', 'region'] as const) {
    const [here, there] = [limiter[place], own[place]]
    if (!Token.isUnresolved(here) && !Token.isUnresolved(there) && here !== there)
      throw new Error(
        `grantSettle() needs a function in the limiter's ${place}, ${here}, got ${fn.node.path} in ${there}`,
      )
  }
  if (typeof fn.addEnvironment !== 'function')
    throw new Error(`grantSettle() needs a function whose environment can be set, got ${(fn as Construct).node.path}`)
  if ((tables.get(fn) ?? stateTable) !== stateTable)
    throw new Error(`grantSettle() needs a function that settles for no other limiter, got ${fn.node.path}`)
  tables.set(fn, stateTable)
  fn.addEnvironment(VARIABLE, stateTable.tableName)
  stateTable.grant(fn, 'dynamodb:UpdateItem')
  stateTable.encryptionKey?.grantEncryptDecrypt(fn)
}
