import { DECISION_HEADERS, PROBLEM_KEYS } from '../lambda/responses/header-table'

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
  headers: Object.fromEntries(
    DECISION_HEADERS.flatMap(({ name, key, denied }) => (denied ? [[name, `context.authorizer.${key}`]] : [])),
  ) as Readonly<Record<string, string>>,
  templates: {
    'application/json': `{"type":"about:blank","title":"Too Many Requests","status":429,${PROBLEM_KEYS.map(
      (key) => `"${key}":"$context.authorizer.${key}"`,
    ).join()}}`,
  },
} as const

/** Its headers as parameters of API Gateway: `gatewayresponse.header.Retry-After`. */
export const ACCESS_DENIED_PARAMETERS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ACCESS_DENIED.headers).map(([name, value]) => [`gatewayresponse.header.${name}`, value]),
)

/**
 * What API Gateway makes of a header's mapping expression (`context.authorizer.key`, or a literal in single quotes) or
 * of a body template (`$context.authorizer.key` anywhere): one pass, nothing escaped. That a missing key becomes an
 * empty string is a guess.
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
