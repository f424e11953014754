/**
 * Whom a policy counts, as an operator writes it:
 * - `client`: the caller: a client, a user, or else an address
 * - `user`: the user whom a token names, else the caller
 * - `ip`: the caller's address
 * - `global`: all callers together
 * - `api`: all requests to an API, and `stage`: those to one of its stages
 * - `header:x-tenant`: each value of a header that the settings declare trusted
 * - `claim:org`: each value of a token's claim
 *
 * Where a request has no such header or claim, it counts by the caller's address.
 */
export type Dimension = 'client' | 'user' | 'ip' | 'global' | 'api' | 'stage' | `header:${string}` | `claim:${string}`
