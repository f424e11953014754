import { Names } from 'aws-cdk-lib'
import { CfnAuthorizer, CfnIntegration, CfnRoute, type HttpApi, type HttpRoute } from 'aws-cdk-lib/aws-apigatewayv2'
import { Construct } from 'constructs'
import { ConfigError, Mistake } from '../../limiter/errors'
import type { LabelOptions } from '../seed/label-resource'
import type { Binding } from './binding'
import { functionUri, type ProtectingLimiter, permitAuthorizer } from './call-permission'
import { bindAndCheck } from './check-binding'
import { checkStatuses } from './check-statuses'
import { StageWatch } from './deployments'
import { isResource } from './is-resource'
import { HeaderMapping } from './map-headers'
import { DEFAULT_STATUSES } from './response-mapping'
import { checkSelection, type SelectionOptions } from './selection'

/** How `protect` protects an HTTP API. */
export interface ProtectHttpApiOptions extends LabelOptions, SelectionOptions {
  /**
   * The routes to protect; not together with `except`.
   * @default all of the API, those that come later too, but `OPTIONS`
   */
  readonly routes?: readonly HttpRoute[] | undefined
  /**
   * Whether the gateway adds the decision's headers to responses, so that backends need not. An integration that routes
   * without limits use as well adds none, and the synth warns.
   * @default true, unless `denials` is 'backend-429', where backends do it
   */
  readonly mapHeaders?: boolean | undefined
  /**
   * The status codes of responses that get the headers. Each takes 0.7 KB of the template for each integration, and
   * CloudFormation takes 1 MB in all: the synth warns past half of that.
   * @default [200, 201, 204, 404]
   */
  readonly mapStatuses?: readonly number[] | undefined
}

/** An authorizer in front of an HTTP API's routes. It belongs to the API's stack. */
export class HttpApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer

  constructor(api: HttpApi, limiter: ProtectingLimiter, options: ProtectHttpApiOptions) {
    const { mapHeaders = true, mapStatuses = DEFAULT_STATUSES } = options
    const only = { prop: 'routes', routes: options.routes } as const
    checkSelection(api, only, options)
    checkMapping(options, api.node.path)
    super(api, 'Sluice')
    this.authorizer = new CfnAuthorizer(this, 'Authorizer', {
      apiId: api.apiId,
      name: Names.uniqueResourceName(this, { maxLength: 128 }),
      authorizerType: 'REQUEST',
      authorizerUri: functionUri(this, limiter.handler),
      authorizerPayloadFormatVersion: '2.0',
      enableSimpleResponses: true,
      authorizerResultTtlInSeconds: 0, // a cached decision is not counted
      identitySource: [], // a request without one would get a 401 without a call
    })
    const stages = new StageWatch()
    const mapping = new HeaderMapping(mapStatuses, (route) => binding.bound.has(route))
    const binding: Binding = bindAndCheck(
      this,
      {
        api,
        apiId: api.apiId,
        authorizer: this.authorizer,
        noun: 'route',
        only,
        selection: options,
        before: permitAuthorizer(this, limiter, api.apiId, this.authorizer),
        contents: mapHeaders ? [mapStatuses] : [],
        called: limiter.called,
        isOfThisApp: true,
      },
      (resource) => {
        stages.visit(resource)
        if (isResource(resource, CfnRoute.CFN_RESOURCE_TYPE_NAME)) mapping.addRoute(resource as CfnRoute)
        if (mapHeaders && isResource(resource, CfnIntegration.CFN_RESOURCE_TYPE_NAME))
          mapping.addIntegration(resource as CfnIntegration)
      },
    )
    this.node.addValidation({
      validate: () => {
        mapping.warn(this)
        return stages.warn(this, api, binding.deployments)
      },
    })
  }
}

/** @throws ConfigError for statuses that no response has, or that are given although headers are not mapped. */
function checkMapping({ mapHeaders, mapStatuses }: ProtectHttpApiOptions, path: string): void {
  if (mapStatuses === undefined) return
  if (mapHeaders === false)
    throw new ConfigError([
      new Mistake(
        'fields_conflict',
        `mapStatuses needs mapHeaders: true, got false, which is the default where denials is "backend-429" (${path})`,
      ),
    ])
  checkStatuses(mapStatuses, path)
}
