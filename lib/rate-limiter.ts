import { Stack } from 'aws-cdk-lib'
import type { IRestApi, RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Role } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import type { RegionShares } from '../provisioning/region-shares'
import { AuthorizerFunction } from './authorizer-function'
import type { AuthorizerFunctionOptions } from './authorizer-options'
import { checkApiPlace, checkProps } from './check-props'
import { tableMistakes } from './check-tables'
import { ConcurrencyAlarms, type ConcurrencyAlarmsOptions, warnOfSharedConcurrency } from './concurrency'
import { vpcOf } from './function-parts'
import { grantSettle } from './grant-settle'
import type { IdentitySource } from './identity'
import { invokeRoleFor, permissionMistakes } from './invoke-role'
import { LimiterMetrics } from './limiter-metrics'
import { nameForCommandLine } from './limiter-output'
import { LimiterTables, type LimiterTablesOptions } from './limiter-tables'
import { kindOf } from './protect/api-kind'
import type { ProtectingLimiter } from './protect/call-permission'
import { HttpApiProtection, type ProtectHttpApiOptions } from './protect/http-api'
import { type AttachToOptions, ImportedRestApiProtection } from './protect/imported-rest-api'
import { cachingAuthorizers } from './protect/never-cached'
import { type ProtectRestApiOptions, RestApiProtection } from './protect/rest-api'
import { type ProtectWebSocketApiOptions, WebSocketApiProtection } from './protect/websocket-api'
import { type DeletionGuardOptions, guardDeletion } from './seed/deletion-guard'
import { checkLabel, labelApi } from './seed/label-resource'
import { SeedFunction } from './seed/seed-function'
import { hasSeed, seedTiers } from './seed/tiers-seed'
import type { TiersInCode } from './tiers-in-code'
import { warnOfUpstreamAccount } from './warn-of-upstream'
import { warnOfMissingEndpoint, warnOfUnreachableGuard } from './warn-of-vpc'

/** What a `RateLimiter` is made with; every prop has a default. */
export interface RateLimiterProps
  extends LimiterTablesOptions,
    AuthorizerFunctionOptions,
    DeletionGuardOptions,
    TiersInCode {
  /**
   * A YAML file with initial tiers and routes, relative to the working directory of the synth. An error in it fails the
   * synth. Later edits of operators in the table are kept.
   *
   * @default `tiers`; without either, nothing is limited until the config table has some
   */
  readonly tiersFile?: string
  /**
   * The sources of identity, in order, such as `jwt({ issuer, audience })`, whose tokens Sluice verifies. An error
   * fails the synth. They are seeded into the item `settings`, together with the settings of the tiers file, which then
   * must not have `identity`.
   *
   * @default the tiers file's identity; without it API keys, then addresses
   */
  readonly identity?: IdentitySource | readonly IdentitySource[]
  /**
   * How much of each limit of `tiersFile` or `tiers` the stack's Region has, where limiters of several Regions share
   * the limits: in percent by the Region's name, 100 together. The parts of a limit are together exactly the limit.
   *
   * @default whole limits
   */
  readonly regionShares?: RegionShares
  /**
   * Whether API Gateway calls the function by a role that all APIs of the limiter share, where each has a permission
   * otherwise. Lambda takes 20 KB of permissions, about 50 APIs. Who may pass this role (`iam:PassRole`) to an
   * authorizer can have it call the function.
   *
   * @default false; the synth warns of more than 40 APIs
   */
  readonly invokeRole?: boolean
}

/** What stands in front of an API. */
type Protection = Construct & { readonly authorizer: Construct }

/**
 * A rate limiter for any number of APIs: a function that decides, a table for its state and one for tiers and clients.
 *
 * ```ts
 * const limiter = new RateLimiter(this, 'Limiter', { tiersFile: 'tiers.yaml' })
 * limiter.protect(api)
 * ```
 */
export class RateLimiter extends LimiterMetrics {
  /** The authorizer function. Settings without a prop: `handler.node.defaultChild`, or `functionOptions`. */
  readonly handler: LambdaFunction
  readonly logGroup: ILogGroup
  readonly stateTable: ITableV2
  readonly configTable: ITableV2
  private readonly deniesInBackend: boolean
  private readonly reserved: number | undefined
  private readonly seeds: Construct[] = []
  private readonly guard: Construct
  private invokeRole: Role | undefined
  /** APIs with a permission each. */
  private permissions = 0

  constructor(
    scope: Construct,
    id: string,
    private readonly props: RateLimiterProps = {},
  ) {
    super(scope, id, props)
    checkProps(this, props)
    const tables = new LimiterTables(this, 'Tables', props)
    const { state, config } = tables
    this.stateTable = state
    this.configTable = config
    const authorizer = new AuthorizerFunction(this, 'Authorizer', {
      ...props,
      stateTable: state,
      configTable: config,
    })
    const { handler, logGroup } = authorizer
    this.handler = handler
    this.logGroup = logGroup
    this.deniesInBackend = props.denials === 'backend-429'
    this.reserved = props.functionOptions?.reservedConcurrentExecutions ?? props.reservedConcurrentExecutions
    if (this.reserved === undefined) warnOfSharedConcurrency(this, props.decisionDeadline)
    if (hasSeed(props)) this.seeds.push(seedTiers(this.seedFunction(), props))
    const seed = this.seedFunction()
    this.guard = guardDeletion(this, seed, {
      handler,
      limiter: [tables, authorizer, seed],
      isOn: props.deletionProtection ?? true,
      isByRole: props.invokeRole ?? false,
    })
    nameForCommandLine(this)
    warnOfUpstreamAccount(this, props.upstream)
    this.node.addValidation({
      validate: () => {
        warnOfMissingEndpoint(this, vpcOf(props))
        if (props.invokeRole && props.deletionProtection !== false)
          warnOfUnreachableGuard(this, { ...props, ...props.functionOptions })
        return [...cachingAuthorizers(handler), ...tableMistakes(props), ...permissionMistakes(this, this.permissions)]
      },
    })
  }

