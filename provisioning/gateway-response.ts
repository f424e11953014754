type Values = Readonly<Record<string, string | number | boolean>>

/**
 * The gateway response that turns a Deny into a 429 with headers and a problem body (RFC 9457), as data: infrastructure
 * code writes it to the API, the local gateway renders it. REST APIs only.
 *
 * The status is the same for every denial of every authorizer of the API. Header values are mapping expressions; the
 * template has its variables replaced and is nothing more, so a value must be safe where it stands, see context.ts.
 * Numbers stand between quotes: another authorizer's denial on the same API has none of these variables, and its body
 * has to be JSON too.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-gatewayResponse-definition.html
 */
export const ACCESS_DENIED = {
  type: 'ACCESS_DENIED',
  statusCode: '429',
  headers: {
    'Retry-After': 'context.authorizer.retryAfter',
    'X-RateLimit-Limit': 'context.authorizer.limit',
    'X-RateLimit-Remaining': 'context.authorizer.remaining',
    'X-RateLimit-Reset': 'context.authorizer.reset',
    'X-RateLimit-Reason': 'context.authorizer.reason',
    RateLimit: 'context.authorizer.rateLimit',
    'RateLimit-Policy': 'context.authorizer.rateLimitPolicy',
  },
  templates: {
    'application/json':
      '{"type":"about:blank","title":"Too Many Requests","status":429,' +
      '"detail":"$context.authorizer.detail","reason":"$context.authorizer.reason","policy":"$context.authorizer.policy",' +
      '"limit":"$context.authorizer.limit","remaining":"$context.authorizer.remaining","retryAfter":"$context.authorizer.retryAfter"}',
  },
} as const

/**
 * What API Gateway makes of a header's mapping expression (`context.authorizer.key`, or a literal in single quotes) or
 * of a body template (`$context.authorizer.key` anywhere): one pass, nothing escaped. A key that is not there becomes
 * nothing, which is a guess.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-parameter-mapping-sources.html
 */
export function render(expression: string, context: Values): string {
  const lookup = (key: string) => (Object.hasOwn(context, key) ? String(context[key]) : '')
  const literal = /^'(.*)'$/s.exec(expression)
  if (literal) return literal[1]!
  const mapped = /^context\.authorizer\.(\w+)$/.exec(expression)
  if (mapped) return lookup(mapped[1]!)
  return expression.replace(/\$context\.authorizer\.(\w+)/g, (_, key: string) => lookup(key))
}
