import { Annotations, type CfnResource, Lazy, Stack } from 'aws-cdk-lib'
import type { CfnAuthorizer as CfnRestAuthorizer } from 'aws-cdk-lib/aws-apigateway'
import type { CfnAuthorizer as CfnHttpAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Construct, IConstruct } from 'constructs'
import { Deployments, isDeployment } from './deployments'
import { type AnyRoute, isRoute, routeName } from './route-name'
import {
  alreadyAuthorized,
  LEAVE_OR_VERIFY,
  type OnlyRoutes,
  Selection,
  type SelectionOptions,
  type Skipped,
} from './selection'
import { watchApi } from './watch-api'

/** The routes to be bound to an authorizer. */
export interface BindingProps {
  readonly api: IConstruct
  /** The id as in the API's resources. */
  readonly apiId: string
  readonly authorizer: CfnRestAuthorizer | CfnHttpAuthorizer
  /** What the API calls its routes or methods. */
  readonly noun: 'method' | 'route'
  readonly only: OnlyRoutes
  readonly selection: SelectionOptions
  /** Which of them can have the authorizer at all. @default all */
  readonly isCandidate?: (name: string) => boolean
  /** What must exist before the first request reaches the limiter. */
  readonly before: readonly IConstruct[]
  /** What needs a new deployment when it changes, beside the routes. */
  readonly contents: readonly unknown[]
  /** How the authorizer calls the function: deployments contain a copy of that, too. */
  readonly called: readonly string[]
  /** Whether deployments of other stacks belong to the API, too: not if only its id is known. */
  readonly isOfThisApp: boolean
}

/**
 * Gives the methods or routes of one API the authorizer as they are found, later ones included, and makes the API's
 * deployments depend on them.
 */
export class Binding {
  readonly selection: Selection
  readonly deployments: Deployments
  /** The routes that have the authorizer, by name. */
  readonly bound = new Map<AnyRoute, string>()
  readonly skipped: Skipped[] = []
  /** Routes that another stack adds to the API. */
  readonly elsewhere = new Map<AnyRoute, string>()
  /** Routes with another authorizer, each already reported as an error. */
  readonly refused = new Set<AnyRoute>()
  private readonly seen = new Set<IConstruct>()

  /** @param onResource sees the API's other resources. */
  constructor(
    readonly scope: Construct,
    readonly props: BindingProps,
    private readonly onResource: (resource: CfnResource) => void = () => {},
  ) {
    const { api, apiId, only, selection, authorizer, before, contents, called } = props
    this.selection = new Selection(only, selection)
    this.deployments = new Deployments([authorizer, ...before], () => [
      scope.node.addr,
      [...this.bound.values()].sort(),
      ...contents,
      ...called,
    ])
    watchApi(api, apiId, (resource) => this.visit(resource))
  }

  /** Whether the API's stack makes a resource, itself or by a nested stack. */
  isInside(resource: IConstruct): boolean {
    return resource.node.scopes.includes(Stack.of(this.props.api))
  }

  /** Whether a route existed when routes were bound. */
  hasSeen(route: IConstruct): boolean {
    return this.seen.has(route)
  }

  private visit(resource: CfnResource): void {
    if (this.seen.has(resource)) return
    this.seen.add(resource)
    if (isRoute(resource)) this.visitRoute(resource)
    else if (isDeployment(resource) && (this.props.isOfThisApp || this.isInside(resource)))
      this.deployments.add(resource)
    this.onResource(resource)
  }

  private visitRoute(route: AnyRoute): void {
    const { api, only, isCandidate = () => true } = this.props
    const name = routeName(route, api)
    if (!isCandidate(name)) return
    if (!this.isInside(route)) {
      if (!this.selection.excepts(name) && !only.routes) this.elsewhere.set(route, name)
      return
    }
    const choice = this.selection.choose(route, name)
    if (choice === 'protect') this.bind(route, name)
    else if (choice !== 'ignore')
      if ('skip' in choice) this.skip({ route: name, because: choice.skip })
      else this.refuse(route, choice.authorized)
  }

  private bind(route: AnyRoute, name: string): void {
    const { authorizer, before } = this.props
    route.authorizationType = 'CUSTOM'
    route.authorizerId = authorizer.ref
    // A route of an HTTP API is live as soon as it is created; a method is live with the deployment.
    if (this.props.noun === 'route') route.node.addDependency(...before)
    this.bound.set(route, name)
    this.deployments.waitFor(route)
  }

  private skip(one: Skipped): void {
    if (this.skipped.length === 0)
      this.props.authorizer.addMetadata('sluice:skipped', Lazy.any({ produce: () => this.skipped }))
    this.skipped.push(one)
  }

  /** Its check would be lost. */
  private refuse(route: AnyRoute, authorization: string): void {
    const { noun, isCandidate } = this.props
    Annotations.of(route).addError(alreadyAuthorized(noun, authorization, isCandidate ? '' : LEAVE_OR_VERIFY))
    this.refused.add(route)
  }
}
