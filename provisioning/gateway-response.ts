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

/** The response type that answers an error of the client where the API has none of the error's own type. */
export const DEFAULT_4XX = 'DEFAULT_4XX'

interface ResponseParts {
  /** `gatewayresponse.header.Retry-After` and its value. */
  readonly parameters: Readonly<Record<string, string>>
  /** Bodies by content type. */
  readonly templates: Readonly<Record<string, string>>
}

/** A gateway response that answers 429: its other headers, such as CORS, and content types stay. */
export const answering429 = ({ parameters, templates }: ResponseParts) => ({
  statusCode: ACCESS_DENIED.statusCode,
  parameters: mergeOver(parameters, ACCESS_DENIED_PARAMETERS),
  templates: { ...templates, ...ACCESS_DENIED.templates },
})

/** Puts headers over others: their names are compared without regard to case (RFC 9110 §5.1). */
export function mergeOver(
  below: Readonly<Record<string, string>>,
  above: Readonly<Record<string, string>>,
): Record<string, string> {
  const taken = new Set(Object.keys(above).map((name) => name.toLowerCase()))
  return { ...Object.fromEntries(Object.entries(below).filter(([name]) => !taken.has(name.toLowerCase()))), ...above }
}

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
