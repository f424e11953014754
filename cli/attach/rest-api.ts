import {
  type APIGatewayClient,
  CreateAuthorizerCommand,
  CreateDeploymentCommand,
  DeleteAuthorizerCommand,
  DeleteDeploymentCommand,
  DeleteGatewayResponseCommand,
  GetAuthorizersCommand,
  GetDeploymentCommand,
  GetDeploymentsCommand,
  GetGatewayResponseCommand,
  GetMethodCommand,
  GetResourcesCommand,
  GetStagesCommand,
  type PatchOperation,
  PutGatewayResponseCommand,
  UpdateAuthorizerCommand,
  UpdateMethodCommand,
  UpdateStageCommand,
} from '@aws-sdk/client-api-gateway'
import type {
  ApiControl,
  ApiState,
  Authorization,
  Authorizer,
  GatewayResponse,
  Method,
  PendingEdits,
  Served,
  Stage,
} from './api-state'
import { type Calls, ifThere, pages, readAll, unlessGone, withOrWithoutId } from './calls'
import { type ApiSummary, compareDeployment, typesIn } from './rest-deployment'
import { toAuthorizer, toMethod } from './rest-wire'
import { settingsFor } from './wanted'

/** The most that one page may hold. */
const limit = 500

const responseType = 'ACCESS_DENIED'

const replace = (path: string, value: string): PatchOperation => ({ op: 'replace', path, value })

/** A REST API through the control plane. */
export class RestApi implements ApiControl {
  readonly kind = 'REST'
  private readonly path: string

  constructor(
    private readonly client: Pick<APIGatewayClient, 'send'>,
    private readonly calls: Calls,
    private readonly api: { readonly id: string; readonly name: string },
  ) {
    this.path = `/restapis/${api.id}`
  }

  private make<T>(verb: string, below: string, send: () => Promise<T>): Promise<T> {
    return this.calls.make(`apigateway:${verb}`, this.path + below, send)
  }

  async read(): Promise<ApiState> {
    const { client } = this
    const restApiId = this.api.id
    const state = await readAll({
      methods: async () => {
        const resources = await pages(async (position) => {
          const page = await this.make('GET', '/resources', () =>
            client.send(new GetResourcesCommand({ restApiId, limit, position, embed: ['methods'] })),
          )
          return { items: page.items, next: page.position }
        })
        return resources.flatMap(({ id, path, resourceMethods = {} }) =>
          Object.entries(resourceMethods).map(([verb, method]): Method => toMethod(`${verb} ${path}`, id!, method)),
        )
      },
      authorizers: () => this.readAuthorizers(),
      gatewayResponse: () => this.readResponse(),
      stages: async () => {
        const { item = [] } = await this.make('GET', '/stages', () => client.send(new GetStagesCommand({ restApiId })))
        return item.map(
          ({ stageName, deploymentId, canarySettings }): Stage => ({
            name: stageName!,
            deploymentId,
            deploysItself: false,
            hasCanary: canarySettings !== undefined,
            canaryDeploymentId: canarySettings?.deploymentId,
          }),
        )
      },
      deployments: async () => {
        const all = await pages(async (position) => {
          const page = await this.make('GET', '/deployments', () =>
            client.send(new GetDeploymentsCommand({ restApiId, limit, position })),
          )
          return { items: page.items, next: page.position }
        })
        return all
          .map(({ id, description, createdDate }) => ({
            id: id!,
            description: description ?? '',
            createdAt: createdDate?.getTime() ?? 0,
          }))
          .sort((one, other) => one.createdAt - other.createdAt)
      },
    })
    return { id: restApiId, kind: 'REST', name: this.api.name, integrations: [], ...state }
  }

  async readMethod({ key, ref: resourceId }: Method): Promise<Method | undefined> {
    const httpMethod = key.split(' ')[0]!
    const found = await ifThere(() =>
      this.make('GET', `/resources/${resourceId}/methods/${httpMethod}`, () =>
        this.client.send(new GetMethodCommand({ restApiId: this.api.id, resourceId, httpMethod })),
      ),
    )
    return found && toMethod(key, resourceId, found)
  }

  async readAuthorizers(): Promise<Authorizer[]> {
    const restApiId = this.api.id
    const all = await pages(async (position) => {
      const page = await this.make('GET', '/authorizers', () =>
        this.client.send(new GetAuthorizersCommand({ restApiId, limit, position })),
      )
      return { items: page.items, next: page.position }
    })
    return all.map(toAuthorizer)
  }

  async readResponse(): Promise<GatewayResponse> {
    const found = await this.make('GET', `/gatewayresponses/${responseType}`, () =>
      this.client.send(new GetGatewayResponseCommand({ restApiId: this.api.id, responseType })),
    )
    return {
      isDefault: found.defaultResponse === true,
      statusCode: found.statusCode ?? '',
      parameters: found.responseParameters ?? {},
      templates: found.responseTemplates ?? {},
    }
  }

  async readIntegration(): Promise<undefined> {
    throw new Error('integrations of REST APIs are not mapped')
  }

  /** API Gateway shows only a deployment's methods, their authorization types and API key requirements. */
  async pendingEdits({ methods }: ApiState, { deploymentId }: Stage): Promise<PendingEdits> {
    if (!deploymentId) return { edits: [], complete: true, opens: [], closes: [] }
    return compareDeployment(methods, await this.summary(deploymentId))
  }

  async servedBy({ deploymentId }: Served): Promise<ReadonlyMap<string, string> | undefined> {
    return deploymentId ? typesIn(await this.summary(deploymentId)) : undefined
  }

  private async summary(deploymentId: string): Promise<ApiSummary> {
    const { apiSummary = {} } = await this.make('GET', `/deployments/${deploymentId}`, () =>
      this.client.send(new GetDeploymentCommand({ restApiId: this.api.id, deploymentId, embed: ['apisummary'] })),
    )
    return apiSummary
  }

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
