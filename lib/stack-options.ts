import { RemovalPolicy } from 'aws-cdk-lib'
import { Architecture, Runtime, RuntimeFamily } from 'aws-cdk-lib/aws-lambda'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Node } from 'constructs'
import { ConfigError, Mistake, printed } from '../limiter/errors'
import type { RateLimiterProps } from './rate-limiter-props'

/** The options of this repository's stack, by `npx cdk deploy -c name=value`. */
export interface SluiceStackOptions
  extends Pick<
    RateLimiterProps,
    | 'tiersFile'
    | 'architecture'
    | 'runtime'
    | 'removalPolicy'
    | 'deletionGuard'
    | 'configTableLoss'
    | 'logRetention'
    | 'stateTableName'
    | 'configTableName'
    | 'reservedConcurrentExecutions'
  > {
  /** @default 'Sluice' */
  readonly stackName?: string
  /** Whether it has a dashboard, alarms, queries and a rule for denied callers. @default false */
  readonly dashboard?: boolean
  /** Where alarms are sent: an e-mail address, or the ARN of an SNS topic. @default nowhere */
  readonly alarms?: string
}

const DAYS = Object.values(RetentionDays).filter(
  (days): days is RetentionDays => typeof days === 'number' && days !== RetentionDays.INFINITE,
)
const NAME = /^[A-Za-z0-9_.-]{3,255}$/

/** A setting: a parser, which returns `undefined` for invalid text, and what was wanted. */
const SETTINGS = {
  tiersFile: { read: (text: string) => text, wanted: 'a YAML file' },
  stackName: {
    read: (text: string) => (/^[A-Za-z][A-Za-z0-9-]{0,127}$/.test(text) ? text : undefined),
    wanted: 'a name of letters, digits and "-"',
  },
  stateTableName: {
    read: (text: string) => (NAME.test(text) ? text : undefined),
    wanted: 'a valid DynamoDB table name',
  },
  configTableName: {
    read: (text: string) => (NAME.test(text) ? text : undefined),
    wanted: 'a valid DynamoDB table name',
  },
  removalPolicy: {
    read: (text: string) => ({ destroy: RemovalPolicy.DESTROY, retain: RemovalPolicy.RETAIN })[text],
    wanted: 'destroy or retain',
  },
  deletionGuard: {
    read: (text: string) => ({ true: true, false: false })[text],
    wanted: 'true or false',
  },
  configTableLoss: {
    read: (text: string) => (({ refuse: 'refuse', accept: 'accept' }) as const)[text],
    wanted: 'refuse or accept',
  },
  dashboard: {
    read: (text: string) => ({ true: true, false: false })[text],
    wanted: 'true or false',
  },
  alarms: {
    read: (text: string) => (/^(arn:[\w-]+:sns:\S+|[^\s@]+@[^\s@]+)$/.test(text) ? text : undefined),
    wanted: 'an e-mail address or the ARN of an SNS topic',
  },
  architecture: {
    read: (text: string) => ({ arm64: Architecture.ARM_64, x86_64: Architecture.X86_64 })[text],
    wanted: 'arm64 or x86_64',
  },
  runtime: {
    read: (text: string) =>
      /^nodejs[2-9]\d\.x$/.test(text)
        ? new Runtime(text, RuntimeFamily.NODEJS, { supportsInlineCode: true })
        : undefined,
    wanted: 'a runtime of Lambda, nodejs20.x or newer',
  },
  reservedConcurrency: {
    read: (text: string) => (/^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined),
    wanted: 'an integer from 1 to 999999',
  },
  logRetentionDays: {
    read: (text: string) => DAYS.find((days) => String(days) === text),
    wanted: `one of ${DAYS.join(', ')}`,
  },
} as const

/**
 * Reads the context of an app.
 *
 * @throws ConfigError with every invalid setting.
 */
export function stackOptionsFrom(node: Node): SluiceStackOptions {
  const issues: Mistake[] = []
  const values = Object.entries(SETTINGS).map(([name, { read, wanted }]) => {
    const given: unknown = node.tryGetContext(name)
    if (given === undefined || given === '') return [name, undefined]
    const value = read(String(given))
    if (value === undefined)
      issues.push(new Mistake('invalid_value', `${name} must be ${wanted}, got ${printed(given)} (context)`))
    return [name, value]
  })
  if (issues.length > 0) throw new ConfigError(issues)
  const {
    logRetentionDays: logRetention,
    reservedConcurrency: reservedConcurrentExecutions,
    ...options
  } = Object.fromEntries(values)
  return { ...options, logRetention, reservedConcurrentExecutions }
}
