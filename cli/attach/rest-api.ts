import {
  CreateAuthorizerCommand,
  CreateDeploymentCommand,
  DeleteAuthorizerCommand,
  DeleteDeploymentCommand,
  DeleteGatewayResponseCommand,
  type PatchOperation,
  PutGatewayResponseCommand,
  UpdateAuthorizerCommand,
  UpdateMethodCommand,
  UpdateStageCommand,
} from '@aws-sdk/client-api-gateway'
import type { ApiControl, Authorization, Authorizer, GatewayResponse, Method } from './api-state'
import { unlessGone, withOrWithoutId } from './calls'
import { RestReader, responseType } from './rest-reader'
import { toAuthorizer } from './rest-wire'
import { settingsFor } from './wanted'

const replace = (path: string, value: string): PatchOperation => ({ op: 'replace', path, value })

/** A REST API through the control plane. */
export class RestApi extends RestReader implements ApiControl {
  async createAuthorizer(name: string, authorizerUri: string): Promise<string> {
    const made = await this.make('POST', '/authorizers', () =>
      this.client.send(
        new CreateAuthorizerCommand({
          restApiId: this.api.id,
          name,
          type: 'REQUEST',
          authorizerUri,
          authorizerResultTtlInSeconds: settingsFor('REST').ttlSeconds,
        }),
      ),
    )
    const authorizer = toAuthorizer(made)
    // Without a source the service might fill in one of its own.
    if (authorizer.settings.identitySources.length > 0) await this.repairAuthorizer(authorizer, authorizerUri)
    return authorizer.id
  }

  /** Sends only what differs, because an empty identity source is not needed where there is none. */
  async repairAuthorizer({ id: authorizerId, uri, settings }: Authorizer, authorizerUri: string): Promise<void> {
    const patchOperations = [
      ...(settings.ttlSeconds === 0 ? [] : [replace('/authorizerResultTtlInSeconds', '0')]),
      ...(settings.identitySources.length === 0 ? [] : [replace('/identitySource', '')]),
      ...(uri === authorizerUri ? [] : [replace('/authorizerUri', authorizerUri)]),
    ]
    await this.make('PATCH', `/authorizers/${authorizerId}`, () =>
      this.client.send(new UpdateAuthorizerCommand({ restApiId: this.api.id, authorizerId, patchOperations })),
    )
  }

  async deleteAuthorizer(authorizerId: string): Promise<void> {
    await unlessGone(() =>
      this.make('DELETE', `/authorizers/${authorizerId}`, () =>
        this.client.send(new DeleteAuthorizerCommand({ restApiId: this.api.id, authorizerId })),
      ),
    )
  }

  /** Type and id go in one call: an id alone on a method of type `NONE` is answered with 200 and changes nothing. */
  async authorize(
    { key, ref: resourceId, authorization: now }: Method,
    { type, authorizerId = '', scopes = [] }: Authorization,
  ): Promise<void> {
    const httpMethod = key.split(' ')[0]!
    const scope = (op: 'add' | 'remove', some: readonly string[], others: readonly string[]): PatchOperation[] =>
      some.filter((value) => !others.includes(value)).map((value) => ({ op, path: '/authorizationScopes', value }))
    const send = (id: readonly PatchOperation[]) =>
      this.make('PATCH', `/resources/${resourceId}/methods/${httpMethod}`, () =>
        this.client.send(
          new UpdateMethodCommand({
            restApiId: this.api.id,
            resourceId,
            httpMethod,
            patchOperations: [
              replace('/authorizationType', type),
              ...id,
              ...scope('remove', now.scopes ?? [], scopes),
              ...scope('add', scopes, now.scopes ?? []),
            ],
          }),
        ),
      )
    await withOrWithoutId(
      authorizerId,
      () => send([replace('/authorizerId', authorizerId)]),
      () => send([]),
    )
  }

  async respond({ isDefault, statusCode, parameters, templates }: GatewayResponse): Promise<void> {
    const restApiId = this.api.id
    const below = `/gatewayresponses/${responseType}`
    if (isDefault) {
      await unlessGone(() =>
        this.make('DELETE', below, () =>
          this.client.send(new DeleteGatewayResponseCommand({ restApiId, responseType })),
        ),
      )
      return
    }
    await this.make('PUT', below, () =>
      this.client.send(
        new PutGatewayResponseCommand({
          restApiId,
          responseType,
          statusCode: statusCode || undefined,
          responseParameters: { ...parameters },
          responseTemplates: { ...templates },
        }),
      ),
    )
  }

  async mapResponses(): Promise<void> {
    throw new Error('integrations of REST APIs are not mapped')
  }

  async deploy(stageName: string, description: string): Promise<void> {
    await this.make('POST', '/deployments', () =>
      this.client.send(new CreateDeploymentCommand({ restApiId: this.api.id, stageName, description })),
    )
  }

  async pointStage(stageName: string, deploymentId: string): Promise<void> {
    const patchOperations = [replace('/deploymentId', deploymentId)]
    await this.make('PATCH', `/stages/${stageName}`, () =>
      this.client.send(new UpdateStageCommand({ restApiId: this.api.id, stageName, patchOperations })),
    )
  }

  async deleteDeployment(deploymentId: string): Promise<void> {
    await unlessGone(() =>
      this.make('DELETE', `/deployments/${deploymentId}`, () =>
        this.client.send(new DeleteDeploymentCommand({ restApiId: this.api.id, deploymentId })),
      ),
    )
  }
}
