import { DECISION_HEADERS } from './header-table'

/**
 * The headers of a response; none if the request was allowed uncounted or did not pass Sluice.
 *
 * @param context `event.requestContext.authorizer` of a REST API, where every value arrives as a string, or
 * `….authorizer.lambda` of an HTTP API.
 */
export function headersFromContext(context: unknown): Record<string, string> {
  const values: Readonly<Record<string, unknown>> = { ...(context as object | undefined) }
  const headers: Record<string, string> = {}
  if (typeof values.policy !== 'string' || (values.policy === '' && isTrue(values.allowed))) return headers
  for (const header of DECISION_HEADERS) {
    const value = headerValue(header, values)
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const text = String(value)
    if (/^[ -~]+$/.test(text)) headers[header.name] = text
  }
  return headers
}

function headerValue(
  { key, denied, allowed }: (typeof DECISION_HEADERS)[number],
  values: Readonly<Record<string, unknown>>,
): unknown {
  const value = values[key]
  if (!isTrue(values.allowed)) return denied ? value : undefined
  if (allowed === 'always') return value
  if (allowed === 'above-0') return Number(value) > 0 ? value : undefined
  return allowed === 'never' ? undefined : allowed.find((flag) => isTrue(values[flag]))
}

/** A boolean, or one that arrives as a string. */
const isTrue = (value: unknown): boolean => value === true || value === 'true'
