import { Lazy, Stack } from 'aws-cdk-lib'
import { CfnIntegration } from 'aws-cdk-lib/aws-apigatewayv2'
import { ConfigError, Mistake } from '../../limiter/errors'
import { kindOf, type OwnApi } from './api-kind'
import { checkStatuses } from './check-statuses'
import { isResource } from './is-resource'
import { DEFAULT_STATUSES } from './response-mapping'
import { isRoute } from './route-name'
import { watchApi } from './watch-api'

/** The options of the `protect` call that is to be undone. */
export interface UnprotectOptions {
  /**
   * The `mapStatuses` of the removed `protect()`.
   * @default [200, 201, 204, 404]
   */
  readonly mapStatuses?: readonly number[]
}

/**
 * Declares that an API has no limiter. A template without a declaration would leave the limiter in place: an update of
 * a route without `AuthorizationType` keeps the authorizer, and one of an integration without a status keeps its
 * mapping.
 *
 * @see https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2184
 */
export function unprotectApi(api: OwnApi, { mapStatuses = DEFAULT_STATUSES }: UnprotectOptions = {}): void {
  if (api.node.tryFindChild('Sluice'))
    throw new ConfigError([
      new Mistake('fields_conflict', `unprotect() replaces protect(), got both (${api.node.path})`),
    ])
  checkStatuses(mapStatuses, api.node.path)
  const kind = kindOf(api)
  if (kind === 'DOCUMENT')
    throw new ConfigError([
      new Mistake(
        'field_not_applicable',
        `unprotect() is for APIs whose methods are resources, got an OpenAPI document (${api.node.path}): remove protect(), and the document replaces the protected one`,
      ),
    ])
  const isHttp = kind === 'HTTP'
  watchApi(api, 'restApiId' in api ? api.restApiId : api.apiId, (resource) => {
    if (isRoute(resource)) resource.authorizationType ??= 'NONE'
    else if (isHttp && isResource(resource, CfnIntegration.CFN_RESOURCE_TYPE_NAME))
      mapNothing(resource as CfnIntegration, mapStatuses)
  })
}

/** An empty list for each status, beside what an integration maps itself. */
function mapNothing(integration: CfnIntegration, statuses: readonly number[]): void {
  const present = integration.responseParameters as unknown
  const nothing = Object.fromEntries(statuses.map((status) => [status, { ResponseParameters: [] }]))
  integration.responseParameters = Lazy.any({
    // Otherwise an empty list would be left out of the template.
    produce: () => ({ ...nothing, ...((Stack.of(integration).resolve(present) as object | undefined) ?? {}) }),
  })
}
