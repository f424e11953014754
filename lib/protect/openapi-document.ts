import { printed } from '../../limiter/errors'

/** An object of a document. What CloudFormation fills in is an object, too: `{ Ref }` or `{ 'Fn::…' }`. */
export type Fields = Readonly<Record<string, unknown>>

/** A method of a path. */
export interface Operation {
  /** As people name it: `GET /orders/{id}`, or `ANY /{proxy+}` for API Gateway's extension for all methods. */
  readonly name: string
  readonly path: string
  /** Its name in the document: `get`, `x-amazon-apigateway-any-method`. */
  readonly key: string
  readonly fields: Fields
  /** The requirements that apply to it: its own, else those of the root. */
  readonly security: readonly Fields[]
  /** `NONE`, or what authorizes it in API Gateway: `AWS_IAM`, `CUSTOM`, `COGNITO_USER_POOLS`. */
  readonly authorization: string
}

/** What protection reads of an OpenAPI 3 or Swagger 2 document. */
export interface OpenApiDocument {
  readonly root: Fields
  readonly isSwagger: boolean
  readonly schemes: Fields
  readonly gatewayResponses: Fields
  readonly operations: readonly Operation[]
  /** Parts that only CloudFormation or another file completes, and parts of another form, a sentence each. */
  readonly unreadable: readonly string[]
}

const AUTH = 'x-amazon-apigateway-auth'
const AUTHTYPE = 'x-amazon-apigateway-authtype'
export const AUTHORIZER = 'x-amazon-apigateway-authorizer'
export const GATEWAY_RESPONSES = 'x-amazon-apigateway-gateway-responses'
const ANY_METHOD = 'x-amazon-apigateway-any-method'
const METHOD = /^(?:get|put|post|delete|options|head|patch|trace)$/i

/**
 * Reads a document whose tokens are resolved.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-swagger-extensions.html
 */
export function readDocument(document: unknown): OpenApiDocument {
  const unreadable: string[] = []
  const fields: ReadFields = (value, place) => {
    const problem = problemOf(value)
    if (problem) unreadable.push(`${place} ${problem}`)
    return problem || value === undefined ? {} : (value as Fields)
  }
  const root = fields(document, 'the document')
  const isSwagger = 'swagger' in root
  if (!isSwagger && !('openapi' in root) && unreadable.length === 0)
    unreadable.push('the document has neither a field "openapi" nor "swagger"')
  const declared = isSwagger ? root.securityDefinitions : fields(root.components, 'components').securitySchemes
  const at = isSwagger ? 'securityDefinitions' : 'components.securitySchemes'
  const schemes = fields(declared, at)
  for (const [name, scheme] of Object.entries(schemes)) fields(scheme, `${at}.${name}`)
  const security = (value: unknown, place: string): readonly Fields[] => {
    if (value === undefined) return []
    if (!Array.isArray(value))
      unreadable.push(`${place} ${problemOf(value) ?? `must be a list, got ${printed(value)}`}`)
    return Array.isArray(value) ? value.map((one, i) => fields(one, `${place}[${i}]`)) : []
  }
  const general = security(root.security, 'security')
  const operations = Object.entries(fields(root.paths, 'paths')).flatMap(([path, item]) => {
    if (path.startsWith('x-')) return []
    return Object.entries(fields(item, `paths.${path}`)).flatMap(([key, value]) => {
      if (key !== ANY_METHOD && !METHOD.test(key)) return []
      const place = `paths.${path}.${key}`
      const own = fields(value, place)
      const applies = own.security === undefined ? general : security(own.security, `${place}.security`)
      const { type } = fields(own[AUTH], `${place}.${AUTH}`)
      const authorization = authorizationOf(type, applies, schemes)
      const name = `${key === ANY_METHOD ? 'ANY' : key.toUpperCase()} ${path}`
      return [{ name, path, key, fields: own, security: applies, authorization }]
    })
  })
  const gatewayResponses = fields(root[GATEWAY_RESPONSES], GATEWAY_RESPONSES)
  for (const [type, response] of Object.entries(gatewayResponses)) {
    const { responseParameters, responseTemplates } = fields(response, `${GATEWAY_RESPONSES}.${type}`)
    fields(responseParameters, `${GATEWAY_RESPONSES}.${type}.responseParameters`)
    fields(responseTemplates, `${GATEWAY_RESPONSES}.${type}.responseTemplates`)
  }
  return { root, isSwagger, schemes, gatewayResponses, operations, unreadable }
}

type ReadFields = (value: unknown, place: string) => Fields

/** An operation's fields without what would decide beside its `security`. */
export function withoutAuth({ [AUTH]: _, ...fields }: Fields): Fields {
  return fields
}

/** Why a value cannot be read as an object. */
function problemOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `must be an object, got ${printed(value)}`
  const names = Object.keys(value)
  const call = names.find((name) => name.startsWith('Fn::')) ?? (names.length === 1 && names[0] === 'Ref' && 'Ref')
  if (call) return `is completed by ${call} at deployment`
  return '$ref' in value ? `is a $ref, ${printed(value.$ref)}, which is not followed` : undefined
}

function authorizationOf(type: unknown, security: readonly Fields[], schemes: Fields): string {
  if (typeof type === 'string' && type.toUpperCase() !== 'NONE') return type
  const names = security.flatMap((one) => Object.keys(one))
  return names.map((name) => authorizationBy(name, schemes)).find((one) => one !== undefined) ?? 'NONE'
}

/** Undefined for a scheme that API Gateway does not check by an authorizer, such as an API key. */
function authorizationBy(name: string, schemes: Fields): string | undefined {
  if (!Object.hasOwn(schemes, name)) return `${printed(name)}, a scheme that the document does not define`
  const { [AUTHTYPE]: authtype, [AUTHORIZER]: authorizer } = schemes[name] as Fields
  if (authtype === undefined && authorizer === undefined) return undefined
  if (String(authtype).toLowerCase() === 'awssigv4') return 'AWS_IAM'
  return (authorizer as { readonly type?: unknown } | undefined)?.type === 'cognito_user_pools'
    ? 'COGNITO_USER_POOLS'
    : 'CUSTOM'
}
