import { DYNAMODB_USD, LAMBDA_USD } from '../../provisioning/prices'

export { PRICES_READ } from '../../provisioning/prices'

/**
 * US dollars in us-east-1, without free tiers, volume discounts and taxes. `-- --region-prices file.json` replaces any
 * of them by name.
 *
 * @see https://aws.amazon.com/api-gateway/pricing/ first tier
 * @see https://aws.amazon.com/cloudwatch/pricing/ standard log class
 * @see https://aws.amazon.com/waf/pricing/
 * @see https://upstash.com/docs/redis/overall/billing pay as you go, $0.20 for 100,000 commands
 */
export const US_EAST_1 = {
  ...DYNAMODB_USD,
  ...LAMBDA_USD,
  restApiMillionRequests: 3.5,
  httpApiMillionRequests: 1,
  logsGb: 0.5,
  wafMillionRequests: 0.6,
  wafAclMonth: 5,
  wafRuleMonth: 1,
  redisMillionCommands: 2,
} as const

type PriceName = keyof typeof US_EAST_1
export type Prices = Readonly<Record<PriceName, number>>

/**
 * Another region's prices: the given ones, and those of us-east-1 for the rest.
 *
 * @throws Error that names a price which does not exist, or is not a number.
 */
export function withPrices(given: Readonly<Record<string, unknown>>): Prices {
  for (const [name, usd] of Object.entries(given)) {
    if (!Object.hasOwn(US_EAST_1, name))
      throw new Error(`"${name}" is not a price: those are ${Object.keys(US_EAST_1).join(', ')}`)
    if (typeof usd !== 'number' || !(usd >= 0))
      throw new Error(`${name} must be US dollars from 0, got ${JSON.stringify(usd)}`)
  }
  return { ...US_EAST_1, ...(given as Partial<Prices>) }
}
