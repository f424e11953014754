import type { Grant } from '../responses/answers'
import type { GatewayRequest } from '../responses/request'

/**
 * The upstream authorizer: the one that an API had before, and whose checks it keeps. It is called before anything is
 * counted. Never throws.
 */
export interface Checker {
  /** @param event as API Gateway sent it; the upstream authorizer gets it unchanged. */
  check(event: unknown, request: GatewayRequest): Promise<Check>
}

/**
 * - `granted`: it allows the request.
 * - `denied`: it denies it, by `Unauthorized`, by its policy or by `isAuthorized: false`.
 * - `unavailable`: unknown, because it failed, was too slow or returned an invalid answer. Such a request never passes.
 */
export type Check =
  | { readonly kind: 'granted'; readonly grant: Grant }
  | { readonly kind: 'denied' }
  | { readonly kind: 'unavailable'; readonly cause: unknown }
