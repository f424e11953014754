import { Stack } from 'aws-cdk-lib'
import type { IRestApi, RestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Role } from 'aws-cdk-lib/aws-iam'
import type { Alias, IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { AuthorizerFunction } from './authorizer-function'
import { checkApiPlace, checkProps } from './check-props'
import { tableMistakes, warnOfEndlessAudit } from './check-tables'
import { warnOfSharedConcurrency } from './concurrency'
import { vpcOf } from './function-parts'
import { grantSettle } from './grant-settle'
import { invokeRoleFor, permissionMistakes } from './invoke-role'
import { nameForCommandLine } from './limiter-output'
import { LimiterTables } from './limiter-tables'
import type { OwnApi } from './protect/api-kind'
import type { ProtectingLimiter } from './protect/call-permission'
import type { HttpApiProtection, ProtectHttpApiOptions } from './protect/http-api'
import type { AttachToOptions, ImportedRestApiProtection } from './protect/imported-rest-api'
import { cachingAuthorizers } from './protect/never-cached'
import { type ApiProtection, attachToApi, type ProtectOptions, type Protector, protectApi } from './protect/protect-api'
import type { ProtectRestApiOptions, RestApiProtection } from './protect/rest-api'
import type { ProtectSpecRestApiOptions, SpecRestApiProtection } from './protect/spec-rest-api'
import { type UnprotectOptions, unprotectApi } from './protect/unprotect'
import type { ProtectWebSocketApiOptions, WebSocketApiProtection } from './protect/websocket-api'
import type { RateLimiterProps } from './rate-limiter-props'
import { checkConfigTables } from './seed/config-table-check'
import { guardDeletion } from './seed/deletion-guard'
import { checkLabel, labelApi } from './seed/label-resource'
import { SeedFunction } from './seed/seed-function'
import { hasSeed, seedTiers } from './seed/tiers-seed'
import { SharedRateLimiter, type SharedRateLimiterOptions } from './shared-limiter'
import { type OtherAccounts, permitOthers } from './sharing'
import { warnOfUpstreamAccount } from './warn-of-upstream'
import { warnOfMissingEndpoint, warnOfUnreachableChecks } from './warn-of-vpc'
import { WatchedLimiter } from './watched-limiter'

/**
 * A rate limiter for any number of APIs: a function that decides, a table for its state and one for tiers and clients.
 *
 * ```ts
 * const limiter = new RateLimiter(this, 'Limiter', { tiersFile: 'tiers.yaml' })
 * limiter.protect(api)
 * ```
 */
export class RateLimiter extends WatchedLimiter {
  /**
   * A limiter that another app has deployed, in this account or in another one that shares it, to protect APIs of this
   * app. The stack must set its account and Region.
   *
   * @param functionArn the function's, or its alias's where the limiter has `release`.
   * @throws ConfigError for an ARN that is not a function's, and for one of another Region.
   */
  static fromFunctionArn(
    scope: Construct,
    id: string,
    functionArn: string,
    options?: SharedRateLimiterOptions,
  ): SharedRateLimiter {
    return new SharedRateLimiter(scope, id, functionArn, options)
  }

  /**
   * Replaces a removed `protect()` for one deployment. When they merely disappear from the template, CloudFormation
   * leaves the authorizer on a route and the headers on an integration; this removes them.
   *
   * @throws ConfigError if `protect()` is still called for the API, and for `mapStatuses` that no response has.
   */
  static unprotect(api: RestApi): void
  static unprotect(api: HttpApi, options?: UnprotectOptions): void
  static unprotect(api: WebSocketApi): void
  static unprotect(api: RestApi | HttpApi | WebSocketApi, options?: UnprotectOptions): void {
    unprotectApi(api, options)
  }

  /** The authorizer function. Settings without a prop: `handler.node.defaultChild`, or `functionOptions`. */
  readonly handler: LambdaFunction
  /** What APIs call in place of the function; undefined without `release`. */
  readonly alias: Alias | undefined
  readonly logGroup: ILogGroup
  readonly stateTable: ITableV2
  readonly configTable: ITableV2
  protected readonly reserved: number | undefined
  private readonly seeds: Construct[] = []
  /** Other principals that may call it, in words. */
  private readonly shared: string[] = []
  private readonly guard: Construct
  private invokeRole: Role | undefined
  /** APIs that have a permission each. */
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
    const { handler, alias, logGroup } = authorizer
    this.handler = handler
    this.alias = alias
    this.logGroup = logGroup
    this.reserved = props.functionOptions?.reservedConcurrentExecutions ?? props.reservedConcurrentExecutions
    if (this.reserved === undefined) warnOfSharedConcurrency(this, props.decisionDeadline)
    const seed = this.seedFunction()
    this.seeds.push(checkConfigTables(seed, props))
    if (hasSeed(props)) this.seeds.push(seedTiers(seed, props, this.seeds))
    this.guard = guardDeletion(this, seed, {
      handlers: this.callable(),
      limiter: [tables, authorizer, seed],
      isOn: props.deletionGuard ?? true,
      isByRole: props.invokeRole ?? false,
      shared: this.shared,
    })
    nameForCommandLine(this, {
      configTable: this.configTable.tableName,
      stateTable: this.stateTable.tableName,
      function: (this.alias ?? this.handler).functionArn,
    })
    warnOfUpstreamAccount(this, props.upstream)
    this.node.addValidation({
      validate: () => {
        warnOfMissingEndpoint(this, vpcOf(props))
        warnOfEndlessAudit(this, props.configTable)
        warnOfUnreachableChecks(
          this,
          { ...props, ...props.functionOptions },
          {
            ofTables: props.configTableLoss !== 'accept',
            ofCallers: (props.invokeRole ?? false) && props.deletionGuard !== false,
          },
        )
        return [
          ...cachingAuthorizers(this.callable()),
          ...tableMistakes(props),
          ...permissionMistakes(this, this.permissions + this.shared.length),
        ]
      },
    })
  }

  /**
   * Limits every request to an API, or to some of its methods or routes; for a WebSocket API, every connection. A
   * method that already has an authorizer is an error, because its check would be lost. The limiter
   * of a `SpecRestApi` is put into its OpenAPI document, inline or from a local file.
   *
   * @returns the resources that were created for it, in the API's stack.
   */
  protect(api: RestApi, options?: ProtectRestApiOptions): RestApiProtection
  protect(api: SpecRestApi, options?: ProtectSpecRestApiOptions): SpecRestApiProtection
  protect(api: HttpApi, options?: ProtectHttpApiOptions): HttpApiProtection
  protect(api: WebSocketApi, options?: ProtectWebSocketApiOptions): WebSocketApiProtection
  protect(api: OwnApi, options: ProtectOptions = {}): ApiProtection {
    return protectApi(this.protector(), api, options)
  }

  private protector(): Protector {
    const { configTable, props } = this
    return {
      deniesInBackend: props.denials === 'backend-429',
      access: () => this.access(),
      checkPlace: (api) => checkApiPlace(api, Stack.of(this)),
      checkLabel: (api, id, label) => checkLabel(api, id, configTable, label),
      label: (scope, api) => labelApi(scope, this.seedFunction(), api),
    }
  }

  /** The function behind the authorizer of an API. */
  private access(): ProtectingLimiter {
    const { seeds, props, alias } = this
    const handler = alias ?? this.handler
    if (!props.invokeRole) this.permissions++
    else if (!this.invokeRole) {
      this.invokeRole = invokeRoleFor(this, this.callable())
      this.guard.node.addDependency(this.invokeRole) // or it would be deleted although the guard refuses
    }
    const called = [...(alias ? [`alias ${props.release?.alias ?? 'live'}`] : []), ...(this.invokeRole ? ['role'] : [])]
    return { handler, invokeRole: this.invokeRole, seeds, called }
  }

  /** The function, and its alias. */
  private callable(): [IFunction, ...IFunction[]] {
    return this.alias ? [this.handler, this.alias] : [this.handler]
  }

  /** The function that writes at deployment, created on first use. */
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
   * @throws if the API is created in this app, or was passed before.
   */
  attachTo(api: IRestApi, options: AttachToOptions): ImportedRestApiProtection {
    return attachToApi(this.protector(), api, options)
  }

  /**
   * Lets a function settle its requests' reservations by `withRateLimit` of `sluice/backend`: `dynamodb:UpdateItem` on
   * the state table, whose name it gets in its environment. docs/security.md says what else that permits.
   *
   * @throws where the function is in another account or Region than the limiter, settles for another one, or has an
   * environment that cannot be set, such as an alias or a function that is imported.
   */
  grantSettle(fn: LambdaFunction): void {
    grantSettle(fn, this.stateTable, Stack.of(this))
  }

  /**
   * Lets API Gateway call the authorizer for APIs of another account, or of all accounts of an organisation, whose
   * stacks import the limiter by `RateLimiter.fromFunctionArn`. This account cannot see whether their APIs still call
   * it: while it is shared, the deletion guard refuses.
   *
   * @throws ConfigError for an invalid account or organisation, and for the limiter's own account.
   */
  shareWith(others: OtherAccounts): void {
    this.shared.push(...permitOthers(this.alias ?? this.handler, others))
  }
}
