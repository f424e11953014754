import { DYNAMODB_USD, LAMBDA_USD, PRICES_READ } from '../provisioning/prices'

/** US dollars, us-east-1, without free tiers, of what provisioning knows no price of. */
const USD = {
  /** https://aws.amazon.com/api-gateway/pricing/ */
  restMillionRequests: 3.5,
  httpMillionRequests: 1,
  webSocketMillionMessages: 1,
  /** https://aws.amazon.com/cloudwatch/pricing/ — by the month, charged by the hour */
  metricMonth: 0.3,
  alarmMonth: 0.1,
  contributorRuleMonth: 0.5,
  dashboardMonth: 3,
  logsGb: 0.5,
} as const

const HOURS_OF_MONTH = 730
/** A run takes some twenty minutes: what is charged by the hour is charged for one. */
const HOURS = 1

interface Item {
  readonly what: string
  readonly usd: number
}

/** What a run costs at most, by what it is for. */
const COSTS: readonly Item[] = [
  {
    what: 'API Gateway: 4 REST, 4 HTTP and 1 WebSocket API, 3,000 requests',
    usd: (3000 * USD.restMillionRequests + 500 * USD.httpMillionRequests + 100 * USD.webSocketMillionMessages) / 1e6,
  },
  {
    what: 'Lambda: 13 functions, 6,000 requests, 200 GB-seconds',
    usd: (6000 * LAMBDA_USD.lambdaMillionRequests) / 1e6 + 200 * LAMBDA_USD.lambdaGbSecond,
  },
  {
    what: 'DynamoDB: 5 tables, 40,000 write units (most of them to be throttled), 10,000 read units',
    usd: (40_000 * DYNAMODB_USD.dynamodbMillionWriteUnits + 10_000 * DYNAMODB_USD.dynamodbMillionReadUnits) / 1e6,
  },
  {
    what: 'CloudWatch, for an hour: a dashboard, 20 alarms, a rule, 60 metrics, 20 MB of logs',
    usd:
      ((USD.dashboardMonth + 20 * USD.alarmMonth + USD.contributorRuleMonth + 60 * USD.metricMonth) * HOURS) /
        HOURS_OF_MONTH +
      0.02 * USD.logsGb,
  },
]

/** In whole cents, rounded up. */
export const costInCents = (): number => Math.ceil(COSTS.reduce((sum, { usd }) => sum + usd * 100, 0))

/** What is created and what that costs, for the question that is asked before. */
export const costText = (): string =>
  [
    ...COSTS.map(({ what, usd }) => `  ${what}: $${usd.toFixed(3)}`),
    `At most ${costInCents()} cents, by prices of ${PRICES_READ} in us-east-1, without free tiers and taxes.`,
  ].join('\n')