  /**
   * Limits every request to an API, or to some of its methods or routes; for a WebSocket API, every connection. A
   * method that already has an authorizer is an error, because its check would be lost.
   *
   * @returns the resources that were created for it, in the API's stack.
   */
  protect(api: RestApi, options?: ProtectRestApiOptions): RestApiProtection
  protect(api: HttpApi, options?: ProtectHttpApiOptions): HttpApiProtection
  protect(api: WebSocketApi, options?: ProtectWebSocketApiOptions): WebSocketApiProtection
  protect(
    api: RestApi | HttpApi | WebSocketApi,
    options: ProtectRestApiOptions & ProtectHttpApiOptions = {},
  ): RestApiProtection | HttpApiProtection | WebSocketApiProtection {
    if (api.node.tryFindChild('Sluice'))
      throw new Error(`protect() must be called once per API, got ${api.node.path} again: name all methods in one call`)
    const kind = kindOf(api)
    checkApiPlace(api, Stack.of(this))
    const apiId = 'restApiId' in api ? api.restApiId : api.apiId
    if (options.as !== undefined) checkLabel(api, apiId, this.configTable, options.as)
    const called = <T extends Protection>(name: string | undefined, protection: T) =>
      this.called(options.as, apiId, name, protection)
    switch (kind) {
      case 'REST':
        return called((api as RestApi).restApiName, new RestApiProtection(api as RestApi, this.access(), options))
      case 'HTTP':
        return called(
          (api as HttpApi).httpApiName,
          new HttpApiProtection(api as HttpApi, this.access(), { mapHeaders: !this.deniesInBackend, ...options }),
        )
      case 'WEBSOCKET':
        return called(
          (api as WebSocketApi).webSocketApiName,
          new WebSocketApiProtection(api as WebSocketApi, this.access()),
        )
    }
  }

  /** Gives an API a label before its first request reaches the limiter. */
  private called<T extends Protection>(
    label: string | undefined,
    id: string,
    name: string | undefined,
    protection: T,
  ): T {
    if (label === undefined) return protection
    protection.authorizer.node.addDependency(labelApi(protection, this.seedFunction(), { id, name, label }))
    return protection
  }

  /** What stands behind the authorizer of an API. */
  private access(): ProtectingLimiter {
    const { handler, seeds } = this
    if (!this.props.invokeRole) this.permissions++
    else if (!this.invokeRole) {
      this.invokeRole = invokeRoleFor(this, handler)
      this.guard.node.addDependency(this.invokeRole) // or it would be deleted though the guard refuses
    }
    return { handler, invokeRole: this.invokeRole, seeds }
  }

  /** The function for everything that is written at deployment, created on first use. */
  private seedFunction(): SeedFunction {
    const made = this.node.tryFindChild('Tiers') as SeedFunction | undefined
    return made ?? new SeedFunction(this, 'Tiers', { ...this.props, configTable: this.configTable })
  }

  /**
   * Prepares an imported REST API, such as `RestApi.fromRestApiId(this, 'Shop', 'a1b2c3d4e5')`: an authorizer, its
   * permission, the 429 for denials, and a deployment of a stage. Methods that this app adds to it are limited. Methods
   * defined in another template must name the returned `authorizerId`.
   *
   * @returns the resources that were created for it, in the stack that imports it.
   * @throws if the API is made in this app, or was passed before.
   */
  attachTo(api: IRestApi, options: AttachToOptions): ImportedRestApiProtection {
    if (api.node.tryFindChild('Sluice'))
      throw new Error(`attachTo() must be called once per API, got ${api.node.path} again`)
    checkApiPlace(api, Stack.of(this))
    if (options.as !== undefined) checkLabel(api, api.restApiId, this.configTable, options.as)
    // its name is not known here
    return this.called(options.as, api.restApiId, undefined, new ImportedRestApiProtection(api, this.access(), options))
  }

  /**
   * Lets a function settle what its requests hold, by `withRateLimit` of `sluice/backend`: `dynamodb:UpdateItem` on the
   * state table, whose name it gets in its environment. docs/security.md says what that lets a function do.
   *
   * @throws where the function is in another account or Region than the limiter, settles for another one, or has an
   * environment that cannot be set, such as an alias or a function that is imported.
   */
  grantSettle(fn: LambdaFunction): void {
    grantSettle(fn, this.stateTable, Stack.of(this))
  }

  /**
   * Creates alarms on concurrency: one on throttled requests and, with reserved concurrency, one on 80 % of it in use.
   *
   * @throws when it is called again.
   */
  addConcurrencyAlarms(options: ConcurrencyAlarmsOptions = {}): ConcurrencyAlarms {
    const metrics = { throttles: this.metricThrottles(), concurrency: this.metricConcurrentExecutions() }
    return new ConcurrencyAlarms(this, 'ConcurrencyAlarms', metrics, this.reserved, options)
  }
}
