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
    why: 'a REST API can be made from an OpenAPI document',
    changelog: '`protect()` limits a `SpecRestApi`, too',
    added: [
      'sluice: ProtectSpecRestApiOptions',
      'sluice: SpecRestApiProtection',
      ...['RateLimiter', 'SharedRateLimiter'].map(
        (limiter) =>
          `sluice: ${limiter}.protect: protect(api: SpecRestApi, options?: ProtectSpecRestApiOptions): SpecRestApiProtection;`,
      ),
    ],
  },
  {
    why: 'a limiter of several subjects can reserve',
    changelog: '`takeAll` takes `reserve`, with the first subject as the caller',
    added: [
      'sluice/limiter: Limiter.takeAll: takeAll(subjects: WithoutRunning<readonly SubjectCharge<PolicyName, CostName>[], Running, "takeAll">, options?: ReserveOptions<CostName>): Promise<ReservedDecision<PolicyName>>;',
    ],
    removed: [
      'sluice/limiter: Limiter.takeAll: takeAll(subjects: readonly SubjectCharge[], options?: TakeOptions): Promise<Decision>;',
    ],
  },
  {
    why: 'a meter can call seldom or often',
    changelog: 'A meter calls once for a tenth of its reservation, or each `step` units',
    added: ['sluice/limiter: MeterOptions'],
    changed: [
      [
        'sluice/limiter: Limiter.meter: meter(reservation: string): Meter;',
        'sluice/limiter: Limiter.meter: meter(reservation: string, options?: MeterOptions): Meter<CostName>;',
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
    why: 'a handler can keep what its request holds, debit it, and settle it',
    changelog: '`reservationOf(req)` debits and settles them in the handler',
    added: [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a type
      'sluice/middleware: RateLimitOptions.reserve?: ${number}ms | ${number}s | ${number}m | ${number}h | ${number}d',
      'sluice/middleware: RequestReservation',
      'sluice/middleware: reservationOf',
    ],
  },
  {
    why: 'what was used may be known better than what was debited',
    changelog: '`meter.settle(used)` takes the total',
    changed: [
      [
        'sluice/limiter: Meter.settle: settle(): Promise<boolean>;',
        'sluice/limiter: Meter.settle: settle(used?: UsedUnits<CostName>): Promise<boolean>;',
      ],
    ],
  },
  {
    why: 'a middleware has one limiter for each tier, and refuses costs that it does not know',
    changelog: '`limiter` may be a function of the request',
    added: [
      'sluice/limiter: Limiter.costNames: readonly CostName[]',
      'sluice/middleware: Limits',
      'sluice/middleware: RequestLimits',
    ],
    changed: [
      [
        'sluice/middleware: RateLimitOptions.limiter: Pick<Limiter, "take" | "acquire" | "refund" | "countsRunning">',
        'sluice/middleware: RateLimitOptions.limiter: Limits | ((request: Request) => Limits | Promise<Limits | undefined> | undefined)',
      ],
    ],
  },
  {
    why: 'a server has tiers without a config table, and a middleware decides by them',
    changelog: '`createTieredLimiter({ tiers, store })` has tiers without a config table',
    added: [
      'sluice/middleware: TieredLimits',
      'sluice/tiered: Caller',
      'sluice/tiered: MessageOptions.tier?: string',
      'sluice/tiered: TieredDecision.decision: Decision<string> | undefined',
      'sluice/tiered: TieredLimiter.meter: meter(reservation: string, options?: MeterOptions): Meter;',
      'sluice/tiered: TieredRequest.tier?: string',
      'sluice/tiered: TieredSettings',
      'sluice/tiered: TiersInProgram',
      'sluice/tiered: createConfigTable',
    ],
    changed: [
      [
        'sluice/middleware: RateLimitOptions.keyBy?: (request: Request) => string | Promise<string | undefined> | undefined',
        'sluice/middleware: RateLimitOptions.keyBy?: (request: Request) => | string | Caller | Promise<string | Caller | undefined> | undefined',
      ],
      [
        'sluice/tiered: createTieredLimiter: function createTieredLimiter(options: TieredLimiterOptions): TieredLimiter;',
        'sluice/tiered: createTieredLimiter: function createTieredLimiter(options: | TieredLimiterOptions | TiersInProgram): TieredLimiter;',
      ],
    ],
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
  {
    why: 'a report of a screen: what was denied and why',
    changelog: 'the rest with `--all`',
    added: ['simulate --all'],
  },
  {
    why: 'a gate does not pass by not looking',
    changelog: 'With `--fail-if`, lines that cannot be read or understood fail',
    added: ['simulate --max-unjudged <lines>'],
    changed: [
      [
        'simulate --format <name> (json, clf, csv, document)',
        'simulate --format <name> (json, clf, csv, xml, document)',
      ],
    ],
  },
  {
    why: 'callers have fair shares of what they share',
    changelog: '`fair: true` of a policy that callers share',
    added: [
      'global.policies[].fair?',
      'route.policies[].fair?',
      'settings.preflight.fair?',
      'sluice/limiter: ConcurrencyInput.fair?: undefined',
      'sluice/limiter: PolicyInput.fair?: boolean',
      'sluice/limiter: SubjectCharge.caller?: string',
      'sluice/limiter: SubjectCharge.weight?: number',
      'sluice: TierProps.weight?: number',
      'sluice: WindowPolicyProps.fair?: boolean',
      'tier.policies[].fair?',
      'tier.weight?',
    ],
  },
  {
    why: 'the compiler knows the names and the algorithms of policies that are written as literals',
    changelog: 'Policies that are written as literals are checked by the compiler',
    added: [
      'sluice/limiter: AcquiredDecision.policies: Standings<PolicyName>',
      'sluice/limiter: AcquiredDecision.policy: AnyText | PolicyName',
      'sluice/limiter: AcquiredDecision.release: release(used?: UsedUnits<CostName>): Promise<boolean>;',
      'sluice/limiter: Costs',
      'sluice/limiter: Decision.policies: Standings<PolicyName>',
      'sluice/limiter: Decision.policy: PolicyName | AnyText',
      'sluice/limiter: Limiter.acquire: acquire(subject: WithRunning<string, Running>, options?: ReserveOptions<CostName>): Promise<Slot<PolicyName, CostName>>;',
      'sluice/limiter: Limiter.countsRunning: Running',
      'sluice/limiter: Limiter.peek: peek(subject: string, options?: TakeOptions<CostName>): Promise<Decision<PolicyName>>;',
      'sluice/limiter: Limiter.refund: refund( subject: string, units?: number, options?: RefundOptions & Pick<TakeOptions<CostName>, "costs"> ): Promise<void>;',
      'sluice/limiter: Limiter.settle: settle(reservation: string, used: UsedUnits<CostName>): Promise<boolean>;',
      'sluice/limiter: Limiter.take: take(subject: WithoutRunning<string, Running, "take">, options?: ReserveOptions<CostName>): Promise<ReservedDecision<PolicyName>>;',
      'sluice/limiter: Limiter.waitFor: waitFor(subject: WithoutRunning<string, Running, "waitFor">, options?: WaitOptions<CostName>): Promise<Decision<PolicyName>>;',
      'sluice/limiter: LimiterOf',
      'sluice/limiter: Meter.debit: debit(units: UsedUnits<CostName>): Promise<{ stop: boolean; }>;',
      'sluice/limiter: PolicyInput.window: "day" | "week" | "month" | "year" | AnyText',
      'sluice/limiter: PolicyMistakes',
      'sluice/limiter: ReserveOptions.costs?: Costs<CostName>',
      `sluice/limiter: ReserveOptions.reserve?: \${number}ms | \${number}s | \${number}m | \${number}h | \${number}d`,
      'sluice/limiter: ReservedDecision.policies: Standings<PolicyName>',
      'sluice/limiter: ReservedDecision.policy: AnyText | PolicyName',
      'sluice/limiter: Slot: type Slot<PolicyName extends string = string, CostName extends string = string> = AcquiredDecision<PolicyName, CostName> & AsyncDispose;',
      'sluice/limiter: Standings',
      'sluice/limiter: SubjectCharge.costs?: Costs<CostName>',
      'sluice/limiter: SubjectCharge.policies?: readonly PolicyName[]',
      'sluice/limiter: TakeOptions.costs?: Costs<CostName>',
      'sluice/limiter: UsedUnits: type UsedUnits<CostName extends string = string> = | number | { cost?: number; costs?: Costs<CostName>; };',
      'sluice/limiter: WaitOptions.costs?: Costs<CostName>',
      'sluice/limiter: Wrong',
      'sluice/limiter: createLimiter: function createLimiter<Policies extends readonly AnyPolicyInput[]>(options: Omit<LimiterOptions, "policies"> & object): LimiterOf<Policies>;',
      'sluice/middleware: decisionOf: function decisionOf(request: object): Decision<string> | undefined;',
    ],
    removed: [
      'sluice/limiter: AcquireOptions',
      'sluice/limiter: AcquiredDecision.policies: Readonly<Record<string, Standing>>',
      'sluice/limiter: AcquiredDecision.policy: string',
      'sluice/limiter: AcquiredDecision.release: release(used?: UsedUnits): Promise<boolean>;',
      'sluice/limiter: Decision.policies: Readonly<Record<string, Standing>>',
      'sluice/limiter: Decision.policy: string',
      'sluice/limiter: Limiter.acquire: acquire(subject: string, options?: AcquireOptions): Promise<Slot>;',
      'sluice/limiter: Limiter.countsRunning: boolean',
      'sluice/limiter: Limiter.peek: peek(subject: string, options?: TakeOptions): Promise<Decision>;',
      'sluice/limiter: Limiter.refund: refund( subject: string, units?: number, options?: RefundOptions & Pick<TakeOptions, "costs"> ): Promise<void>;',
      'sluice/limiter: Limiter.settle: settle(reservation: string, used: UsedUnits): Promise<boolean>;',
      'sluice/limiter: Limiter.take: take(subject: string, options: ReserveOptions): Promise<ReservedDecision>;',
      'sluice/limiter: Limiter.take: take(subject: string, options?: TakeOptions): Promise<Decision>;',
      'sluice/limiter: Limiter.waitFor: waitFor(subject: string, options?: WaitOptions): Promise<Decision>;',
      'sluice/limiter: Meter.debit: debit(units: UsedUnits): Promise<{ stop: boolean; }>;',
      'sluice/limiter: PolicyInput.window: string',
      'sluice/limiter: ReserveOptions.costs?: Readonly<Record<string, number>>',
      `sluice/limiter: ReserveOptions.reserve: \${number}ms | \${number}s | \${number}m | \${number}h | \${number}d`,
      'sluice/limiter: ReservedDecision.policies: Readonly<Record<string, Standing>>',
      'sluice/limiter: ReservedDecision.policy: string',
      'sluice/limiter: Slot: type Slot = AcquiredDecision & AsyncDispose;',
      'sluice/limiter: SubjectCharge.costs?: Readonly<Record<string, number>>',
      'sluice/limiter: SubjectCharge.policies?: readonly string[]',
      'sluice/limiter: TakeOptions.costs?: Readonly<Record<string, number>>',
      'sluice/limiter: UsedUnits: type UsedUnits = | number | { cost?: number; costs?: Readonly<Record<string, number>>; };',
      'sluice/limiter: WaitOptions.costs?: Readonly<Record<string, number>>',
      'sluice/limiter: WrittenConcurrency',
      'sluice/limiter: WrittenPolicy',
      'sluice/limiter: createLimiter: function createLimiter<Window extends string, MaxDelay extends string = string, BlockFor extends string = string, Timeout extends string = string>(options: Omit<LimiterOptions, "policies"> & object): Limiter;',
      'sluice/middleware: decisionOf: function decisionOf(request: object): Decision | undefined;',
    ],
  },
  {
    why: 'an item of no kind could be removed by no command',
    changelog: '`--remove` takes away an invalid item that no other command does',
    added: ['doctor --remove <item>', 'doctor -y, --yes'],
  },
  {
    why: 'a command took a limit or a block away without a question',
    changelog:
      '`sluice off`, `observe on`, `block add --allow`, `block remove`, `apis remove` and, where it takes a limit away',
    added: [
      'apis remove -y, --yes',
      'block add -y, --yes',
      'block remove -y, --yes',
      'clients set -y, --yes',
      'observe -y, --yes',
      'off -y, --yes',
    ],
  },
  {
    why: 'one word for one thing: two were the same',
    changelog: '[Each word of the library](docs/vocabulary.md) in one sentence',
    added: ['sluice/tiered: TieredLimiter.releaseSlots: releaseSlots(reservation: string): Promise<boolean>;'],
    removed: [
      'sluice/limiter: AcquiredDecision.waitMs: number',
      'sluice/limiter: Decision.waitMs: number',
      'sluice/limiter: Limiter.release: release(reservation: string): Promise<boolean>;',
      'sluice/limiter: ReservedDecision.waitMs: number',
      'sluice/tiered: TieredLimiter.release: release(reservation: string): Promise<boolean>;',
    ],
  },
  {
    why: 'a renamed construct moved every client to another tier in silence',
    changelog: "`configTableLoss: 'accept'` goes on",
    added: ['sluice: RateLimiterProps.configTableLoss?: "refuse" | "accept"'],
  },
  {
    why: 'a name promised what only DynamoDB’s own deletion protection does',
    changelog: '`deletionGuard`',
    added: ['DeletionGuardOptions', 'RateLimiterProps'].map((props) => `sluice: ${props}.deletionGuard?: boolean`),
    removed: ['DeletionGuardOptions', 'RateLimiterProps'].map(
      (props) => `sluice: ${props}.deletionProtection?: boolean`,
    ),
  },
  {
    why: 'a config table could be deleted by hand',
    changelog: '`configDeletionProtection: false` leaves it out',
    added: ['LimiterTablesOptions', 'RateLimiterProps'].map(
      (props) => `sluice: ${props}.configDeletionProtection?: boolean`,
    ),
  },
  {
    why: 'logs were deleted with the stack, whatever a team’s rules',
    changelog: '`logRemovalPolicy` keeps',
    added: ['AuthorizerFunctionOptions', 'RateLimiterProps'].map(
      (props) => `sluice: ${props}.logRemovalPolicy?: RemovalPolicy`,
    ),
  },
  {
    why: 'whoever began with an empty folder had to write the program',
    changelog: '`sluice init` in a folder without a program',
    added: ['init --express'],
    changed: [['init --for <what> (cdk, http-api, library)', 'init --for <what> (cdk, http-api, express, library)']],
  },
]
