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
  /** Whether units are leased; instances have to learn how many. */
  readonly learns: boolean
  /** The highest rate that is simulated: above it, nothing new happens. */
  readonly upTo: number
  subjectsOf(client: number): SubjectCharge[]
}

const MILLION = 1_000_000
const CLIENTS = 100_000
/** What all clients together may take in a second. */
const GLOBAL_LIMIT = 500_000

const perClient = (limit: number): PolicyInput => ({ name: 'per-client', limit, window: '1s' })
const forAll = (consistency: PolicyInput['consistency'], seconds = 1): PolicyInput => ({
  name: 'for-all',
  limit: GLOBAL_LIMIT * seconds,
  window: `${seconds}s`,
  consistency,
})

const theClient = (client: number): SubjectCharge[] => [{ subject: `client:${client}` }]
const theClientAndAll = (client: number): SubjectCharge[] => [
  { subject: 'global', policies: ['for-all'] },
  { subject: `client:${client}`, policies: ['per-client'] },
]

export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'new-account',
    title: 'a new account and table: 20/s per client, clients alike',
    account: NEW_ACCOUNT,
    clients: CLIENTS,
    skew: 0,
    policies: [perClient(20)],
    autoLease: true,
    learns: false,
    upTo: 100_000,
    subjectsOf: theClient,
  },
  {
    id: 'even',
    title: '20/s per client, clients alike',
    account: RAISED,
    clients: CLIENTS,
    skew: 0,
    policies: [perClient(20)],
    autoLease: true,
    learns: false,
    upTo: MILLION,
    subjectsOf: theClient,
  },
  {
    id: 'skewed',
    title: '20/s per client, Zipf clients, the hottest far over its limit',
    account: RAISED,
    clients: CLIENTS,
    skew: 1,
    policies: [perClient(20)],
    autoLease: true,
    learns: false,
    upTo: 200_000,
    subjectsOf: theClient,
  },
  {
    id: 'hot-strict',
    title: '100,000/s per client, Zipf clients, autoLease: false',
    account: RAISED,
    clients: CLIENTS,
    skew: 1,
    policies: [perClient(100_000)],
    autoLease: false,
    learns: false,
    upTo: 100_000,
    subjectsOf: theClient,
  },
  {
    id: 'hot-leased',
    title: '100,000/s per client, Zipf clients, autoLease as it is by default',
    account: RAISED,
    clients: CLIENTS,
    skew: 1,
    policies: [perClient(100_000)],
    autoLease: true,
    learns: true,
    upTo: 100_000,
    subjectsOf: theClient,
  },
  {
    id: 'strict-global',
    title: '20/s per client and a strict 500,000/s for all, autoLease: false',
    account: RAISED,
    clients: CLIENTS,
    skew: 0,
    policies: [forAll('strict'), perClient(20)],
    autoLease: false,
    learns: false,
    upTo: 20_000,
    subjectsOf: theClientAndAll,
  },
  {
    id: 'leased-global',
    title: '20/s per client and a leased 500,000/s for all',
    account: RAISED,
    clients: CLIENTS,
    skew: 0,
    policies: [forAll('leased'), perClient(20)],
    autoLease: true,
    learns: true,
    upTo: 100_000,
    subjectsOf: theClientAndAll,
  },
  {
    id: 'leased-minute',
    title: '20/s per client and a leased 30,000,000/min for all',
    account: RAISED,
    clients: CLIENTS,
    skew: 0,
    policies: [forAll('leased', 60), perClient(20)],
    autoLease: true,
    learns: true,
    upTo: 100_000,
    subjectsOf: theClientAndAll,
  },
]
