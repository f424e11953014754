import { Annotations, type CfnResource, Lazy, Stack, Token } from 'aws-cdk-lib'
import { CfnDeployment } from 'aws-cdk-lib/aws-apigateway'
import { CfnDeployment as CfnHttpDeployment, CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Construct, IConstruct } from 'constructs'
import { isResource } from './is-resource'
import { shortHash } from './short-hash'

export const isDeployment = (node: unknown): node is CfnResource =>
  isResource(node, CfnDeployment.CFN_RESOURCE_TYPE_NAME) || isResource(node, CfnHttpDeployment.CFN_RESOURCE_TYPE_NAME)

/**
 * The deployments of an API that the app makes. A deployment is a copy of the API: CloudFormation makes another one
 * only for another logical id, and makes it before the methods unless it depends on them.
 */
export class Deployments {
  readonly found: CfnResource[] = []
  private readonly before: IConstruct[]

  /**
   * @param before what must exist when the API goes live.
   * @param contents changes with everything that needs a new deployment; resolved at synth.
   */
  constructor(
    before: readonly IConstruct[],
    private readonly contents: () => unknown,
  ) {
    this.before = [...before]
  }

  /** Makes a deployment wait for all of it, and be replaced when it changes. */
  add(deployment: CfnResource): void {
    this.found.push(deployment)
    deployment.node.addDependency(...this.before)
    const contents = Lazy.any({ produce: this.contents })
    const own = [deployment, deployment.node.scope].find((one) => isExtensible(one)) as Extensible | undefined
    if (own) own.addToLogicalId({ sluice: contents })
    else rename(deployment, contents)
  }

  /** Makes all deployments wait for this, too. */
  waitFor(resource: IConstruct): void {
    this.before.push(resource)
    for (const deployment of this.found) deployment.node.addDependency(resource)
  }
}

interface Extensible {
  addToLogicalId(data: unknown): void
}

/** The logical id of the CDK's own deployment can be extended. */
const isExtensible = (construct: unknown): boolean =>
  typeof (construct as Partial<Extensible> | undefined)?.addToLogicalId === 'function'

/** A hand-made resource has the id that it was given: a hash of what changes is appended. */
function rename(deployment: CfnResource, contents: unknown): void {
  const stack = Stack.of(deployment)
  const given = stack.resolve(deployment.logicalId) as string
  try {
    deployment.overrideLogicalId(
      Token.asString(Lazy.uncachedString({ produce: () => `${given}${shortHash(stack.resolve(contents))}` })),
    )
  } catch {
    Annotations.of(deployment).addWarningV2(
      'sluice:deployment-id',
      'the logical id of this deployment is exported, so a changed protection does not deploy the API again: give it another id',
    )
  }
}

const WARNING = 'sluice:deployment'

/** Warns if the app has no deployment of a REST API: its protection is not live until there is one. */
export function warnOfNoDeployment(scope: Construct, api: IConstruct, { found }: Deployments): void {
  if (found.length > 0) return
  Annotations.of(scope).addWarningV2(
    WARNING,
    `no deployment of ${api.node.path} is in this app: its methods are not limited until the API is deployed again by other means`,
  )
}

/** The stages of an HTTP or WebSocket API, and whether they deploy changes automatically. */
export class StageWatch {
  private readonly stages: CfnStage[] = []

  visit(resource: CfnResource): void {
    if (isResource(resource, CfnStage.CFN_RESOURCE_TYPE_NAME)) this.stages.push(resource as CfnStage)
  }

  /** Warns if a stage does not deploy automatically, and the app has no deployment of the API. */
  warn(scope: Construct, api: IConstruct, { found }: Deployments): string[] {
    const manual = this.stages.filter(({ autoDeploy }) => autoDeploy !== true).map(({ node }) => node.path)
    if (found.length === 0 && manual.length > 0)
      Annotations.of(scope).addWarningV2(
        WARNING,
        `no deployment of ${api.node.path} is in this app, and a stage does not deploy by itself (${manual.join(', ')}): ` +
          'its routes are not limited there until the API is deployed again; set autoDeploy, or deploy it by other means',
      )
    return []
  }
}
