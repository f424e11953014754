import { isMissing, missingPackage } from '../aws/missing-package'

const SDK = '@aws-sdk/client-dynamodb'

type Sdk = typeof import('@aws-sdk/client-dynamodb')

/**
 * The SDK for DynamoDB, loaded when something of it is used first. In the published packages, every import of it is
 * this: a program that counts in memory does not have to install it, nor does a function that settles nothing.
 *
 * @throws ConfigError, from whatever uses it, where it is not installed.
 */
export const dynamoDbSdk = onUse(() => {
  try {
    // in full, so that a bundler finds it; within `try`, so that it is no mistake where it is not there
    return require('@aws-sdk/client-dynamodb') as Sdk
  } catch (error) {
    throw isMissing(error, SDK) ? missingPackage('what Sluice keeps in DynamoDB needs', [SDK]) : error
  }
})

/** An object that is asked for only when one of its properties is. */
function onUse<Module extends object>(load: () => Module): Module {
  let loaded: Module | undefined
  return new Proxy({} as Module, {
    get(_, property) {
      loaded ??= load()
      return Reflect.get(loaded, property)
    },
  })
}
