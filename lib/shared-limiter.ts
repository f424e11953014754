import { Stack, Token } from 'aws-cdk-lib'
import type { IRestApi, RestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Role } from 'aws-cdk-lib/aws-iam'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { ConfigError, Mistake, printed } from '../limiter/errors'
import { invokeRoleFor } from './invoke-role'
import type { OwnApi } from './protect/api-kind'
import type { ProtectingLimiter } from './protect/call-permission'
import type { HttpApiProtection, ProtectHttpApiOptions } from './protect/http-api'
import type { AttachToOptions, ImportedRestApiProtection } from './protect/imported-rest-api'
import { type ApiProtection, attachToApi, type ProtectOptions, type Protector, protectApi } from './protect/protect-api'
import type { ProtectRestApiOptions, RestApiProtection } from './protect/rest-api'
import type { ProtectSpecRestApiOptions, SpecRestApiProtection } from './protect/spec-rest-api'
import type { ProtectWebSocketApiOptions, WebSocketApiProtection } from './protect/websocket-api'

/** Options of a limiter that another app or account has deployed. */
export interface SharedRateLimiterOptions {
  /**
   * Whether API Gateway calls the function by a role of this stack, which sharing with an organisation needs.
   * @default false: the permission of `shareWith({ account })`, or, in the limiter's own account, one for each API
   */
  readonly invokeRole?: boolean | undefined
  /**
   * As the limiter itself is configured: with `backend-429`, backends add the headers and answer 429.
   * @default 'gateway-403'
   */
  readonly denials?: 'gateway-403' | 'backend-429' | undefined
}

/** `arn:aws:lambda:eu-west-1:111111111111:function:limiter`, or with the name of an alias behind it. */
const FUNCTION = /^arn:[\w-]+:lambda:([a-z0-9-]+):(\d{12}):function:[\w-]+(?::[\w-]+)?$/

/** A limiter of another app or account, in front of this app's APIs: see `RateLimiter.fromFunctionArn`. */
export class SharedRateLimiter extends Construct {
  private readonly called: LambdaFunction | ReturnType<typeof LambdaFunction.fromFunctionAttributes>
  private readonly isOwnAccount: boolean
  private invokeRole: Role | undefined

  /**
   * @throws ConfigError for an ARN that is not a function's, or one of another Region, or if the stack's account or
   * Region is not set.
   */
  constructor(
    scope: Construct,
    id: string,
    functionArn: string,
    private readonly options: SharedRateLimiterOptions = {},
  ) {
    super(scope, id)
    const { account } = placeOf(this, functionArn)
    this.isOwnAccount = account === Stack.of(this).account
    const sameEnvironment = this.isOwnAccount
    this.called = LambdaFunction.fromFunctionAttributes(this, 'Handler', { functionArn, sameEnvironment })
  }

  /** As `protect` of the limiter itself; `as` is refused, since labels are in the limiter's table. */
  protect(api: RestApi, options?: ProtectRestApiOptions): RestApiProtection
  protect(api: SpecRestApi, options?: ProtectSpecRestApiOptions): SpecRestApiProtection
  protect(api: HttpApi, options?: ProtectHttpApiOptions): HttpApiProtection
  protect(api: WebSocketApi, options?: ProtectWebSocketApiOptions): WebSocketApiProtection
  protect(api: OwnApi, options: ProtectOptions = {}): ApiProtection {
    return protectApi(this.protector(), api, options)
  }

  /** As `attachTo` of the limiter itself; `as` is refused. */
  attachTo(api: IRestApi, options: AttachToOptions): ImportedRestApiProtection {
    return attachToApi(this.protector(), api, options)
  }

  private protector(): Protector {
    return {
      deniesInBackend: this.options.denials === 'backend-429',
      access: () => this.access(),
      checkPlace: (api) => placeOf(api, this.called.functionArn, Stack.of(this)),
      checkLabel: (api) => {
        throw new ConfigError([
          new Mistake(
            'invalid_value',
            `as must be left out, because labels are in the table of the limiter: run sluice apis label there (${api.node.path})`,
          ),
        ])
      },
      label: (scope) => scope, // refused before
    }
  }

  private access(): ProtectingLimiter {
    const { called: handler, options } = this
    if (options.invokeRole) this.invokeRole ??= invokeRoleFor(this, [handler])
    const isPermitted = !this.isOwnAccount && !options.invokeRole
    return { handler, invokeRole: this.invokeRole, isPermitted, seeds: [], called: [handler.functionArn] }
  }
}

/**
 * The account of a function that may protect APIs in a scope.
 *
 * @param of a stack whose account that scope must have, too.
 * @throws ConfigError with every mistake.
 */
function placeOf(scope: Construct, functionArn: string, of?: Stack): { readonly account: string } {
  const { path } = scope.node
  const refuse = (sentences: readonly string[]): never => {
    throw new ConfigError(sentences.map((one) => new Mistake('invalid_value', `${one} (${path})`)))
  }
  const [, region = '', account = ''] =
    (Token.isUnresolved(functionArn) ? undefined : FUNCTION.exec(functionArn)) ??
    refuse([
      `functionArn must be a function's ARN that is known at synth, such as "arn:aws:lambda:eu-west-1:111111111111:function:limiter", or with ":live" for an alias, got ${printed(functionArn)}`,
    ])
  const stack = Stack.of(scope)
  const issues: string[] = []
  for (const part of ['account', 'region'] as const)
    if (Token.isUnresolved(stack[part]))
      issues.push(
        `the stack must name its ${part}, which decides where the call is permitted: env: { account, region }`,
      )
  if (issues.length === 0 && stack.region !== region)
    issues.push(`the stack must be in the limiter’s Region, ${printed(region)}, got ${printed(stack.region)}`)
  if (issues.length === 0 && of && stack.account !== of.account)
    issues.push(`the API must be in account ${of.account}, where the limiter is imported, got ${stack.account}`)
  if (issues.length > 0) refuse(issues)
  return { account }
}
