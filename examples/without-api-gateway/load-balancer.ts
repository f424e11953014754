import type { ALBEvent, ALBResult } from 'aws-lambda'
import type { TieredLimiter } from 'sluice/tiered'

/** A function as a target of an Application Load Balancer: it answers denials itself, too. */
export const behindLoadBalancer = (limiter: TieredLimiter) =>
  async function handler(event: ALBEvent): Promise<ALBResult> {
    const { 'x-forwarded-for': forwarded = '', 'x-api-key': apiKey } = event.headers ?? {}
    const decision = await limiter.decide({
      method: event.httpMethod,
      path: event.path,
      address: forwarded.split(',').at(-1)?.trim(), // the entry that the load balancer has added
      apiKey,
      query: event.queryStringParameters,
    })
    const { status: statusCode, headers, body } = decision
    if (!decision.allowed) return { statusCode, headers, body }
    return { statusCode: 200, headers, body: 'hello' }
  }
