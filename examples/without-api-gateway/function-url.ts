import type { LambdaFunctionURLEvent, LambdaFunctionURLResult } from 'aws-lambda'
import type { TieredLimiter } from 'sluice/tiered'

/** A function behind its own URL: it answers denials itself, with status, headers and body. */
export const behindFunctionUrl = (limiter: TieredLimiter) =>
  async function handler(event: LambdaFunctionURLEvent): Promise<LambdaFunctionURLResult> {
    const { method, sourceIp } = event.requestContext.http
    const decision = await limiter.decide({
      method,
      path: event.rawPath,
      address: sourceIp, // of CloudFront, where that is in front of the URL: then the settings need trustedHops
      apiKey: event.headers['x-api-key'],
      query: event.queryStringParameters,
    })
    const { status: statusCode, headers, body } = decision
    if (!decision.allowed) return { statusCode, headers, body }
    return { statusCode: 200, headers, body: 'hello' }
  }
