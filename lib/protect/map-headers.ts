import { Annotations, Lazy, Stack } from 'aws-cdk-lib'
import type { CfnIntegration, CfnRoute } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Construct } from 'constructs'
import { withDecisionHeaders } from './response-mapping'

/** CloudFormation takes templates of 1 MB, and the rest of the stack needs room, too. */
const WARN_BYTES = 500_000

/** The size of the header mappings in each stack's template, by integration: several APIs may be in one stack. */
const bytesIn = new WeakMap<Stack, Map<CfnIntegration, number>>()

/**
 * Makes the integrations of an HTTP API add the decision's headers to responses. An integration that a route without
 * the authorizer also uses is left unchanged: whether API Gateway turns a missing context value into an error or an
 * empty header is not documented.
 */
export class HeaderMapping {
  private readonly routes = new Map<CfnRoute, string>()
  private readonly integrations: CfnIntegration[] = []
  private byTarget: { readonly size: number; readonly routes: ReadonlyMap<string, CfnRoute[]> } | undefined

  /** @param isProtected whether a route has the authorizer; called at synth. */
  constructor(
    private readonly statuses: readonly number[],
    private readonly isProtected: (route: CfnRoute) => boolean,
  ) {}

  addRoute(route: CfnRoute): void {
    this.routes.set(route, route.routeKey)
  }

  /** Maps at synth, when all routes are known. */
  addIntegration(integration: CfnIntegration): void {
    this.integrations.push(integration)
    const present = integration.responseParameters as unknown
    integration.responseParameters = Lazy.any({
      produce: () => {
        if (!this.isMapped(integration)) return present
        return withDecisionHeaders(Stack.of(integration).resolve(present), this.statuses)
      },
    })
  }

  /** Warns of integrations that are shared with routes that are not limited, and of a template that grows too large. */
  warn(scope: Construct): void {
    for (const integration of this.integrations) {
      const open = this.routesOf(integration).filter((route) => !this.isProtected(route))
      if (open.length > 0 && open.length < this.routesOf(integration).length)
        Annotations.of(integration).addWarningV2(
          'sluice:shared-integration',
          `responses of this integration get no rate-limit headers, because routes without limits use it, too: ` +
            `${open.map(({ routeKey }) => routeKey).join(', ')}. Give those an integration of their own, or set mapHeaders: false and use the wrapper of sluice/backend`,
        )
    }
    this.warnOfSize(scope)
  }

  private warnOfSize(scope: Construct): void {
    const stack = Stack.of(scope)
    const bytes = bytesIn.get(stack) ?? new Map<CfnIntegration, number>()
    bytesIn.set(stack, bytes)
    for (const integration of this.integrations.filter((one) => this.isMapped(one)))
      bytes.set(integration, sizeOf(withDecisionHeaders(undefined, this.statuses)))
    const sum = [...bytes.values()].reduce((total, one) => total + one, 0)
    if (sum > WARN_BYTES)
      Annotations.of(scope).addWarningV2(
        'sluice:mapHeaders',
        `rate-limit headers take ${Math.round(sum / 1000)} KB of the template of ${stack.node.path}, for ${bytes.size} integrations and ` +
          `${this.statuses.length} statuses here; CloudFormation takes 1 MB in all. Name fewer mapStatuses, or set mapHeaders: false and use the wrapper of sluice/backend`,
      )
  }

  private isMapped(integration: CfnIntegration): boolean {
    const routes = this.routesOf(integration)
    return routes.length > 0 && routes.every(this.isProtected)
  }

  private routesOf(integration: CfnIntegration): readonly CfnRoute[] {
    if (this.byTarget?.size !== this.routes.size)
      this.byTarget = { size: this.routes.size, routes: byIntegration([...this.routes.keys()]) }
    return this.byTarget.routes.get(nameOf(integration, integration.ref)) ?? []
  }
}

/** The routes of each integration, by what a reference to it resolves to in the stack. */
function byIntegration(routes: readonly CfnRoute[]): ReadonlyMap<string, CfnRoute[]> {
  const found = new Map<string, CfnRoute[]>()
  for (const route of routes)
    for (const [name] of nameOf(route, route.target ?? '').matchAll(/\{"Ref":"\w+"\}/g))
      found.set(name, [...(found.get(name) ?? []), route])
  return found
}

const nameOf = (of: Construct, token: string): string => JSON.stringify(Stack.of(of).resolve(token))

/** As the CDK writes it: with the indentation of that depth in the template. */
function sizeOf(mapping: object): number {
  const lines = JSON.stringify(mapping, undefined, 1).split('\n')
  return lines.reduce((total, line) => total + line.length + 5, 0)
}
