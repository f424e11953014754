/**
 * What to answer when the store cannot be reached; every such decision says `degraded`.
 * - `local`: the same policies, counted in this instance's memory, which admits its share of each limit.
 * - `allow`: let everything pass.
 * - `deny`: let nothing pass.
 * - `throw`: no answer, the caller gets the `StoreUnavailableError`.
 */
export type FailureMode = 'local' | 'allow' | 'deny' | 'throw'
export const FAILURE_MODES: readonly FailureMode[] = ['local', 'allow', 'deny', 'throw']
