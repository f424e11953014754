import { DECISION_HEADERS } from '../lambda/responses/header-table'

/**
 * How an HTTP API adds the decision's headers to what an integration answers: `overwrite:header.RateLimit` and where
 * the value is found. A mapping knows no condition, so these are the headers that all allowed requests have.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-parameter-mapping.html
 */
export const RESPONSE_MAPPING: Readonly<Record<string, string>> = Object.fromEntries(
  DECISION_HEADERS.filter(({ allowed }) => allowed === 'always').map(({ name, key }) => [
    `overwrite:header.${name}`,
    `$context.authorizer.${key}`,
  ]),
)
