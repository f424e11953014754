import { DECISION_HEADERS } from '../lambda/responses/header-table'

/**
 * How an HTTP API adds the decision's headers to an integration's responses: `overwrite:header.RateLimit` and the
 * source of the value. A mapping has no conditions, so these are the headers that all allowed requests have.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-parameter-mapping.html
 */
export const RESPONSE_MAPPING: Readonly<Record<string, string>> = Object.fromEntries(
  DECISION_HEADERS.filter(({ allowed }) => allowed === 'always').map(({ name, key }) => [
    `overwrite:header.${name}`,
    `$context.authorizer.${key}`,
  ]),
)

/**
 * The mappings that are added to those of one status: none for a header that the API already maps, since that is its
 * owner's. Names of headers are compared without regard to case (RFC 9110 §5.1).
 *
 * @param present the targets of its mappings, such as `append:header.X-Zoo`.
 */
export function mappingsBeside(present: readonly string[]): [destination: string, source: string][] {
  const taken = new Set(present.map(headerIn))
  return Object.entries(RESPONSE_MAPPING).filter(([destination]) => !taken.has(headerIn(destination)))
}

/** The name in `overwrite:header.Name`. */
const headerIn = (destination: string): string => destination.slice(destination.indexOf('.') + 1).toLowerCase()
