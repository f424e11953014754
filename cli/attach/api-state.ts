import type { EpochMs } from '../../limiter/clock'

/** How a method or a route asks who is calling. */
export interface Authorization {
  /** `NONE`, `AWS_IAM`, `CUSTOM`, `COGNITO_USER_POOLS`, `JWT`. */
  readonly type: string
  readonly authorizerId?: string
  readonly scopes?: readonly string[]
}

/** A method of a REST API, or a route of an HTTP API. */
export interface Method {
  /** `GET /pets`, `ANY /{proxy+}`, `$default`: how people name it, and unique in its API. */
  readonly key: string
  readonly authorization: Authorization
  readonly apiKeyRequired: boolean
  /** REST: the resource. HTTP: the route. */
  readonly ref: string
  /** HTTP: what serves it. */
  readonly integrationId?: string
}

export interface Authorizer {
  readonly id: string
  readonly name: string
  readonly uri: string
  readonly settings: AuthorizerSettings
  /** What it verifies by itself, without a function. */
  readonly tokens?: TokenRules
  /** A regular expression that a token must match besides. REST only. */
  readonly expression?: string
}

/** Whose tokens an authorizer of type `COGNITO_USER_POOLS` or `JWT` takes. */
interface TokenRules {
  readonly issuers: readonly string[]
  readonly audience: readonly string[] | 'any'
}

/** What decides how often the function is asked, and in which form. */
export interface AuthorizerSettings {
  readonly type: string
  /** For how long a decision is recorded by API Gateway and not counted, in seconds. */
  readonly ttlSeconds: number
  /** What a request must carry, or it gets 401 without a question. */
  readonly identitySources: readonly string[]
  /** HTTP only: payload 2.0 and simple responses. */
  readonly simple?: boolean
}

/** Names and their values: headers, templates, mappings. */
export type Values = Readonly<Record<string, string>>

/** What a REST API answers when an authorizer denies. */
export interface GatewayResponse {
  /** Nobody has made one for this type: the API's own, with what it has from `DEFAULT_4XX`. */
  readonly isDefault: boolean
  /** Empty where it was made without one: then the type's own holds. */
  readonly statusCode: string
  readonly parameters: Values
  readonly templates: Values
}

export interface Stage {
  readonly name: string
  readonly deploymentId?: string
  /** HTTP only: changes go live by themselves. */
  readonly deploysItself: boolean
  readonly hasCanary: boolean
  readonly canaryDeploymentId?: string
}

interface Deployment {
  readonly id: string
  readonly description: string
  readonly createdAt: EpochMs
}

/** Response parameters of an HTTP API's integration, by status code. */
export interface Integration {
  readonly id: string
  readonly responseParameters: Readonly<Record<string, Values>>
}

/** All of an API that attaching looks at or changes, read at one time. */
export interface ApiState {
  readonly id: string
  readonly kind: 'REST' | 'HTTP'
  readonly name: string
  readonly methods: readonly Method[]
  readonly authorizers: readonly Authorizer[]
  readonly stages: readonly Stage[]
  /** Newest last. */
  readonly deployments: readonly Deployment[]
  /** REST only. */
  readonly gatewayResponse?: GatewayResponse
  /** HTTP only. */
  readonly integrations: readonly Integration[]
}

/**
 * What a stage serves differently from what its API says now; `complete: false` where the service shows less than all
 * of it.
 */
export interface PendingEdits {
  readonly edits: readonly string[]
  readonly complete: boolean
  /** Methods that are served with authentication, and that the API has without. */
  readonly opens: readonly AuthorizedMethod[]
  /** Keys of methods that are served without authentication, and that the API has with some. */
  readonly closes: readonly string[]
}

/** A method that a stage serves with authentication. */
interface AuthorizedMethod {
  readonly key: string
  /** The type, or on HTTP APIs the authorizer's name. */
  readonly by: string
}

/** One API through API Gateway's control plane. Each change is one call, or a few that may be repeated. */
export interface ApiControl {
  readonly kind: ApiState['kind']
  read(): Promise<ApiState>
  /** A method as it is now; `undefined` when it is gone. */
  readMethod(method: Method): Promise<Method | undefined>
  readAuthorizers(): Promise<readonly Authorizer[]>
  /** REST only. */
  readResponse(): Promise<GatewayResponse>
  /** HTTP only. `undefined` when it is gone. */
  readIntegration(id: string): Promise<Integration | undefined>
  /** What would go live with a deployment of this stage, as things are now. */
  pendingEdits(state: ApiState, stage: Stage): Promise<PendingEdits>
  /** @returns the new authorizer's id. */
  createAuthorizer(name: string, uri: string): Promise<string>
  /** Gives an authorizer the address and the settings that it should have. */
  repairAuthorizer(authorizer: Authorizer, uri: string): Promise<void>
  deleteAuthorizer(id: string): Promise<void>
  authorize(method: Method, authorization: Authorization): Promise<void>
  /** @param response `isDefault` takes away what was made. REST only. */
  respond(response: GatewayResponse): Promise<void>
  /** HTTP only. */
  mapResponses(integration: Integration, responseParameters: Integration['responseParameters']): Promise<void>
  /** Makes a deployment of the API as it is, and the stage serve it. */
  deploy(stage: string, description: string): Promise<void>
  pointStage(stage: string, deploymentId: string): Promise<void>
  deleteDeployment(id: string): Promise<void>
}

export const isSameAuthorization = (one: Authorization, other: Authorization): boolean =>
  one.type === other.type &&
  (one.authorizerId || '') === (other.authorizerId || '') &&
  [...(one.scopes ?? [])].sort().join(' ') === [...(other.scopes ?? [])].sort().join(' ')

/** Whether nobody has changed who may call a method. */
export const isSameMethod = (one: Method, other: Method): boolean =>
  isSameAuthorization(one.authorization, other.authorization) && one.apiKeyRequired === other.apiKeyRequired

/**
 * Whether an authorization is that of an authorizer of attach. An id that is left behind by another type says nothing.
 */
export const usesAuthorizer = ({ type, authorizerId }: Authorization, ownId: string | undefined): boolean =>
  type === 'CUSTOM' && ownId !== undefined && authorizerId === ownId

export const isPreflight = ({ key }: Method): boolean => key.startsWith('OPTIONS ')

/** `no authorizer`, `AWS_IAM`, `JWT authorizer "users"`: in words. */
export function authorizationText(
  { type, authorizerId, scopes = [] }: Authorization,
  authorizers: readonly Authorizer[],
): string {
  if (type === 'NONE') return 'no authorizer'
  if (!authorizerId || type === 'AWS_IAM') return type
  const name = authorizers.find(({ id }) => id === authorizerId)?.name ?? authorizerId
  return `${type} authorizer "${name}"${scopes.length > 0 ? ` with scopes ${scopes.join(', ')}` : ''}`
}
