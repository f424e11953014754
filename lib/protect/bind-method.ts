import { Annotations } from 'aws-cdk-lib'
import type { CfnAuthorizer, CfnMethod } from 'aws-cdk-lib/aws-apigateway'

/**
 * Makes API Gateway ask the authorizer about a method. One that is authorized already stays as it is and becomes an
 * error, since its check would be lost.
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
