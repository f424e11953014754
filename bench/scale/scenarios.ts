import type { PolicyInput, SubjectCharge } from '../../limiter'
import { PUBLISHED } from './published-limits'

/** What an account may have. */
interface Account {
  readonly gateway: { readonly perSecond: number; readonly burst: number }
  /** Instances at a time. */
  readonly concurrency: number
  readonly tableWrites: number
  /** @default one for each item, as in a table that has already split its hot items */
  readonly partitions?: number
}

/** An account as AWS makes it, with a table that was made just now. */
const NEW_ACCOUNT: Account = {
  gateway: { perSecond: PUBLISHED.gateway, burst: PUBLISHED.gatewayBurst },
  concurrency: PUBLISHED.concurrency,
  tableWrites: PUBLISHED.newTable,
  partitions: PUBLISHED.newTable / PUBLISHED.item,
}

/** Quotas are raised and the table is warm, so that only the limits remain that cannot be raised. */
const RAISED: Account = {
  gateway: { perSecond: 10_000_000, burst: 10_000_000 },
  concurrency: 100_000,
  tableWrites: 10_000_000,
}

/** What goes wrong in the second that is measured. */
interface Trouble {
  /** How far clocks are ahead or behind at most, in milliseconds. */
  readonly skewMs: number
  /** Share of the instances that vanish in a second; new ones take their place. */
  readonly vanishing: number
  /** One of so many partitions of the table takes nothing. */
  readonly throttled: { readonly partitions: number; readonly partition: number }
}

/** The callers, their limit, and the account. */
export interface Scenario {
  /** In file names and on the command line. */
  readonly id: string
  readonly title: string
  readonly account: Account
  readonly clients: number
  /** 0: all alike. 1: Zipf, the n-th client a n-th as often as the first. */
  readonly skew: number
  readonly policies: readonly PolicyInput[]
  /** Whether a strict subject that is too hot for its item is leased for a while. */
  readonly autoLease: boolean
  /** The lowest rate that is simulated. @default the lowest of all */
  readonly from?: number
  /** The highest rate that is simulated: above it, nothing new happens. */
  readonly upTo: number
  readonly trouble?: Trouble
  /** Whether windows are minutes: the instances that the beginning of one needs have been started for the last one. */
  readonly minutes?: boolean
  /** Whether each rate is a moment of one growth, at which the instances were not there before. */
  readonly grows?: boolean
  /** What an invocation takes beside its calls to DynamoDB, in milliseconds. */
  readonly invocationMs: number
  subjectsOf(client: number): SubjectCharge[]
}

const MILLION = 1_000_000
/**
 * What the client's own limit adds to an invocation on average, in milliseconds. It stands for that limit where growth
 * is measured: a hundred and seventy million requests up to a million a second.
 */
const CLIENTS_WRITE_MS = 4
/** What all clients together may take in a second. */
const GLOBAL_LIMIT = 500_000

const perClient = (limit: number): PolicyInput => ({ name: 'per-client', limit, window: '1s' })
const forAll = (consistency: PolicyInput['consistency'], seconds = 1): PolicyInput => ({
  name: 'for-all',
  limit: GLOBAL_LIMIT * seconds,
  window: `${seconds}s`,
  consistency,
})

const FOR_ALL: SubjectCharge = { subject: 'global', policies: ['for-all'] }
const theClientAndAll = (client: number): SubjectCharge[] => [
  FOR_ALL,
  { subject: `client:${client}`, policies: ['per-client'] },
]

/** What a scenario has unless it says otherwise. */
const USUAL = {
  account: RAISED,
  clients: 100_000,
  skew: 0,
  policies: [perClient(20)],
  autoLease: true,
  upTo: MILLION,
  invocationMs: 1.5,
  subjectsOf: (client: number): SubjectCharge[] => [{ subject: `client:${client}` }],
} satisfies Partial<Scenario>

/** Those that hold up to a million requests a second. */
const HOLDING: readonly Scenario[] = [
  { ...USUAL, id: 'even', title: '20/s per client, clients alike' },
  { ...USUAL, id: 'skewed', title: '20/s per client, Zipf clients, the hottest far over its limit', skew: 1 },
  {
    ...USUAL,
    id: 'hot-leased',
    title: '100,000/s per client, Zipf clients, autoLease as it is by default',
    skew: 1,
    policies: [perClient(100_000)],
  },
  {
    ...USUAL,
    id: 'leased-global',
    title: '20/s per client and a leased 500,000/s for all',
    policies: [forAll('leased'), perClient(20)],
    subjectsOf: theClientAndAll,
  },
  {
    ...USUAL,
    id: 'leased-minute',
    title: '20/s per client and a leased 30,000,000/min for all',
    policies: [forAll('leased', 60), perClient(20)],
    minutes: true,
    subjectsOf: theClientAndAll,
  },
]

/** The table has twice as many partitions as a million writes a second need. */
const TROUBLE: Trouble = { skewMs: 500, vanishing: 0.01, throttled: { partitions: 2000, partition: 0 } }

const IN_TROUBLE = '-in-trouble'
export const isInTrouble = (id: string): boolean => id.endsWith(IN_TROUBLE)

export const SCENARIOS: readonly Scenario[] = [
  {
    ...USUAL,
    id: 'new-account',
    title: 'a new account and table: 20/s per client, clients alike',
    account: NEW_ACCOUNT,
    upTo: 100_000,
  },
  {
    ...USUAL,
    id: 'hot-strict',
    title: '100,000/s per client, Zipf clients, autoLease: false',
    skew: 1,
    policies: [perClient(100_000)],
    autoLease: false,
    upTo: 100_000,
  },
  {
    ...USUAL,
    id: 'strict-global',
    title: '20/s per client and a strict 500,000/s for all, autoLease: false',
    policies: [forAll('strict'), perClient(20)],
    autoLease: false,
    upTo: 20_000,
    subjectsOf: theClientAndAll,
  },
  ...HOLDING,
  ...HOLDING.map((scenario) => ({
    ...scenario,
    id: `${scenario.id}${IN_TROUBLE}`,
    title: `in trouble: ${scenario.title}`,
    from: 10_000,
    trouble: TROUBLE,
  })),
  {
    ...USUAL,
    id: 'growing',
    title: 'growing: a leased 500,000/s for all',
    policies: [forAll('leased')],
    from: 20_000,
    grows: true,
    invocationMs: USUAL.invocationMs + CLIENTS_WRITE_MS,
    subjectsOf: () => [FOR_ALL],
  },
]
