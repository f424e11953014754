import { Annotations } from 'aws-cdk-lib'
import type { CfnAuthorizer, CfnMethod } from 'aws-cdk-lib/aws-apigateway'

/**
 * Gives a method Sluice's authorizer. A method that already has an authorizer is kept and becomes an error, because its
 * check would be lost.
 */
export function bindMethod(method: CfnMethod, authorizer: CfnAuthorizer): void {
  const { authorizationType = 'NONE' } = method
  if (method.authorizerId === authorizer.ref) return
  if (authorizationType !== 'NONE') {
    Annotations.of(method).addError(
      `protect() found a method that already has authorization ${authorizationType}, and a method can have only one: ` +
        'name the other methods in `methods`, or let Sluice verify its tokens',
    )
    return
  }
  method.authorizationType = 'CUSTOM'
  method.authorizerId = authorizer.ref
}
