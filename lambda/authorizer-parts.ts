import type { Clock } from '../limiter/clock'
import type { ReservingLimiter } from '../limiter/reservations/reservation'
import type { Plans } from './charge-plans'
import type { Configuration } from './config-table/configuration'
import type { Client } from './config-table/items/client-item'
import type { SigningKeys } from './config-table/items/signing-keys'
import type { SubjectKeys } from './config-table/subject-keys'
import type { RememberingDirectory } from './identity/failed-credentials'
import type { Sources } from './identity/sources'
import type { Log } from './telemetry/log'
import type { Telemetry } from './telemetry/telemetry'
import type { Checker } from './upstream/check'

/** What an authorizer is made of. */
export interface AuthorizerParts {
  readonly limiter: ReservingLimiter
  readonly configuration: { current(): Promise<Configuration | undefined> }
  /** The secrets with which subjects' keys are hashed; `undefined` while they are unknown. @default no secret */
  readonly subjectKeys?: { current(): Promise<SubjectKeys | undefined> }
  /** The secrets with which API keys are signed; `undefined` while they are unknown. @default none */
  readonly signingKeys?: { current(): Promise<SigningKeys | undefined> }
  readonly plans: Plans
  /**
   * Clients by credential. Unverified credentials are looked up only as often as `settings.failedCredentials` allows.
   */
  readonly clients: RememberingDirectory<Client>
  readonly sources: Pick<Sources, 'of'>
  readonly clock: Clock
  /** Resolves after so many milliseconds. @default a timer */
  readonly wait?: (ms: number) => Promise<void>
  readonly log: Log
  /** Bits of an IPv6 address that identify one caller, where the settings do not say. */
  readonly ipv6Prefix: number
  /**
   * Whether requests pass uncounted when not even the failure mode can decide: without tiers, or without a table that
   * has ever answered.
   */
  readonly failOpen: boolean
  /**
   * `none`: no caller of this deployment has to be verified, even when the config table cannot be read. `config`: a
   * caller that cannot be verified is refused. @default 'config'
   */
  readonly authentication?: 'config' | 'none'
  /** Who answers requests over the limit on HTTP APIs: API Gateway its 403, or the backend 429. @default 'gateway' */
  readonly denials?: 'gateway' | 'backend'
  /** The upstream authorizer, which is called first: no request passes unless it grants it. @default none */
  readonly upstream?: Checker
  /** Counts and logs every answer. @default no telemetry */
  readonly telemetry?: Pick<Telemetry, 'answered'>
}
