import type { Grant } from '../responses/answers'
import type { GatewayRequest } from '../responses/request'

/** The authorizer that an API had before, and whose checks it keeps: asked before anything is counted. Never throws. */
export interface Checker {
  /** @param event as API Gateway sent it, which is how the other function gets it. */
  check(event: unknown, request: GatewayRequest): Promise<Check>
}

/**
 * - `granted`: it lets the request pass.
 * - `denied`: it does not, by `Unauthorized`, by its policy or by `isAuthorized: false`.
 * - `unavailable`: nobody can tell, for it failed, was too slow or answered what no authorizer answers. Such a request
 *   never passes.
 */
export type Check =
  | { readonly kind: 'granted'; readonly grant: Grant }
  | { readonly kind: 'denied' }
  | { readonly kind: 'unavailable'; readonly cause: unknown }
