import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { AwsCredentials, CredentialProvider } from '../aws/credentials'
import { type Endpoint, endpointOf } from '../aws/endpoint'
import { ConfigError, Mistake, printed } from '../errors'
import { Lazy } from '../lazy'
import type { DirectCallsOptions } from './direct-calls'
import type { ItemCalls } from './item-calls'
import { sdkCalls } from './sdk-calls'

/** How DynamoDB is called: directly, or by a client of the SDK. */
export interface ConnectionOptions {
  /** @default `AWS_REGION` */
  readonly region?: string | undefined
  /** A URL. @default `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL`, or the Region's own */
  readonly endpoint?: string | undefined
  /**
   * Credentials, or a provider of the SDK's shape, such as `fromNodeProviderChain()`.
   * @default the environment's, else the SDK's own chain where `@aws-sdk/credential-providers` is installed
   */
  readonly credentials?: AwsCredentials | CredentialProvider | undefined
  /**
   * A client of the SDK, by which all calls are made then: for its middleware, tracing and mocks. Give it
   * `maxAttempts: 1`: the limiter retries by itself, within its deadline and without counting twice.
   * @default none, since none is needed
   */
  readonly client?: Pick<DynamoDBClient, 'send'> | undefined
}

/**
 * @param issues what is wrong with other options.
 * @throws ConfigError that names each option that is missing or invalid.
 */
export function connect(
  { client, region, endpoint, credentials }: ConnectionOptions,
  issues: Mistake[] = [],
): ItemCalls {
  const direct = { region, endpoint, credentials }
  let at: Endpoint | undefined
  const check = (isRight: boolean, text: string) => {
    if (!isRight) issues.push(new Mistake('invalid_value', text))
  }
  if (client === undefined) {
    const isProvider = typeof credentials === 'function'
    check(
      credentials === undefined || isProvider || typeof Object(credentials).accessKeyId === 'string',
      `credentials must be a function or have an accessKeyId, got ${typeof credentials}`, // not which, for a log
    )
    try {
      at = endpointOf('dynamodb', direct)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      issues.push(...error.mistakes)
    }
  } else {
    check(typeof client?.send === 'function', `client must be a DynamoDBClient, got ${printed(client)}`)
    for (const [name, value] of Object.entries(direct))
      check(value === undefined, `${name} must be left out beside client, which has its own`)
  }
  if (issues.length > 0) throw new ConfigError(issues)
  return client ? sdkCalls(client) : directCalls({ credentials, at })
}

/**
 * Calls without the SDK's client, whose code is loaded as soon as they are made, so that no outage comes first. What
 * cannot be loaded is loaded again at the next call.
 */
function directCalls(options: DirectCallsOptions): ItemCalls {
  const calls = new Lazy(async () => new (await import('./direct-calls.ts')).DirectCalls(options))
  calls.preload()
  return { call: (...args) => calls.loaded?.call(...args) ?? calls.get().then((loaded) => loaded.call(...args)) }
}
