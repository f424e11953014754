import { LambdaClient } from '@aws-sdk/client-lambda'
import { failureOf } from '../exit'
import { type Check, notChecked } from '../tables/check'
import type { Connection } from '../tables/connection'
import { Calls } from './calls'
import { FunctionPolicy } from './function'

/** A first connection takes longer than any call after it. */
const TIMEOUTS = { connectionTimeout: 5000, requestTimeout: 15_000, throwOnRequestTimeout: true }

/**
 * Checks that the authorizer's function exists. No result where the limiter was not found by its stack, since nothing
 * names its function then.
 *
 * @param tell gets a sentence when somebody has to wait.
 */
export async function checkFunction(connection: Connection, tell: (text: string) => void): Promise<Check[]> {
  const name = 'function'
  const { functionArn } = (await connection.foundLimiter()) ?? {}
  if (functionArn === undefined) return []
  const { region, credentials } = connection.client.config
  const { endpoint } = connection
  const lambda = new LambdaClient({ region, credentials, endpoint, requestHandler: TIMEOUTS })
  try {
    if (!(await new FunctionPolicy(lambda, new Calls(tell), functionArn).isGone()))
      return [{ name, status: 'ok', found: `${functionArn} exists` }]
    return [
      {
        name,
        status: 'FAILED',
        found: `${functionArn} was deleted: every request to the APIs that it protects fails`,
        remedy: 'sluice status lists the APIs that are attached; restore each with sluice detach ID',
      },
    ]
  } catch (error) {
    return notChecked([name], failureOf(error).message)
  } finally {
    lambda.destroy()
  }
}
