/**
 * AWS's published limits in us-east-1, read 2026-11-21 in stored copies of these pages.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html a partition, and
 * so an item
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html a new table
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html a table's quota
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html twice the peak before,
 * each 30 minutes
 * @see https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html instances, and how fast they come
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html requests a second
 */
export const PUBLISHED = {
  /** Write units a second. */
  item: 1000,
  newTable: 4000,
  tableQuota: 40_000,
  /** An on-demand table takes twice what it has taken before within this time. */
  doublingMinutes: 30,
  /** Instances of all functions of an account; a quota that AWS raises on request. */
  concurrency: 1000,
  /** Instances that a function gets every ten seconds. */
  instancesPerTenSeconds: 1000,
  /** Requests a second of an account, and how many may come at once; quotas that AWS raises on request. */
  gateway: 10_000,
  gatewayBurst: 5000,
} as const

/** Minutes until a new table takes so many writes a second, while traffic grows with it. */
export const minutesToWarm = (writesPerSecond: number): number =>
  Math.max(0, Math.ceil(Math.log2(writesPerSecond / PUBLISHED.newTable))) * PUBLISHED.doublingMinutes

/** Seconds until a function has so many instances. */
export const secondsToScale = (instances: number): number =>
  10 * Math.ceil(instances / PUBLISHED.instancesPerTenSeconds)
