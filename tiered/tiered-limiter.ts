import { type ProblemResponse, problemResponse } from '../backend/responses'
import { makeRecordingDecider } from '../lambda/authorize'
import type { AuthorizerParts } from '../lambda/authorizer-parts'
import type { Costs } from '../lambda/config-table/items/cost'
import type { RequestTrace, TraceWith } from '../lambda/request-trace'
import { headersFromContext } from '../lambda/responses/backend-headers'
import type { AuthorizerContext } from '../lambda/responses/context'
import { matchRoutes, STEPS, type Step } from '../lambda/steps'
import { checkRequest, programSource, type TieredRequest, toRequest } from './tiered-request'

/** What the authorizer would answer, and how a program passes it on. */
export interface TieredDecision {
  readonly allowed: boolean
  /** 200 where it is allowed, 401 for bad or missing credentials, 500 where they cannot be checked, else 429. */
  readonly status: 200 | 401 | 429 | 500
  /** For the response, whoever answers it. */
  readonly headers: Readonly<Record<string, string>>
  /** A problem document (RFC 9457) for the answer to a denial; absent where the request is allowed. */
  readonly body?: string
  /** The same keys as in the authorizer's context: `reason`, `tier`, `subject`, `policy`, `delayMs` and all others. */
  readonly context: AuthorizerContext
}

/** The authorizer for programs that have no API Gateway in front. */
export interface TieredLimiter {
  /**
   * Decides a request as the authorizer does: charges what it takes, or denies it.
   *
   * It rejects only for a mistake of the program, a `ConfigError`. Where a table cannot be asked, it decides by the
   * failure mode.
   */
  decide(request: TieredRequest): Promise<TieredDecision>
  /** For a program that stops: gives back what is leased, and tells the store what was counted in memory. */
  close(): Promise<void>
}

/** Asks the authorizer's steps about the requests of a program. */
export function tieredLimiter(
  parts: Omit<AuthorizerParts, 'upstream' | 'denials'>,
  close: () => Promise<void>,
): TieredLimiter {
  const decide = makeRecordingDecider({
    ...parts,
    toRequest,
    steps: STEPS.map((step) => (step === (matchRoutes as Step) ? matchRoutesWithCosts : step)),
    sources: {
      of(settings) {
        const { list, address } = parts.sources.of(settings)
        return { list: [programSource, ...list], address }
      },
    },
  })
  return {
    async decide(request) {
      checkRequest(request)
      return toDecision((await decide({ ...request })).context)
    },
    close,
  }
}

/** The rules of the routes, whose costs the request may replace. */
function matchRoutesWithCosts(trace: RequestTrace): Partial<RequestTrace> {
  const found = matchRoutes(trace as TraceWith<'request' | 'configuration'>)
  const { cost, costs } = trace.event as TieredRequest
  if (!found.rules || (cost === undefined && costs === undefined)) return found
  const replaced = found.rules.costs.map(
    (one): Costs => ({
      cost: cost ?? one.cost,
      ...((one.costs || costs) && { costs: { ...one.costs, ...costs } }),
    }),
  )
  return { ...found, rules: { ...found.rules, costs: replaced } }
}

const PROBLEMS = {
  401: 'Unauthorized',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
} as const

/** The answer of a REST API that the authorizer protects. */
function toDecision(context: AuthorizerContext): TieredDecision {
  const { allowed, reason } = context
  if (allowed) return { allowed, status: 200, headers: headersFromContext(context), context }
  const status = reason === 'unauthorized' ? 401 : reason === 'unverified' ? 500 : 429
  const told = status === 429 ? headersFromContext(context) : {}
  const { headers, body }: ProblemResponse<number> = problemResponse(status, PROBLEMS[status], context, told)
  return { allowed, status, headers, body, context }
}
