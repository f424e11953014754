import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2'
import { Grant, ManagedPolicy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  Architecture,
  type FunctionOptions,
  type IFunction,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda'
import { type ILogGroup, LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { LAST_VALID_PARTITION } from '../lambda/config-table/items/config-items'
import { parseConfig } from '../lambda/environment'
import { ConfigError, Mistake } from '../limiter/errors'
import { bundledCode } from './bundled-code'

/** How the authorizer function runs, decides and logs. */
export interface AuthorizerFunctionOptions {
  /** @default Architecture.ARM_64 */
  readonly architecture?: Architecture
  /**
   * Memory in MiB, which also sets the CPU share. CPU shortens cold starts; a warm decision mostly waits for DynamoDB.
   *
   * @default 1769, which is one whole CPU
   * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
   */
  readonly memorySize?: number
  /**
   * The function's timeout. API Gateway waits at most ten seconds for an authorizer of an HTTP API.
   *
   * @default Duration.seconds(10)
   */
  readonly timeout?: Duration
  /**
   * Concurrency reserved for this function, which is also its maximum. When all instances are busy, API Gateway cannot
   * call the authorizer and answers 500, not 429. Recommended: peak requests per second × the decision's deadline (0.3
   * s), at least 20. See docs/deploy.md.
   *
   * @default the account's unreserved concurrency, and a warning at the synth
   */
  readonly reservedConcurrentExecutions?: number
  /**
   * Runs the function in a VPC, where it needs a gateway endpoint for DynamoDB.
   * @default no VPC
   */
  readonly vpc?: IVpc
  /** @default private subnets */
  readonly vpcSubnets?: SubnetSelection
  /** @default one is made */
  readonly securityGroups?: ISecurityGroup[]
  /**
   * Where the functions log.
   * @default one is made for each function
   */
  readonly logGroup?: ILogGroup
  /**
   * Retention of logs, in log groups that are created here.
   *
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays
  /**
   * Who decides when DynamoDB cannot be asked: `local` counts in each instance's memory, `allow` and `deny` count
   * nothing.
   * @default 'local'
   */
  readonly failureMode?: 'local' | 'allow' | 'deny'
  /**
   * Whether callers may have to show credentials. `config`: the tiers and routes in the config table say who has to,
   * and while that cannot be read every request is refused (500 on REST and WebSocket APIs, 403 on HTTP APIs). `none`:
   * nobody ever has to, so the failure mode decides then; tiers and routes with `credentials: required` are a mistake.
   * @default 'config'
   */
  readonly authentication?: 'config' | 'none'
  /**
   * Time limit of one decision, 20 ms to 9 s; after it the failure mode decides.
   *
   * @default Duration.millis(300)
   */
  readonly decisionDeadline?: Duration
  /**
   * How long an instance caches tiers and clients.
   *
   * @default Duration.seconds(30)
   */
  readonly configTtl?: Duration
  /**
   * Bits of an IPv6 address that tell callers apart.
   * @default 56
   */
  readonly ipv6Prefix?: number
  /**
   * How a request over the limit is answered on an HTTP API, which knows no 429 from an authorizer. `gateway-403`: it
   * stops at the gateway, which answers a plain
   * 403. `backend-429`: it is let through, and `withRateLimit` of `sluice/backend` around **every** handler answers
   *    429; a handler without it serves it.
   * @default 'gateway-403'
   */
  readonly denials?: 'gateway-403' | 'backend-429'
  /**
   * The authorizer that the API had before: its function is asked first, with the event as it came, and without its yes
   * nothing passes or is counted. Its policy, principal and context are handed on; see docs/deploy.md.
   * @default nobody is asked
   */
  readonly upstream?: IFunction
  /**
   * Time for the upstream authorizer's answer, 20 ms to 9 s; a request that it does not answer in time is denied.
   * @default Duration.seconds(2)
   */
  readonly upstreamDeadline?: Duration
  /**
   * How long an answer of the upstream authorizer is held to, up to an hour, for requests with the same
   * `upstreamCacheHeaders` to the same stage: what its own result cache in API Gateway did.
   * @default Duration.seconds(0), it is asked about each request
   */
  readonly upstreamCacheTtl?: Duration
  /**
   * The headers by which the upstream authorizer's answers differ, such as `Authorization`: its identity sources. A
   * request without one of them is always asked about.
   * @default none, which goes with no caching only
   */
  readonly upstreamCacheHeaders?: readonly string[]
  /**
   * The least that is logged: denials are `info`, decisions without DynamoDB `warn`, mistakes and failures `error`, and
   * every answer `debug`.
   * @default 'info'
   */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error'
  /**
   * How the log names who was denied: `hashed` as in the state table, `clear` by id and address, too. Credentials are
   * never logged.
   * @default 'hashed'
   */
  readonly logCallers?: 'hashed' | 'clear'
  /**
   * How often an instance writes its metrics at most, up to an hour; 0 is with every request, which costs more than the
   * decision.
   * @default Duration.seconds(10)
   */
  readonly metricsInterval?: Duration
  /**
   * Where CloudWatch keeps the metrics. Limiters of one account and Region that are to be told apart need one each.
   * @default 'Sluice'
   */
  readonly metricsNamespace?: string
  /**
   * Whether requests are counted by API, too, under the dimension `Api`: its label, or its id. CloudWatch has its price
   * for each API; a function's instance counts at most 100 apart.
   * @default false
   */
  readonly metricsByApi?: boolean
  /**
   * Any other function property, as an escape hatch: it overrides all of the above.
   *
   * @default none
   */
  readonly functionOptions?: Omit<FunctionOptions, 'logGroup'>
}

export interface AuthorizerFunctionProps extends AuthorizerFunctionOptions {
  /** Where subjects' state is kept, see limiter/stores. */
  readonly stateTable: ITableV2
  /** Where tiers, routes and clients are kept, see lambda/config-table. */
  readonly configTable: ITableV2
}

/**
 * The function that decides every request. It may change single items of the state table, read the config table, write
 * its log, call the upstream authorizer if there is one, and nothing else.
 */
export class AuthorizerFunction extends Construct {
  readonly handler: LambdaFunction
  readonly logGroup: ILogGroup

  constructor(scope: Construct, id: string, props: AuthorizerFunctionProps) {
    super(scope, id)
    const { stateTable, configTable, vpc, upstream, functionOptions } = props
    if (!upstream) refuseWithoutUpstream(props)
    this.logGroup = props.logGroup ?? logGroupFor(this, props)
    const environment = { ...environmentOf(props), ...functionOptions?.environment }
    // Checked here, so that an invalid setting fails the synth and not the first request.
    parseConfig({ ...environment, ...NAMES_FOR_A_CHECK })
    this.handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: rate-limits requests of API Gateway',
      runtime: Runtime.NODEJS_24_X,
      architecture: props.architecture ?? Architecture.ARM_64,
      code: bundledCode('authorizer'),
      handler: 'index.handler',
      role: functionOptions?.role ?? roleFor(this, this.logGroup, vpc),
      memorySize: props.memorySize ?? 1769,
      timeout: props.timeout ?? Duration.seconds(10),
      reservedConcurrentExecutions: props.reservedConcurrentExecutions,
      vpc,
      vpcSubnets: props.vpcSubnets,
      securityGroups: props.securityGroups,
      logGroup: this.logGroup,
      ...functionOptions,
      environment,
    })
    stateTable.grant(this.handler, 'dynamodb:UpdateItem', 'dynamodb:GetItem')
    configTable.grant(this.handler, 'dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query')
    // Copies of what was last valid, and nothing that an operator has written.
    this.handler.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
        resources: [configTable.tableArn],
        conditions: {
          'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [LAST_VALID_PARTITION] },
          Null: { 'dynamodb:LeadingKeys': 'false' }, // ForAllValues holds where there is no key, too
        },
      }),
    )
    stateTable.encryptionKey?.grantEncryptDecrypt(this.handler)
    configTable.encryptionKey?.grantEncryptDecrypt(this.handler)
    // Not `grantInvoke`, which opens all versions and aliases of the function, too.
    if (upstream)
      Grant.addToPrincipal({
        grantee: this.handler,
        actions: ['lambda:InvokeFunction'],
        resourceArns: [upstream.functionArn],
      })
  }
}

