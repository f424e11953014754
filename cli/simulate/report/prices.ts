/** When DynamoDB's prices were last looked up, in a stored copy. Look at them again before you rely on a bill. */
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
