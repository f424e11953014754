import type { EpochMs } from '../limiter/clock'
import type { Units } from '../limiter/request'
import type { Plan } from './charge-plans'
import type { Configuration } from './config-table/configuration'
import type { Access } from './config-table/items/access-list'
import type { Client } from './config-table/items/client-item'
import type { Provenance } from './config-table/items/signing-keys'
import type { Tier } from './config-table/items/tiers'
import type { Identity } from './identity/identify'
import type { SourceList } from './identity/sources'
import type { IpAddress } from './ip-address'
import type { Outcome } from './responses/context'
import type { GatewayRequest } from './responses/request'
import type { Rules } from './rules'
import type { Taken } from './telemetry/nearing'
import type { Check } from './upstream/check'

/**
 * What was found out about one request, step by step, up to its outcome. The log, the failure mode and `sluice doctor
 * --event`, `peek` and `usage` read it. A field is missing where no step got that far.
 */
export interface RequestTrace {
  readonly now: EpochMs
  /** As API Gateway sent it. */
  readonly event: unknown
  /** Missing for an event that is not a request. */
  readonly request?: GatewayRequest
  /** As it holds for the request's API and stage. */
  readonly configuration?: Configuration
  /** The sources of identity. */
  readonly sources?: SourceList
  /** The key under which a subject of this request has its state. */
  readonly keyOf?: (subject: string) => string
  /** Who made an API key, by the signing keys that this instance knows. */
  readonly provenanceOf?: (apiKey: string) => Provenance
  readonly ip?: IpAddress
  /** `ip:203.0.113.7`, as it is counted. */
  readonly address?: string
  /** What the access list says of the address. */
  readonly access?: Access
  /** The upstream authorizer's answer. */
  readonly upstream?: Check
  /** The routes that the request may match, and their combined requirements. */
  readonly rules?: Rules
  readonly identity?: Identity<Client>
  /** The tier of the caller. */
  readonly tier?: Tier
  /** Whether the caller's credentials are sufficient. */
  readonly verified?: true
  /** The policies for the request. */
  readonly plan?: Plan
  /** What the request takes, by what its routes say. */
  readonly units?: Units
  /** What it took of each policy, if it was allowed. */
  readonly taken?: readonly Taken[]
  /** The first step that has one is the last. */
  readonly outcome?: Outcome
}

/** A trace in which these fields are set, because the steps before have found them. */
export type TraceWith<Field extends keyof RequestTrace> = RequestTrace & Required<Pick<RequestTrace, Field>>

/** The caller, if known; an anonymous caller is identified by its address. */
export const knownIn = ({ identity }: RequestTrace) => (identity?.kind === 'known' ? identity : undefined)
