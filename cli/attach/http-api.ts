import {
  CreateAuthorizerCommand,
  CreateDeploymentCommand,
  DeleteAuthorizerCommand,
  DeleteDeploymentCommand,
  UpdateAuthorizerCommand,
  UpdateIntegrationCommand,
  UpdateRouteCommand,
  UpdateStageCommand,
} from '@aws-sdk/client-apigatewayv2'
import type { ApiControl, Authorization, Authorizer, Integration, Method } from './api-state'
import { unlessGone, withOrWithoutId } from './calls'
import { HttpReader } from './http-reader'

const REQUEST = { AuthorizerType: 'REQUEST', IdentitySource: [] as string[] } as const

/**
 * The settings of attach's authorizer: no caching, payload 2.0 with simple responses. WebSocket APIs have none of
 * these.
 */
const SETTINGS = {
  HTTP: {
    ...REQUEST,
    AuthorizerPayloadFormatVersion: '2.0',
    EnableSimpleResponses: true,
    AuthorizerResultTtlInSeconds: 0,
  },
  WEBSOCKET: REQUEST,
} as const

/** An HTTP or WebSocket API through the control plane. */
export class HttpApi extends HttpReader implements ApiControl {
  async createAuthorizer(Name: string, AuthorizerUri: string): Promise<string> {
    const { AuthorizerId } = await this.make('POST', '/authorizers', () =>
      this.client.send(
        new CreateAuthorizerCommand({ ApiId: this.api.id, Name, AuthorizerUri, ...SETTINGS[this.kind] }),
      ),
    )
    return AuthorizerId!
  }

  async repairAuthorizer({ id: AuthorizerId }: Authorizer, AuthorizerUri: string): Promise<void> {
    await this.make('PATCH', `/authorizers/${AuthorizerId}`, () =>
      this.client.send(
        new UpdateAuthorizerCommand({ ApiId: this.api.id, AuthorizerId, AuthorizerUri, ...SETTINGS[this.kind] }),
      ),
    )
  }

  async deleteAuthorizer(AuthorizerId: string): Promise<void> {
    await unlessGone(() =>
      this.make('DELETE', `/authorizers/${AuthorizerId}`, () =>
        this.client.send(new DeleteAuthorizerCommand({ ApiId: this.api.id, AuthorizerId })),
      ),
    )
  }

  async authorize(
    { ref: RouteId, authorization: now }: Method,
    { type, authorizerId = '', scopes = [] }: Authorization,
  ): Promise<void> {
    const hadScopes = (now.scopes ?? []).length > 0
    const send = (AuthorizerId: string | undefined) =>
      this.make('PATCH', `/routes/${RouteId}`, () =>
        this.client.send(
          new UpdateRouteCommand({
            ApiId: this.api.id,
            RouteId,
            AuthorizationType: type as 'NONE',
            AuthorizerId,
            ...((hadScopes || scopes.length > 0) && { AuthorizationScopes: [...scopes] }),
          }),
        ),
      )
    await withOrWithoutId(
      authorizerId,
      () => send(authorizerId),
      () => send(undefined),
    )
  }

  async respond(): Promise<void> {
    throw new Error('only REST APIs have gateway responses')
  }

  /** To remove all mappings of a status code it must be sent with none: API Gateway keeps codes that are left out. */
  async mapResponses(
    { id: IntegrationId, responseParameters: now }: Integration,
    wanted: Integration['responseParameters'],
  ): Promise<void> {
    const emptied = Object.fromEntries(Object.keys(now).map((code) => [code, {}]))
    const ResponseParameters = Object.fromEntries(
      Object.entries({ ...emptied, ...wanted }).map(([code, values]) => [code, { ...values }]),
    )
    await this.make('PATCH', `/integrations/${IntegrationId}`, () =>
      this.client.send(new UpdateIntegrationCommand({ ApiId: this.api.id, IntegrationId, ResponseParameters })),
    )
  }

  async deploy(stage: string, Description: string): Promise<void> {
    const { DeploymentId } = await this.make('POST', '/deployments', () =>
      this.client.send(new CreateDeploymentCommand({ ApiId: this.api.id, Description })),
    )
    await this.pointStage(stage, DeploymentId!)
  }

  async pointStage(StageName: string, DeploymentId: string): Promise<void> {
    await this.make('PATCH', `/stages/${StageName}`, () =>
      this.client.send(new UpdateStageCommand({ ApiId: this.api.id, StageName, DeploymentId })),
    )
  }

  async deleteDeployment(DeploymentId: string): Promise<void> {
    await unlessGone(() =>
      this.make('DELETE', `/deployments/${DeploymentId}`, () =>
        this.client.send(new DeleteDeploymentCommand({ ApiId: this.api.id, DeploymentId })),
      ),
    )
  }
}
