import { printed, type StoreFailure, StoreUnavailableError } from '../errors'

interface ServiceError {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  /** What was parsed, of an invalid URL. */
  readonly input?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly ThrottlingReasons?: readonly { readonly reason?: string }[]
  /** So a `ThrottlingException` spells it, and it alone. */
  readonly throttlingReasons?: readonly { readonly reason?: string }[]
}

const THROTTLED =
  /^(ThrottlingException|ProvisionedThroughputExceededException|RequestLimitExceeded|TransactionInProgressException)$/
const REFUSED =
  /AccessDenied|UnrecognizedClient|ExpiredToken|InvalidSignature|InvalidClientTokenId|MissingAuthenticationToken|Credentials|Validation/
/**
 * Of a `ValidationException`: too large for DynamoDB, or an attribute whose type another writer changed. Its other
 * messages are about the table.
 */
const ABOUT_ONE_ITEM = /item size|expression size|too many operators|incorrect data type|document path|number overflow/i
const UNREACHABLE =
  /^(ECONN|ENOTFOUND|EAI_|EPIPE|EHOST|ENET|EPROTO|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/

/** What the SDK says of itself before it sends anything; the credentials that it looked for may also come later. */
const NO_REGION = /^Region (is missing|not accepted)/
const NO_CREDENTIALS = /^(Could not load credentials from any|Credential is missing|Resolved credential object is not)/

/** Classifies the error of a call to a table; an error that is classified already stays as it is. */
export function toStoreUnavailable(error: unknown, tableName: string): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  const reason = reasonOf(error)
  return new StoreUnavailableError(
    reason,
    `${describe(reason, tableName, error as ServiceError)}: ${(error as ServiceError | null)?.message ?? String(error)}`,
    {
      cause: error,
    },
  )
}

function reasonOf(error: unknown): StoreFailure {
  const {
    name = '',
    code = '',
    message = '',
    $metadata,
    throttlingReasons,
    ThrottlingReasons = throttlingReasons,
  } = (error ?? {}) as ServiceError
  if (code === 'ERR_INVALID_URL' || NO_REGION.test(message) || NO_CREDENTIALS.test(message)) return 'unusable-client'
  if (name === 'ResourceNotFoundException') return 'missing-table'
  if (THROTTLED.test(name))
    return ThrottlingReasons?.some(({ reason }) => reason?.includes('KeyRange')) ? 'hot-key' : 'throttled'
  if (UNREACHABLE.test(code)) return 'unreachable' // the SDK says TimeoutError of a connection that was reset
  if (name === 'AbortError' || name === 'TimeoutError' || code === 'ETIMEDOUT') return 'timeout'
  if (name === 'ValidationException' && ABOUT_ONE_ITEM.test(message)) return 'item'
  if (REFUSED.test(name)) return 'refused'
  const status = $metadata?.httpStatusCode
  if (status !== undefined && status >= 500) return 'unreachable'
  if (status !== undefined && status >= 400) return 'refused'
  return 'malformed'
}

function describe(reason: StoreFailure, table: string, error: ServiceError): string {
  switch (reason) {
    case 'unusable-client':
      return `client of table "${table}" must have ${clientWants(error)}`
    case 'missing-table':
      return `there is no table "${table}" here; make it with createStateTable(client, "${table}"), or deploy the stack`
    case 'hot-key':
      return `one item of table "${table}" gets more writes than DynamoDB takes for an item`
    case 'item':
      return `table "${table}" refused a write to one item`
    case 'throttled':
      return `table "${table}" throttles`
    case 'timeout':
      return `table "${table}" did not answer in time`
    case 'refused':
      return `table "${table}" refused the call`
    case 'unreachable':
      return `table "${table}" cannot be reached`
    default:
      return `table "${table}" gave an answer that is not understood`
  }
}

function clientWants({ message = '', code, input }: ServiceError): string {
  if (code === 'ERR_INVALID_URL') return `a URL as its endpoint, got ${printed(input)}`
  const got = /missing|load/.test(message) ? 'got none' : 'got an invalid one'
  return NO_REGION.test(message)
    ? `a Region such as "eu-central-1" (option region, or AWS_REGION), ${got}`
    : `credentials (option credentials, or AWS_PROFILE), ${got}`
}
