import { CustomResource, Lazy, Stack } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { CfnPermission, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct, IConstruct } from 'constructs'
import { isResource } from '../protect/is-resource'
import { SERVICE_TIMEOUT, type SeedFunction } from './seed-function'

/** Whether a limiter may be deleted while it is in use. */
export interface DeletionGuardOptions {
  /**
   * Whether CloudFormation refuses to delete the stack while APIs that are not of this stack may call the limiter:
   * those of `sluice attach`, and those that another stack or somebody's hand has given a permission. Without the
   * limiter every request to them would fail. To delete it all the same, deploy `false` first.
   * @default true
   */
  readonly deletionProtection?: boolean
}

/**
 * Makes a resource that CloudFormation has to delete before anything of the limiter, and that refuses while APIs
 * outside this stack may call the limiter. It is there with `isOn: false`, too: a resource that is removed is deleted,
 * and would refuse.
 *
 * @param limiter what is deleted after it.
 */
export function guardDeletion(
  scope: Construct,
  seed: SeedFunction,
  handler: LambdaFunction,
  limiter: readonly IConstruct[],
  isOn: boolean,
): CustomResource {
  seed.handler.addToRolePolicy(
    new PolicyStatement({
      actions: ['lambda:GetPolicy'],
      resources: [handler.functionArn],
    }),
  )
  const guard = new CustomResource(scope, 'DeletionGuard', {
    resourceType: 'Custom::SluiceDeletionGuard',
    serviceToken: seed.handler.functionArn,
    serviceTimeout: SERVICE_TIMEOUT,
    properties: {
      Guard: {
        FunctionArn: handler.functionArn,
        Refuse: isOn ? 'true' : 'false',
        // What this stack itself permits ends with it.
        Own: Lazy.list({ produce: () => permissionsOf(handler) }, { omitEmpty: true }),
      },
    },
  })
  guard.node.addDependency(...limiter)
  return guard
}

/** Source ARNs of all permissions to call a function that its own stack makes, and the stacks nested in that. */
function permissionsOf(handler: LambdaFunction): string[] {
  const stack = Stack.of(handler)
  const textOf = (node: IConstruct, value: unknown) => JSON.stringify(Stack.of(node).resolve(value))
  const name = textOf(handler, handler.functionArn)
  return stack.node
    .findAll()
    .filter((node): node is CfnPermission => isResource(node, CfnPermission.CFN_RESOURCE_TYPE_NAME))
    .flatMap(({ functionName, sourceArn }) =>
      sourceArn !== undefined && textOf(handler, functionName) === name ? [sourceArn] : [],
    )
}
