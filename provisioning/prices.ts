/** When AWS's prices were last looked up, in a stored copy. Look at them again before you rely on a bill. */
export const PRICES_READ = '2026-11-21'

/**
 * US dollars in us-east-1, on demand, without free tiers, volume discounts and taxes.
 *
 * @see https://aws.amazon.com/dynamodb/pricing/on-demand/ on-demand prices were halved on 2024-11-01
 */
export const DYNAMODB_USD = {
  dynamodbMillionWriteUnits: 0.625,
  dynamodbMillionReadUnits: 0.125,
} as const

/**
 * The same of Lambda: arm64, first tier.
 *
 * @see https://aws.amazon.com/lambda/pricing/
 */
export const LAMBDA_USD = {
  lambdaMillionRequests: 0.2,
  lambdaGbSecond: 0.0000133334,
} as const

/** What a GB-second costs on x86_64, where it costs `lambdaGbSecond` on arm64. */
export const X86_GB_SECOND_USD = 0.0000166667
