import { toAnswer } from '../../../lambda/responses/answers'
import { toContext } from '../../../lambda/responses/context'
import { fromEvent } from '../../../lambda/responses/request'
import { subjectKey } from '../../../limiter/subject-key'
import { createBackend } from '../../../local/gateway/backend'
import { startGateway } from '../../../local/gateway/gateway'
import { restApi } from '../../../local/gateway/rest-api'
import { ALLOWED, DENIED, SHAPES } from '../../responses/decisions'
import type { Deployment } from '../command-line'

/** The secret under which callers of `gatewayBefore` are hashed. */
export const SECRET = Buffer.alloc(32, 7)

/** A gateway whose authorizer denies every caller with a key, as the client of that name; its tables are others'. */
export async function gatewayBefore(at: Deployment, api = restApi, port = 0) {
  const gateway = await startGateway({
    api,
    authorize: async (event) => {
      const request = fromEvent(event)!
      const key = request.headers.get('x-api-key')
      if (key === 'wrong') throw new Error('Unauthorized')
      const decision = key === undefined ? ALLOWED : DENIED
      const subject = subjectKey(`client:${key}`, SECRET)
      const outcome = key === 'barred' ? { reason: 'blocked' as const } : { decision, shapes: SHAPES, tier: 'free' }
      const context = toContext({ ...outcome, subject, now: Date.now() })
      return toAnswer(request, { allowed: decision.allowed, context, principalId: subject })
    },
    backend: createBackend(),
    port,
    log: () => {},
    about: { dynamodb: at.endpoint },
  })
  return { port: gateway.port, url: `http://localhost:${gateway.port}`, close: () => gateway.close(0) }
}
