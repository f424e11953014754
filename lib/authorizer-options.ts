import type { Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2'
import type { Architecture, FunctionOptions, IFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import type { ILogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ReleaseOptions } from './release'

/** How the authorizer function runs, decides and logs. */
export interface AuthorizerFunctionOptions {
  /** @default Architecture.ARM_64 */
  readonly architecture?: Architecture | undefined
  /**
   * The Node.js that the functions run on: 20 or newer.
   * @default nodejs24.x, on which they are tested
   */
  readonly runtime?: Runtime | undefined
  /**
   * Memory in MiB, which also sets the CPU share. CPU shortens cold starts; a warm decision mostly waits for DynamoDB.
   *
   * @default 1769, which is one full CPU
   * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
   */
  readonly memorySize?: number | undefined
  /**
   * The function's timeout. API Gateway waits at most ten seconds for an authorizer of an HTTP API.
   *
   * @default Duration.seconds(10)
   */
  readonly timeout?: Duration | undefined
  /**
   * Concurrency reserved for this function, which is also its maximum. When all instances are busy, API Gateway cannot
   * call the authorizer and answers 500, not 429. Recommended: peak requests per second × the decision's deadline (0.3
   * s), at least 20. See docs/deploy.md.
   *
   * @default the account's unreserved concurrency, and a warning at the synth
   */
  readonly reservedConcurrentExecutions?: number | undefined
  /**
   * Has APIs call an alias of the function, which moves to a new version at each deployment that changes it: with
   * `provisionedConcurrency` without cold starts, with `rollout` gradually. `{}` is the alias alone.
   * @default APIs call the function, and a deployment changes it for all requests at once
   */
  readonly release?: ReleaseOptions | undefined
  /**
   * Runs the functions in a VPC, where they need a gateway endpoint for DynamoDB. The one that seeds tiers also needs
   * S3, where it answers CloudFormation, CloudFormation itself, unless `configTableLoss` is `accept`, and, when the
   * stack is deleted, Lambda and, with `invokeRole`, API Gateway.
   * @default no VPC
   */
  readonly vpc?: IVpc | undefined
  /** Needs `vpc`. @default private subnets */
  readonly vpcSubnets?: SubnetSelection | undefined
  /** Needs `vpc`. @default one is created for each function */
  readonly securityGroups?: ISecurityGroup[] | undefined
  /**
   * Where the functions log; not together with `logRetention` and `logRemovalPolicy`.
   * @default one is created for each function
   */
  readonly logGroup?: ILogGroup | undefined
  /**
   * Retention of logs, in log groups that are created here.
   *
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays | undefined
  /**
   * What becomes of log groups that are created here when the stack is deleted.
   *
   * @default RemovalPolicy.DESTROY
   */
  readonly logRemovalPolicy?: RemovalPolicy | undefined
  /**
   * The failure mode while DynamoDB cannot be reached: `local` counts in each instance's memory, `allow` and `deny`
   * count nothing.
   * @default 'local'
   */
  readonly failureMode?: 'local' | 'allow' | 'deny' | undefined
  /**
   * Whether callers may have to show credentials. `config`: the tiers and routes in the config table decide for which
   * callers, and while it cannot be read every request is refused (500 on REST and WebSocket APIs, 403 on HTTP APIs).
   * `none`: no caller ever has to, so the failure mode decides then; tiers and routes with `credentials: required` are
   * a mistake.
   * @default 'config'
   */
  readonly authentication?: 'config' | 'none' | undefined
  /**
   * Time limit of one decision, 20 ms to 9 s; after it the failure mode decides.
   *
   * @default Duration.millis(300)
   */
  readonly decisionDeadline?: Duration | undefined
  /**
   * How long an instance caches tiers and clients.
   *
   * @default Duration.seconds(30)
   */
  readonly configTtl?: Duration | undefined
  /**
   * Bits of an IPv6 address that identify one caller.
   * @default 56
   */
  readonly ipv6Prefix?: number | undefined
  /**
   * How a request over the limit is answered on an HTTP API, where an authorizer cannot answer 429. `gateway-403`: the
   * gateway answers a plain 403. `backend-429`: it is let through, and `withRateLimit` of `sluice/backend` around
   * **every** handler answers 429; a handler without it serves it.
   * @default 'gateway-403'
   */
  readonly denials?: 'gateway-403' | 'backend-429' | undefined
  /**
   * The authorizer that the API had before: its function is called first, with the original event, and nothing passes
   * or is counted unless it allows it. Its policy, principal and context are passed on; see docs/deploy.md.
   * @default no other authorizer is called
   */
  readonly upstream?: IFunction | undefined
  /**
   * Time for the upstream authorizer's answer, 20 ms to 9 s; a request that it does not answer in time is denied.
   * @default Duration.seconds(2)
   */
  readonly upstreamDeadline?: Duration | undefined
  /**
   * How long an answer of the upstream authorizer is cached, up to an hour, for requests with the same
   * `upstreamCacheHeaders` to the same stage: this replaces its result cache in API Gateway.
   * @default Duration.seconds(0), it is called for each request
   */
  readonly upstreamCacheTtl?: Duration | undefined
  /**
   * The headers by which the upstream authorizer's answers differ, such as `Authorization`: its identity sources. For a
   * request without one of them it is always called.
   * @default none, which is valid without caching only
   */
  readonly upstreamCacheHeaders?: readonly string[] | undefined
  /**
   * The lowest level that is logged: denials are `info`, decisions without DynamoDB `warn`, mistakes and failures
   * `error`, and every answer `debug`.
   * @default 'info'
   */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | undefined
  /**
   * How the log names who was denied: `hashed` as in the state table, `clear` by id and address, too. Credentials are
   * never logged.
   * @default 'hashed'
   */
  readonly logCallers?: 'hashed' | 'clear' | undefined
  /**
   * How often an instance writes its metrics at most, up to an hour; 0 is with every request, which costs more than the
   * decision.
   * @default Duration.seconds(10)
   */
  readonly metricsInterval?: Duration | undefined
  /**
   * Where CloudWatch keeps the metrics. To distinguish limiters of one account and Region, give each its own.
   * @default 'Sluice'
   */
  readonly metricsNamespace?: string | undefined
  /**
   * Whether requests are counted by API, too, under the dimension `Api`: its label, or its id. CloudWatch charges for
   * each API; a function's instance counts at most 100 separately.
   * @default false
   */
  readonly metricsByApi?: boolean | undefined
  /**
   * Any other function property, as an escape hatch: it overrides all of the above. Properties that say where and how
   * functions of an organisation run, such as `vpc`, `layers`, `tracing`, `codeSigningConfig` and `environment`, apply
   * to the function that seeds tiers, too; names, roles, memory, timeout and concurrency do not.
   *
   * @default none
   */
  readonly functionOptions?: Omit<FunctionOptions, 'logGroup'> | undefined
}

export interface AuthorizerFunctionProps extends AuthorizerFunctionOptions {
  /** Where subjects' state is kept, see limiter/stores. */
  readonly stateTable: ITableV2
  /** Where tiers, routes and clients are kept, see lambda/config-table. */
  readonly configTable: ITableV2
}
