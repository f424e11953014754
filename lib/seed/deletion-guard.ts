import { CustomResource, Lazy, Stack } from 'aws-cdk-lib'
import { CfnRestApi, CfnAuthorizer as CfnRestAuthorizer } from 'aws-cdk-lib/aws-apigateway'
import { CfnApi, CfnAuthorizer as CfnHttpAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct, IConstruct } from 'constructs'
import { isResource } from '../protect/is-resource'
import { acknowledgeWildcards } from './acknowledge-wildcards'
import { SERVICE_TIMEOUT, type SeedFunction } from './seed-function'

/** Whether a limiter may be deleted while it is in use. */
export interface DeletionGuardOptions {
  /**
   * Whether CloudFormation refuses to delete the stack while APIs outside it call the limiter: those of `sluice
   * attach`, and those with a permission from another stack or made by hand, also for an alias or a version. With
   * `invokeRole` all authorizers of the account and Region are checked; without it, an API that calls by a role of its
   * own is not detected. It also refuses while the limiter is shared with other accounts, whose APIs are not visible
   * from this account. Without the limiter every request to these APIs would fail. To delete it all the same, deploy
   * `false` first.
   * @default true
   */
  readonly deletionGuard?: boolean | undefined
}

type Callable = readonly [IFunction, ...IFunction[]]

/** What a guard protects. */
interface GuardProps {
  /** The function, and its alias where it has one. */
  readonly handlers: Callable
  /** The resources that are deleted after the guard. */
  readonly limiter: readonly IConstruct[]
  /** Whether it refuses. */
  readonly isOn: boolean
  /** Other principals that may call it, whose APIs are not visible from this account; it grows until the synth. */
  readonly shared: readonly string[]
  /** Whether APIs call the function by a role, which its policies do not show. */
  readonly isByRole: boolean
}

/**
 * Makes a resource that CloudFormation has to delete before anything of the limiter, and that refuses while APIs
 * outside this stack call the limiter. It exists with `isOn: false`, too: removing the resource deletes it, and it
 * would refuse.
 */
export function guardDeletion(
  scope: Construct,
  seed: SeedFunction,
  { handlers, limiter, isOn, isByRole, shared }: GuardProps,
): CustomResource {
  const { functionArn } = handlers[0]
  grant(seed, ['lambda:GetPolicy', 'lambda:ListAliases', 'lambda:ListVersionsByFunction'], [functionArn])
  grant(seed, ['lambda:GetPolicy'], [`${functionArn}:*`]) // of aliases and versions
  if (isByRole) {
    const { partition, region } = Stack.of(scope)
    const lists = ['restapis', 'restapis/*/authorizers', 'apis', 'apis/*/authorizers']
    grant(
      seed,
      ['apigateway:GET'],
      lists.map((path) => `arn:${partition}:apigateway:${region}::/${path}`),
    )
  }
  const guard = new CustomResource(scope, 'DeletionGuard', {
    resourceType: 'Custom::SluiceDeletionGuard',
    serviceToken: seed.handler.functionArn,
    serviceTimeout: SERVICE_TIMEOUT,
    properties: {
      Guard: {
        FunctionArn: functionArn,
        Refuse: isOn ? 'true' : 'false',
        // The stack's own permissions end with it.
        Own: Lazy.list({ produce: () => permissionsOf(handlers) }, { omitEmpty: true }),
        SharedWith: Lazy.list({ produce: () => [...shared] }, { omitEmpty: true }),
        ...(isByRole && {
          ByRole: 'true',
          OwnCallers: Lazy.list({ produce: () => callersOf(handlers) }, { omitEmpty: true }),
        }),
      },
    },
  })
  guard.node.addDependency(...limiter)
  return guard
}

function grant(seed: SeedFunction, actions: string[], resources: string[]): void {
  seed.handler.addToRolePolicy(new PolicyStatement({ actions, resources }))
  acknowledgeWildcards(seed, resources, 'it is unknown which APIs call the limiter')
}

/**
 * Source ARNs of all permissions to call a function or its alias that its own stack makes, and the stacks nested in
 * that.
 */
function permissionsOf(handlers: Callable): string[] {
  const names = namesOf(handlers)
  return inStackOf<CfnPermission>(handlers[0], CfnPermission.CFN_RESOURCE_TYPE_NAME).flatMap((permission) =>
    permission.sourceArn !== undefined && names.includes(textOf(permission, permission.functionName))
      ? [permission.sourceArn]
      : [],
  )
}

/**
 * The authorizers of a function's stack that call it, `apiId/authorizerId`, and the ids of its APIs that are imported
 * from OpenAPI, which have authorizers of their own.
 */
function callersOf(handlers: Callable): string[] {
  const [handler] = handlers
  const names = namesOf(handlers)
  const authorizers = [CfnRestAuthorizer, CfnHttpAuthorizer].flatMap(({ CFN_RESOURCE_TYPE_NAME: type }) =>
    inStackOf<CfnRestAuthorizer | CfnHttpAuthorizer>(handler, type),
  )
  const apis = [CfnRestApi, CfnApi].flatMap(({ CFN_RESOURCE_TYPE_NAME: type }) =>
    inStackOf<CfnRestApi | CfnApi>(handler, type),
  )
  return [
    ...authorizers
      .filter((one) => names.some((name) => textOf(one, one.authorizerUri ?? '').includes(name)))
      .map((one) => `${'restApiId' in one ? one.restApiId : one.apiId}/${one.ref}`),
    ...apis.filter(({ body, bodyS3Location }) => body ?? bodyS3Location).map(({ ref }) => ref),
  ]
}

const namesOf = (handlers: Callable): string[] => handlers.map((one) => textOf(one, one.functionArn))

const inStackOf = <T extends IConstruct>(of: IConstruct, type: string): T[] =>
  Stack.of(of)
    .node.findAll()
    .filter((node): node is T => isResource(node, type))

const textOf = (node: IConstruct, value: unknown) => JSON.stringify(Stack.of(node).resolve(value))
