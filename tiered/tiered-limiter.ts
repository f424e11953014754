import { type ProblemResponse, problemResponse } from '../backend/responses'
import { Settler } from '../backend/settler'
import { makeRecordingDecider } from '../lambda/authorize'
import type { AuthorizerParts } from '../lambda/authorizer-parts'
import type { Costs } from '../lambda/config-table/items/cost'
import type { RequestTrace, TraceWith } from '../lambda/request-trace'
import { headersFromContext } from '../lambda/responses/backend-headers'
import type { AuthorizerContext } from '../lambda/responses/context'
import { checkAddress, matchRoutes, STEPS, type Step } from '../lambda/steps'
import type { SettlingLimiter } from '../limiter/reserving'
import type { UsedUnits } from '../limiter/take-options'
import { type ConnectedCaller, ofConnection } from './connected-caller'
import { type MessageRequest, messageRequest } from './message-request'
import { type Caller, checkRequest, programSource, type TieredRequest, toRequest } from './tiered-request'

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

/** What a program knows of a message beside its event. */
export interface MessageOptions extends Caller, Pick<TieredRequest, 'cost' | 'costs'> {}

/** The authorizer for programs that have no API Gateway in front, and for messages, about which it is not asked. */
export interface TieredLimiter {
  /**
   * Decides a request as the authorizer does: charges what it takes, or denies it.
   *
   * It rejects only for a mistake of the program, a `ConfigError`. Where a table cannot be asked, it decides by the
   * failure mode.
   */
  decide(request: TieredRequest): Promise<TieredDecision>
  /**
   * Decides a message of a WebSocket in the same way, as the request `POST /@messages/<route key>` of the caller whom
   * the authorizer has let connect: it counts where the connection was counted, by the tier that this had, as that is
   * now. Without such a connection it is anonymous, and counted by its address.
   *
   * @param event as API Gateway sends it to the function of a route.
   * @param known the caller where the program knows more: then blocks and overrides of a client are in force.
   * @throws TypeError for an event that is no message.
   */
  decideMessage(event: unknown, known?: MessageOptions): Promise<TieredDecision>
  /**
   * Settles what a decision has reserved, its `context.reservation`, and frees its slots.
   *
   * @param used what was really used. @default what is reserved
   * @returns false when nothing is held any more.
   * @throws ReservationError, CostError, ConfigError, StoreUnavailableError
   */
  settle(reservation: string, used?: UsedUnits): Promise<boolean>
  /** Frees the slots of a decision, and leaves its units to who settles them: its request has ended. */
  release(reservation: string): Promise<boolean>
  /** For a program that stops: gives back what is leased, and tells the store what was counted in memory. */
  close(): Promise<void>
}

/** Asks the authorizer's steps about the requests of a program. */
export function tieredLimiter(
  parts: Omit<AuthorizerParts, 'upstream' | 'denials'> & { readonly limiter: SettlingLimiter },
  close: () => Promise<void>,
): TieredLimiter {
  const decide = makeRecordingDecider({
    ...parts,
    toRequest,
    steps: STEPS.map((step) => REPLACED.get(step) ?? step),
    sources: {
      of(settings) {
        const { list, address } = parts.sources.of(settings)
        return { list: [programSource, ...list], address }
      },
    },
  })
  const settler = new Settler(parts.limiter)
  return {
    async decide(request) {
      checkRequest(request)
      return toDecision((await decide({ ...request })).context)
    },
    async decideMessage(event, known = {}) {
      const { connection, ...request } = messageRequest(event, known)
      checkRequest(request)
      return toDecision((await decide({ ...request, connection })).context)
    },
    settle: (reservation, used) => settler.settle(reservation, used),
    release: (reservation) => settler.release(reservation),
    close,
  }
}

const connectionOf = ({ event }: RequestTrace): ConnectedCaller | undefined =>
  (event as Partial<MessageRequest>).connection

/** The address of the request, and what is known of the caller of a connection. */
const checkAddressOfConnection: Step = (trace, parts) => {
  const found = checkAddress(trace as TraceWith<'request' | 'configuration' | 'sources'>, parts)
  const connection = connectionOf(trace)
  return connection && !found.outcome ? ofConnection(connection, found, trace.keyOf!) : found
}

/** The rules of the routes, whose costs the request may replace. */
const matchRoutesWithCosts: Step = (trace) => {
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

/** What differs of the authorizer's steps. */
const REPLACED = new Map<Step, Step>([
  [checkAddress as Step, checkAddressOfConnection],
  [matchRoutes as Step, matchRoutesWithCosts],
])

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
