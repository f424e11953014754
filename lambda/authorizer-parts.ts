import type { Clock } from '../limiter/clock'
import type { RateLimiter } from '../limiter/rate-limiter'
import type { Plans } from './charge-plans'
import type { Configuration } from './config-table/configuration'
import type { Client } from './config-table/items/client-item'
import type { SubjectKeys } from './config-table/subject-keys'
import type { RememberingDirectory } from './identity/failed-credentials'
import type { Sources } from './identity/sources'
import type { Log } from './telemetry/log'
import type { Telemetry } from './telemetry/telemetry'
import type { Checker } from './upstream/check'

/** What an authorizer is made of. */
export interface AuthorizerParts {
  readonly limiter: Pick<RateLimiter, 'decide'>
  readonly configuration: { current(): Promise<Configuration | undefined> }
  /** The hashes under which subjects are stored; `undefined` while they are unknown. @default without a secret */
  readonly subjectKeys?: { current(): Promise<SubjectKeys | undefined> }
  readonly plans: Plans
  /** Clients by credential. Made-up credentials are looked up only as often as `settings.failedCredentials` allows. */
  readonly clients: RememberingDirectory<Client>
  readonly sources: Sources
  readonly clock: Clock
  /** Lets time pass, in milliseconds. @default a timer */
  readonly wait?: (ms: number) => Promise<void>
  readonly log: Log
  /** Bits of an IPv6 address that make one caller, where the settings do not say. */
  readonly ipv6Prefix: number
  /**
   * Whether requests pass uncounted when not even the failure mode can decide: without tiers, or without a table that
   * has ever answered.
   */
  readonly failOpen: boolean
  /**
   * `none`: no caller of this deployment has to be verified, even when the config table cannot be read. `config`: who
   * cannot be verified is refused. @default 'config'
   */
  readonly authentication?: 'config' | 'none'
  /** Who answers requests over the limit on HTTP APIs: API Gateway its 403, or the backend 429. @default 'gateway' */
  readonly denials?: 'gateway' | 'backend'
  /** The authorizer that the API had before: asked first, and nothing passes without its yes. @default none */
  readonly upstream?: Checker
  /** Counts and logs every answer. @default nothing is counted */
  readonly telemetry?: Pick<Telemetry, 'answered'>
}
