/** One thing that users can name, and that b620fa4 has not, has no more, or has otherwise. */
interface Change {
  readonly why: string
  /** What the changelog says of it, under `Unreleased`. */
  readonly changelog: string
  /** Each stands for all that is in it: an interface for its fields, a command for its options. */
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
  /** As it was, and as it is. */
  readonly changed?: readonly (readonly [string, string])[]
}

/** All that differs from b620fa4 in the reference of `npm run counts -- --record`. A change of it is named here first. */
export const CHANGES: readonly Change[] = [
  {
    why: 'DynamoDB is called without the SDK, so a client is no longer needed and what it knew can be said instead',
    changelog: '`new DynamoDbStore({ tableName })` needs no client and no `@aws-sdk` package',
    added: [
      'sluice/limiter: AwsCredentials',
      'sluice/limiter: CredentialProvider',
      ...['sluice/limiter: DynamoDbStoreOptions', 'sluice/tiered: TieredLimiterOptions'].flatMap((options) => [
        `${options}.credentials?: AwsCredentials | CredentialProvider`,
        `${options}.endpoint?: string`,
        `${options}.region?: string`,
      ]),
    ],
    changed: ['sluice/limiter: DynamoDbStoreOptions', 'sluice/tiered: TieredLimiterOptions'].map((options) => [
      `${options}.client: Pick<DynamoDBClient, "send">`,
      `${options}.client?: Pick<DynamoDBClient, "send">`,
    ]),
  },
  {
    why: 'a limiter of several subjects can reserve',
    changelog: '`takeAll` takes `reserve`, with the first subject as the caller',
    added: [
      'sluice/limiter: Limiter.takeAll: takeAll(subjects: readonly SubjectCharge[], options: ReserveOptions): Promise<ReservedDecision>;',
    ],
  },
  {
    why: 'a meter can call seldom or often',
    changelog: 'A meter calls once for a tenth of its reservation, or each `step` units',
    added: ['sluice/limiter: MeterOptions'],
    changed: [
      [
        'sluice/limiter: Limiter.meter: meter(reservation: string): Meter;',
        'sluice/limiter: Limiter.meter: meter(reservation: string, options?: MeterOptions): Meter;',
      ],
    ],
  },
  {
    why: 'limiters of one table can count apart',
    changelog: '`createLimiter({ namespace })`',
    added: ['sluice/limiter: LimiterOptions.namespace?: string'],
  },
  {
    why: 'calls can be sent as they were spaced',
    changelog: '`waitFor(…, { lagMs })`',
    added: ['sluice/limiter: WaitOptions.lagMs?: number'],
  },
  {
    why: 'a handler can keep its slot, or free it',
    changelog: '`slotOf(req).hold()`',
    added: ['sluice/middleware: RequestSlot', 'sluice/middleware: slotOf'],
  },
  {
    why: 'API keys are signed, and their secrets are managed',
    changelog: 'New: `sluice signing-key status`, `rotate` and `remove`',
    added: [
      'signing-key remove <id>',
      'signing-key rotate',
      'signing-key status',
      'sluice: MistakeCode: "invalid_signing_key"',
    ],
  },
  {
    why: 'a cost that a request leaves open is set by the route',
    changelog: '`unbounded` of the route, a new field',
    added: ['route.cost.unbounded?', 'route.costs{}.unbounded?'],
  },
]
