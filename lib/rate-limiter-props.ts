import type { RegionShares } from '../provisioning/shares-by-region'
import type { AuthorizerFunctionOptions } from './authorizer-options'
import type { IdentitySource } from './identity'
import type { LimiterTablesOptions } from './limiter-tables'
import type { ConfigTableCheckOptions } from './seed/config-table-check'
import type { DeletionGuardOptions } from './seed/deletion-guard'
import type { TiersInCode } from './tiers-props'

/** Props of a `RateLimiter`; every prop has a default. */
export interface RateLimiterProps
  extends LimiterTablesOptions,
    AuthorizerFunctionOptions,
    DeletionGuardOptions,
    ConfigTableCheckOptions,
    TiersInCode {
  /**
   * A YAML file with initial tiers and routes, relative to the working directory of the synth. An error in it fails the
   * synth. Later edits of operators in the table are kept, unless `seed` says otherwise.
   *
   * @default `tiers`; without either, nothing is limited until the config table has tiers
   */
  readonly tiersFile?: string | undefined
  /**
   * What a deployment that changes the tiers does with edits that others made in the table. `keep-edits`: they stay,
   * and so do items that are no longer in the code. `authoritative`: the tiers, routes, global policies and settings of
   * the table become those of the code; the edits that this undoes are in the output `…Undone` and, in full, in the
   * seed function's log. A tier that clients still have is not removed: the deployment fails. Clients, blocks, labels
   * and the switch are never touched.
   *
   * @default 'keep-edits'
   */
  readonly seed?: 'keep-edits' | 'authoritative' | undefined
  /**
   * The sources of identity, in order, such as `jwt({ issuer, audience })`, whose tokens Sluice verifies. An error
   * fails the synth. They are seeded into the item `settings`, together with the settings of the tiers file, which then
   * must not have `identity`.
   *
   * @default the tiers file's identity; without it API keys, then addresses
   */
  readonly identity?: IdentitySource | readonly IdentitySource[] | undefined
  /**
   * How much of each limit of `tiersFile` or `tiers` each Region has, if limiters of several Regions share the limits:
   * in percent by the Region's name, 100 in total. The parts of a limit add up to exactly the limit.
   *
   * @default full limits
   */
  readonly regionShares?: RegionShares | undefined
  /**
   * Whether API Gateway calls the function by a role that all APIs of the limiter share, in place of a permission for
   * each API. Lambda takes 20 KB of permissions, about 50 APIs. A principal that may pass this role (`iam:PassRole`) to
   * an authorizer can make it call the function.
   *
   * @default false; the synth warns of more than 40 APIs
   */
  readonly invokeRole?: boolean | undefined
}
