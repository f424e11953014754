import { isMissing, missingPackage } from '../aws/missing-package'

const NAME = '@aws-sdk/client-dynamodb'

type Sdk = typeof import('@aws-sdk/client-dynamodb')

/**
 * The SDK for DynamoDB, loaded when something of it is used first: a program that counts in memory does not have to
 * install it, nor one that passes no client.
 *
 * @throws ConfigError where it is not installed.
 */
export async function loadDynamoDbSdk(): Promise<Sdk> {
  try {
    // in full, so that a bundler finds it; within `try`, so that it is no mistake where it is not there
    return await import('@aws-sdk/client-dynamodb')
  } catch (error) {
    throw isMissing(error, NAME) ? missingPackage('what Sluice keeps in DynamoDB by a client needs', [NAME]) : error
  }
}
