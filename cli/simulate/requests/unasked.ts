import type { ToRequest } from '../lines/to-request'
import type { LoggedRequest } from './logged-request'

/** What a log in the format of Sluice has where the authorizer said nothing. */
const NOTHING = '-'

/**
 * Reads of lines in the format of Sluice what became of requests without a word of the authorizer: who was refused with
 * 401 is not counted, and what API Gateway answered itself, or lets pass without an authorizer, is marked as `unasked`.
 * Of an API that had no authorizer yet, all other requests are decided as if it had one.
 */
export const withUnasked =
  (toRequest: ToRequest): ToRequest =>
  (value, fallbackTime, own) => {
    const request = toRequest(value, fallbackTime, own)
    if (typeof request === 'string' || request.reason !== undefined || value('allowed') !== NOTHING) return request
    const error = value('error') ?? NOTHING
    const isOwnAnswer = error !== NOTHING && !String(error).startsWith('INTEGRATION_')
    if (isOwnAnswer && String(value('status')) === '401') return { ...request, reason: 'unauthorized' }
    return isOwnAnswer || request.target.method === 'OPTIONS' ? { ...request, unasked: true } : request
  }

/** Those of these requests that an authorizer decides. */
export const decidedOf = (requests: readonly LoggedRequest[]): readonly LoggedRequest[] =>
  requests.some(({ unasked }) => unasked) ? requests.filter(({ unasked }) => !unasked) : requests
