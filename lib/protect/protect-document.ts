import { stringify } from 'yaml'
import { ACCESS_DENIED, answering429, DEFAULT_4XX, mergeOver } from '../../provisioning/gateway-response'
import {
  AUTHORIZER,
  type Fields,
  GATEWAY_RESPONSES,
  type OpenApiDocument,
  type Operation,
  readDocument,
  withoutAuth,
} from './openapi-document'
import { alreadyAuthorized, type Choice, LEAVE_OR_VERIFY, type Skipped } from './selection'

/** How a document is protected. */
export interface DocumentProtection {
  /** Where API Gateway finds the function. */
  readonly authorizerUri: unknown
  /** The ARN of the role with which it is called. @default a permission lets it be called */
  readonly authorizerCredentials?: unknown
  /** Whether the document's `ACCESS_DENIED` becomes a 429; otherwise another resource has it. */
  readonly answers429: boolean
  /** Headers of `DEFAULT_4XX` responses that are not in the document. */
  readonly inherited: Headers
  /** What happens to an operation. */
  readonly choose: (name: string, authorization: string) => Choice
}

export interface ProtectedDocument {
  /** As it was given if it is unreadable. */
  readonly document: unknown
  /** The operations that are limited, by name. */
  readonly limited: readonly string[]
  readonly skipped: readonly Skipped[]
  /** What the document's own `ACCESS_DENIED` said otherwise. */
  readonly replaced: readonly string[]
  /** Why it cannot be protected here, a sentence each; its author has to name the authorizer in it. */
  readonly unreadable: readonly string[]
  /** What is wrong with it, a sentence each. */
  readonly mistakes: readonly string[]
}

type Headers = Readonly<Record<string, string>>

/** The name of the authorizer in a document. */
const SCHEME = 'sluice'

/**
 * Puts the authorizer and the 429 into a document whose tokens are resolved, and `security` on each operation that is
 * chosen. Nothing is at the root only: whether API Gateway applies that to a REST API's methods is not documented.
 * Requirements beside, such as an API key, stay: API Gateway asks for all that it knows.
 */
export function protectDocument(given: unknown, protection: DocumentProtection): ProtectedDocument {
  const read = readDocument(given)
  const { root, schemes, gatewayResponses, operations, unreadable } = read
  const nothing = { document: given, limited: [], skipped: [], replaced: [], mistakes: [] }
  if (unreadable.length > 0) return { ...nothing, unreadable }
  const choices = operations.map((one) => [one, protection.choose(one.name, one.authorization)] as const)
  const chosen = choices.filter(([, choice]) => choice === 'protect').map(([one]) => one)
  const present = (gatewayResponses[ACCESS_DENIED.type] ?? {}) as GatewayResponse
  const mistakes = [
    ...(Object.hasOwn(schemes, SCHEME)
      ? [`protect() makes the security scheme ${SCHEME}, and the document has one of that name: take it out`]
      : []),
    ...choices.flatMap(([{ name }, choice]) =>
      typeof choice === 'object' && 'authorized' in choice
        ? [`${name}: ${alreadyAuthorized('method', choice.authorized, LEAVE_OR_VERIFY)}`]
        : [],
    ),
    ...nullsIn(given).map((place) => `${place} must have a value, got null, which CloudFormation takes in no template`),
  ]
  const denied = protection.answers429 ? { [ACCESS_DENIED.type]: denialIn(read, present, protection) } : {}
  const document = {
    ...root,
    ...withScheme(read, schemeFor(protection)),
    paths: withSecurity(root.paths as Fields, chosen),
    ...(protection.answers429 && { [GATEWAY_RESPONSES]: { ...gatewayResponses, ...denied } }),
  }
  const skipped = choices.flatMap(([{ name }, choice]) =>
    typeof choice === 'object' && 'skip' in choice ? [{ route: name, because: choice.skip }] : [],
  )
  const replaced = protection.answers429 ? replacedIn(present, document[GATEWAY_RESPONSES]![ACCESS_DENIED.type]!) : []
  return { document, limited: chosen.map(({ name }) => name), skipped, replaced, unreadable, mistakes }
}