/** @throws ConfigError for settings of an upstream authorizer that is not there: somebody believes that it is asked. */
function refuseWithoutUpstream(props: AuthorizerFunctionProps): void {
  const orphans = (['upstreamDeadline', 'upstreamCacheTtl', 'upstreamCacheHeaders'] as const).filter(
    (name) => props[name] !== undefined,
  )
  if (orphans.length > 0)
    throw new ConfigError(
      orphans.map((name) => new Mistake('missing_field', `${name} needs an upstream authorizer, got none`)),
    )
}

/** A group for the log of a function in this scope. */
export function logGroupFor(
  scope: Construct,
  { logRetention = RetentionDays.ONE_MONTH }: AuthorizerFunctionOptions,
): LogGroup {
  return new LogGroup(scope, 'Logs', { retention: logRetention, removalPolicy: RemovalPolicy.DESTROY })
}

/**
 * A role that may write to one log, unlike the managed policy, which opens all; a VPC asks for that one's rights to
 * network interfaces.
 */
export function roleFor(scope: Construct, logGroup: ILogGroup, vpc?: IVpc): Role {
  const inVpc = ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole')
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    managedPolicies: vpc && [inVpc],
  })
  logGroup.grantWrite(role)
  return role
}

/** Names are not known before the deployment, and are not what a check is for. */
const NAMES_FOR_A_CHECK = { SLUICE_STATE_TABLE: 'state', SLUICE_CONFIG_TABLE: 'config', SLUICE_UPSTREAM: 'upstream' }

function environmentOf(props: AuthorizerFunctionProps): Record<string, string> {
  const settings = {
    SLUICE_STATE_TABLE: props.stateTable.tableName,
    SLUICE_CONFIG_TABLE: props.configTable.tableName,
    SLUICE_FAILURE_MODE: props.failureMode,
    SLUICE_AUTHENTICATION: props.authentication,
    SLUICE_DEADLINE_MS: props.decisionDeadline?.toMilliseconds(),
    SLUICE_CONFIG_TTL_MS: props.configTtl?.toMilliseconds(),
    SLUICE_IPV6_PREFIX: props.ipv6Prefix,
    SLUICE_DENIALS: props.denials === 'backend-429' ? 'backend' : undefined,
    SLUICE_UPSTREAM: props.upstream?.functionArn,
    SLUICE_UPSTREAM_DEADLINE_MS: props.upstreamDeadline?.toMilliseconds(),
    SLUICE_UPSTREAM_TTL_MS: props.upstreamCacheTtl?.toMilliseconds(),
    SLUICE_UPSTREAM_CACHE_HEADERS: props.upstreamCacheHeaders?.join(','),
    SLUICE_LOG_LEVEL: props.logLevel,
    SLUICE_LOG_CALLERS: props.logCallers,
    SLUICE_METRICS_FLUSH_MS: props.metricsInterval?.toMilliseconds(),
    SLUICE_METRICS_NAMESPACE: props.metricsNamespace,
    SLUICE_METRICS_BY_API: props.metricsByApi,
  }
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}
