import { type ProblemResponse, problemResponse } from '../backend/responses'
import { makeRecordingDecider } from '../lambda/authorize'
import type { AuthorizerParts } from '../lambda/authorizer-parts'
import type { Costs } from '../lambda/config-table/items/cost'
import type { RequestTrace } from '../lambda/request-trace'
import { headersFromContext } from '../lambda/responses/backend-headers'
import type { AuthorizerContext } from '../lambda/responses/context'
import { checkAddress, matchRoutes, type OwnSteps } from '../lambda/steps'
import { Lazy, lazyMeter } from '../limiter/lazy'
import { loadForOutage, type RateLimiter } from '../limiter/rate-limiter'
import { type ConnectedCaller, ofConnection } from './connected-caller'
import { type MessageRequest, messageRequest } from './message-request'
import type { TieredLimiter } from './tiered-decision'
import { checkRequest, programSource, type TieredRequest, toRequest } from './tiered-request'

/** Runs the authorizer's steps on the requests of a program. */
export function tieredLimiter(
  parts: Omit<AuthorizerParts, 'upstream' | 'denials'> & { readonly limiter: RateLimiter },
  close: () => Promise<void>,
): TieredLimiter {
  const decide = makeRecordingDecider({
    ...parts,
    toRequest,
    steps: OWN_STEPS,
    sources: {
      of(settings) {
        const { list, address } = parts.sources.of(settings)
        return { list: [programSource, ...list], address }
      },
    },
  })
  loadForOutage()
  const settler = new Lazy(async () => new (await import('../backend/settler.ts')).Settler(parts.limiter))
  const reservations = new Lazy(async () => {
    const { LibraryReservations } = await import('../limiter/reservations/library-reservations.ts')
    return new LibraryReservations(parts.limiter, [])
  })
  return {
    async decide(request) {
      checkRequest(request)
      return toDecision(await decide({ ...request }))
    },
    async decideMessage(event, known = {}) {
      const { connection, ...request } = messageRequest(event, known)
      checkRequest(request)
      return toDecision(await decide({ ...request, connection }))
    },
    settle: async (reservation, used) => (await settler.get()).settle(reservation, used),
    meter: (reservation, options) => lazyMeter(reservations.get().then((all) => all.meter(reservation, options))),
    releaseSlots: async (reservation) => (await settler.get()).releaseSlots(reservation),
    close,
  }
}

const connectionOf = ({ event }: RequestTrace): ConnectedCaller | undefined =>
  (event as Partial<MessageRequest>).connection

/** The steps that differ from the authorizer's. */
const OWN_STEPS: OwnSteps = {
  /** The address of the request, and what is known of the caller of a connection. */
  checkAddress(trace, parts) {
    const found = checkAddress(trace, parts)
    const connection = connectionOf(trace)
    return connection && !found.outcome ? ofConnection(connection, found, trace.keyOf!) : found
  },
  /** The rules of the routes, whose costs the request may replace. */
  matchRoutes(trace) {
    const found = matchRoutes(trace)
    const { cost, costs } = trace.event as TieredRequest
    if (!found.rules || (cost === undefined && costs === undefined)) return found
    const replaced = found.rules.costs.map(
      (one): Costs => ({
        cost: cost ?? one.cost,
        ...((one.costs || costs) && { costs: { ...one.costs, ...costs } }),
      }),
    )
    return { ...found, rules: { ...found.rules, costs: replaced } }
  },
}

const PROBLEMS = {
  401: 'Unauthorized',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
} as const

/** The response that a REST API protected by the authorizer would give. */
function toDecision({ trace, context }: { readonly trace: RequestTrace; readonly context: AuthorizerContext }) {
  const { allowed, reason } = context
  const decision = trace.outcome?.decision
  if (allowed) return { allowed, status: 200, headers: headersFromContext(context), context, decision } as const
  const status = reason === 'unauthorized' ? 401 : reason === 'unverified' ? 500 : 429
  const headersOfDenial = status === 429 ? headersFromContext(context) : {}
  const { headers, body }: ProblemResponse<number> = problemResponse(status, PROBLEMS[status], context, headersOfDenial)
  return { allowed, status, headers, body, context, decision } as const
}