/** The operations of a finished document that ought to be limited and are not, by name. */
export function unlimitedIn(document: unknown, protection: DocumentProtection): string[] {
  const { schemes, operations, unreadable } = readDocument(document)
  if (unreadable.length > 0) return [...unreadable]
  const isOurs = JSON.stringify(schemes[SCHEME]) === JSON.stringify(schemeFor(protection))
  const open = operations.filter(({ name, fields, security, authorization }) => {
    const isNamed = fields.security !== undefined && security.some((one) => Object.hasOwn(one, SCHEME))
    if (isNamed && isOurs && authorization === 'CUSTOM') return false
    const choice = protection.choose(name, isNamed ? 'NONE' : authorization)
    return choice === 'protect' || (typeof choice === 'object' && 'authorized' in choice)
  })
  return open.map(({ name }) => name)
}

/** What the author of a document that cannot be protected here puts into it, as YAML. */
export function fragmentOf(protection: DocumentProtection): string {
  const { statusCode, parameters, templates } = answering429({ parameters: {}, templates: {} })
  const response = { statusCode, responseParameters: parameters, responseTemplates: templates }
  const parts = {
    components: { securitySchemes: { [SCHEME]: schemeFor(protection) } },
    [GATEWAY_RESPONSES]: { [ACCESS_DENIED.type]: response },
  }
  return [
    '# in Swagger 2, securityDefinitions is in place of components.securitySchemes',
    stringify(parts, { lineWidth: 0 }).trimEnd(),
    '# and in each operation but OPTIONS, beside what is there:',
    `security: [{ ${SCHEME}: [] }]`,
  ].join('\n')
}

/** The authorizer: a cached decision would not be counted, and a request without an identity source would be a 401. */
const schemeFor = ({ authorizerUri, authorizerCredentials }: DocumentProtection) => ({
  type: 'apiKey',
  name: 'Unused', // API Gateway wants a name; with a TTL of 0 it asks for no header
  in: 'header',
  'x-amazon-apigateway-authtype': 'custom',
  [AUTHORIZER]: {
    type: 'request',
    authorizerUri,
    ...(authorizerCredentials !== undefined && { authorizerCredentials }),
    authorizerResultTtlInSeconds: 0,
  },
})

function withScheme({ root, isSwagger, schemes }: OpenApiDocument, scheme: object): Fields {
  const all = { ...schemes, [SCHEME]: scheme }
  return isSwagger
    ? { securityDefinitions: all }
    : { components: { ...((root.components ?? {}) as Fields), securitySchemes: all } }
}

/** An empty requirement is left out: it would make the others optional. */
function withSecurity(paths: Fields | undefined, operations: readonly Operation[]): Fields {
  const result: Record<string, unknown> = { ...paths }
  for (const { path, key, fields, security } of operations) {
    const beside = security.filter((one) => Object.keys(one).length > 0)
    const limited = { ...withoutAuth(fields), security: [...beside, { [SCHEME]: [] }] }
    result[path] = { ...(result[path] as Fields), [key]: limited }
  }
  return result
}

interface GatewayResponse {
  readonly statusCode?: unknown
  readonly responseParameters?: Headers
  readonly responseTemplates?: Headers
}

/** Until now `DEFAULT_4XX` answered denials: its headers, usually CORS, are kept on denials. */
function denialIn({ gatewayResponses }: OpenApiDocument, present: GatewayResponse, { inherited }: DocumentProtection) {
  const general = (gatewayResponses[DEFAULT_4XX] ?? {}) as GatewayResponse
  const { statusCode, parameters, templates } = answering429({
    parameters: [inherited, general.responseParameters ?? {}, present.responseParameters ?? {}].reduce(mergeOver),
    templates: present.responseTemplates ?? {},
  })
  return { ...present, statusCode, responseParameters: parameters, responseTemplates: templates }
}

/** What a response had otherwise: `statusCode`, and names of headers and content types. */
function replacedIn(before: GatewayResponse, after: GatewayResponse): string[] {
  const changed = (one: Headers = {}, other: Headers = {}) =>
    Object.entries(one).flatMap(([name, value]) => (other[name] === value ? [] : [name]))
  return [
    ...(before.statusCode === undefined || String(before.statusCode) === after.statusCode
      ? []
      : [`statusCode ${before.statusCode}`]),
    ...changed(before.responseParameters, after.responseParameters),
    ...changed(before.responseTemplates, after.responseTemplates),
  ]
}

function nullsIn(value: unknown, place = ''): string[] {
  if (value === null) return [place]
  if (typeof value !== 'object') return []
  const prefix = place === '' ? '' : `${place}.`
  return Object.entries(value as object).flatMap(([name, one]) => nullsIn(one, prefix + name))
}
