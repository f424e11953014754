import type { EpochMs } from '../facade/values'

/** How a method or a route authorizes its callers. */
export interface Authorization {
  /** `NONE`, `AWS_IAM`, `CUSTOM`, `COGNITO_USER_POOLS`, `JWT`. */
  readonly type: string
  readonly authorizerId?: string
  readonly scopes?: readonly string[]
}

/** A method of a REST API, or a route of an HTTP or WebSocket API. */
export interface Method {
  /** `GET /pets`, `ANY /{proxy+}`, `$default`, `$connect`: how people name it, and unique in its API. */
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

/** Settings that decide when API Gateway calls the function, and with which payload. */
export interface AuthorizerSettings {
  readonly type: string
  /** How long API Gateway caches a decision, in seconds. Requests answered from the cache are not counted. */
  readonly ttlSeconds: number
  /** Values that a request must have: without them API Gateway answers 401 and does not call the function. */
  readonly identitySources: readonly string[]
  /** HTTP only: payload 2.0 and simple responses. */
  readonly simple?: boolean
}

/** Names and their values: headers, templates, mappings. */
export type Values = Readonly<Record<string, string>>

/** What a REST API answers when an authorizer denies. */
export interface GatewayResponse {
  /** Whether this is API Gateway's default response for the type, with what it inherits from `DEFAULT_4XX`. */
  readonly isDefault: boolean
  /** Empty if it was created without one: then the type's default applies. */
  readonly statusCode: string
  readonly parameters: Values
  readonly templates: Values
}

export interface Stage {
  readonly name: string
  readonly deploymentId?: string
  /** HTTP and WebSocket: changes go live by themselves. */
  readonly deploysItself: boolean
  readonly hasCanary: boolean
  readonly canaryDeploymentId?: string
}

/**
 * Said of a canary that has to go.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/promote-canary-deployment.html
 */
export const AFTER_PROMOTING = 'as promoting leaves it on the stage'

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
  readonly kind: 'REST' | 'HTTP' | 'WEBSOCKET'
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
 * Differences between a stage's deployment and the API's current state; `complete: false` if API Gateway does not show
 * all of them.
 */
export interface PendingEdits {
  readonly edits: readonly string[]
  readonly complete: boolean
  /** API Gateway shows nothing of what a deployment has: that of a WebSocket API. */
  readonly hidden?: true
  /** Methods that a deployment would leave without authentication. */
  readonly opens: readonly AuthorizedMethod[]
  /** Keys of methods that a deployment would give authentication. */
  readonly closes: readonly string[]
}

/** A method that a stage serves with authentication. */
interface AuthorizedMethod {
  readonly key: string
  /** The type, or on HTTP APIs the authorizer's name. */
  readonly by: string
}

/** A deployment by its id; on HTTP APIs, whose deployments cannot be read, by a stage that serves it. */
export interface Served {
  readonly deploymentId?: string
  readonly stage?: string
}

/** One API as API Gateway's control plane shows it. */
export interface ApiReader {
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
  /**
   * What authorizes each method that a stage, or a deployment, serves: on REST APIs the type, on HTTP APIs the
   * authorizer's name or `AWS_IAM`; `NONE` without authorization. A method of which it is not known is left out;
   * `undefined`: nothing is known, as of WebSocket APIs.
   */
  servedBy(served: Served): Promise<ReadonlyMap<string, string> | undefined>
}

/** The same, and what changes it. Each change is one call or a few calls that can be repeated. */
export interface ApiControl extends ApiReader {
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

/** Whether an authorization uses attach's authorizer. An id with another type is a leftover and does not count. */
export const usesAuthorizer = ({ type, authorizerId }: Authorization, ownId: string | undefined): boolean =>
  type === 'CUSTOM' && ownId !== undefined && authorizerId === ownId

export const isPreflight = ({ key }: Method): boolean => key.startsWith('OPTIONS ')

/** Whether Sluice can be asked about a method: not about preflights, and of a WebSocket about its connection alone. */
export const canBeLimited = (method: Method, kind: ApiState['kind']): boolean =>
  kind === 'WEBSOCKET' ? method.key === '$connect' : !isPreflight(method)

/** The kind of an API as people write it. */
export const kindText = (kind: ApiState['kind']): string => (kind === 'WEBSOCKET' ? 'WebSocket' : kind)

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
