import { randomUUID } from 'node:crypto'
import type { AuthorizerAnswer } from '../../lambda/responses/answers'
import { reasonOf, StartError } from '../start-error'
import type { Api } from './api'
import type { AuthorizerPool } from './authorizer-pool'
import type { IncomingRequest } from './incoming-request'
import { CATCH_ALL } from './routes'

/**
 * On a busy machine the first decisions of an instance may miss their deadline, and are then made without the table.
 */
const ATTEMPTS = 5

/** Returns when every instance has made a decision with the tables. Throws the reason when one does not. */
export async function warmUp(pool: AuthorizerPool, api: Api): Promise<void> {
  let reasons: string[] = []
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const answers = await pool.warmUp(api.authorizerEvent(warmUpRequest())).catch((error) => {
      throw new StartError(`the authorizer does not answer: ${reasonOf(error)}`)
    })
    reasons = answers.map(uncounted).filter((reason) => reason !== undefined)
    if (reasons.length === 0) return
  }
  throw new StartError(`the authorizer answers without counting (${reasons[0]}): its log above says why`)
}

/** Why an answer is not a decision made with the tables; `undefined` when it is one. */
function uncounted(answer: unknown): string | undefined {
  const context = (answer as Partial<AuthorizerAnswer> | null)?.context
  if (context === undefined) return 'no context'
  if (context.degraded) return 'degraded'
  return ['ok', 'over-limit', 'uncounted', 'exempt', 'blocked'].includes(context.reason) ? undefined : context.reason
}

/**
 * A preflight, which has a count of its own and no tier, from a documentation address (RFC 5737): nothing that the user
 * looks at is charged.
 */
function warmUpRequest(): IncomingRequest {
  return {
    id: randomUUID(),
    method: 'OPTIONS',
    path: '/_local/warm-up',
    rawQuery: '',
    headers: [
      ['Origin', 'http://localhost'],
      ['Access-Control-Request-Method', 'GET'],
    ],
    sourceIp: '192.0.2.1',
    protocol: 'HTTP/1.1',
    route: CATCH_ALL[1]!,
    pathParameters: { proxy: '_local/warm-up' },
    receivedAt: Date.now(),
  }
}
