import {
  type APIGatewayClient,
  GetAuthorizersCommand,
  GetDeploymentCommand,
  GetDeploymentsCommand,
  GetGatewayResponseCommand,
  GetMethodCommand,
  GetResourcesCommand,
  GetStagesCommand,
} from '@aws-sdk/client-api-gateway'
import { pages } from '../../provisioning/pages'
import type { ApiReader, ApiState, Authorizer, GatewayResponse, Method, PendingEdits, Served, Stage } from './api-state'
import { type Calls, ifThere, readAll } from './calls'
import { type ApiSummary, compareDeployment, typesIn } from './rest-deployment'
import { toAuthorizer, toMethod } from './rest-wire'

/** The most that one page may hold. */
const limit = 500

/** The gateway response of denials. */
export const responseType = 'ACCESS_DENIED'

/** What a REST API has and what its deployments serve, read through the control plane. */
export class RestReader implements ApiReader {
  readonly kind = 'REST'
  protected readonly path: string

  constructor(
    protected readonly client: Pick<APIGatewayClient, 'send'>,
    private readonly calls: Calls,
    protected readonly api: { readonly id: string; readonly name: string },
  ) {
    this.path = `/restapis/${api.id}`
  }

  protected make<T>(verb: string, below: string, send: () => Promise<T>): Promise<T> {
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
}
