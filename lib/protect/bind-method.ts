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
      `protect() found a method that is authorized already, by ${authorizationType}, and a method has one authorizer only: ` +
        'leave it out by naming the others in `methods`, or let Sluice verify its tokens',
    )
    return
  }
  method.authorizationType = 'CUSTOM'
  method.authorizerId = authorizer.ref
}
