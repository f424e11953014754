import {
  type ApiGatewayV2Client,
  ExportApiCommand,
  GetAuthorizersCommand,
  GetDeploymentsCommand,
  GetIntegrationCommand,
  GetIntegrationsCommand,
  GetRouteCommand,
  GetRoutesCommand,
  GetStagesCommand,
} from '@aws-sdk/client-apigatewayv2'
import { pages } from '../../provisioning/pages'
import type { ApiReader, ApiState, Authorizer, Integration, Method, PendingEdits, Served, Stage } from './api-state'
import { type Calls, ifThere, MissingRights, readAll } from './calls'
import { compareExports, type ExportedRoutes, readExport } from './http-export'
import { toMethod } from './http-wire'

const MaxResults = '500'

/** What an HTTP or WebSocket API has and what its stages serve, read through the control plane. */
export class HttpReader implements ApiReader {
  readonly kind: 'HTTP' | 'WEBSOCKET'
  protected readonly path: string

  constructor(
    protected readonly client: Pick<ApiGatewayV2Client, 'send'>,
    private readonly calls: Calls,
    protected readonly api: { readonly id: string; readonly name: string; readonly kind: 'HTTP' | 'WEBSOCKET' },
  ) {
    this.kind = api.kind
    this.path = `/apis/${api.id}`
  }

  protected make<T>(verb: string, below: string, send: () => Promise<T>): Promise<T> {
    return this.calls.make(`apigateway:${verb}`, this.path + below, send)
  }

  private list<T>(
    below: string,
    send: (page: {
      ApiId: string
      MaxResults: string
      NextToken?: string
    }) => Promise<{ Items?: T[]; NextToken?: string }>,
  ) {
    return pages(async (NextToken) => {
      const page = await this.make('GET', below, () => send({ ApiId: this.api.id, MaxResults, NextToken }))
      return { items: page.Items, next: page.NextToken }
    })
  }

  async read(): Promise<ApiState> {
    const { client } = this
    const state = await readAll({
      methods: async () => {
        const routes = await this.list('/routes', (page) => client.send(new GetRoutesCommand(page)))
        return routes.map(toMethod)
      },
      authorizers: () => this.readAuthorizers(),
      stages: async () => {
        const all = await this.list('/stages', (page) => client.send(new GetStagesCommand(page)))
        return all.map(
          ({ StageName, DeploymentId, AutoDeploy }): Stage => ({
            name: StageName!,
            deploymentId: DeploymentId,
            deploysItself: AutoDeploy === true,
            hasCanary: false,
          }),
        )
      },
      deployments: async () => {
        const all = await this.list('/deployments', (page) => client.send(new GetDeploymentsCommand(page)))
        return all
          .map(({ DeploymentId, Description, CreatedDate }) => ({
            id: DeploymentId!,
            description: Description ?? '',
            createdAt: CreatedDate?.getTime() ?? 0,
          }))
          .sort((one, other) => one.createdAt - other.createdAt)
      },
      integrations: async () => {
        const all = await this.list('/integrations', (page) => client.send(new GetIntegrationsCommand(page)))
        return all.map(
          ({ IntegrationId, ResponseParameters = {} }): Integration => ({
            id: IntegrationId!,
            responseParameters: ResponseParameters,
          }),
        )
      },
    })
    return { ...this.api, ...state }
  }

  async readMethod({ key, ref: RouteId }: Method): Promise<Method | undefined> {
    const found = await ifThere(() =>
      this.make('GET', `/routes/${RouteId}`, () =>
        this.client.send(new GetRouteCommand({ ApiId: this.api.id, RouteId })),
      ),
    )
    return found && toMethod({ RouteKey: key, ...found })
  }

  async readAuthorizers(): Promise<Authorizer[]> {
    const all = await this.list('/authorizers', (page) => this.client.send(new GetAuthorizersCommand(page)))
    return all.map(
      ({ JwtConfiguration: jwt, ...one }): Authorizer => ({
        id: one.AuthorizerId!,
        name: one.Name ?? '',
        uri: one.AuthorizerUri ?? '',
        settings: {
          type: one.AuthorizerType ?? '',
          // whatever one of a WebSocket API says: it is asked about each connection
          ttlSeconds: this.kind === 'HTTP' ? (one.AuthorizerResultTtlInSeconds ?? 0) : 0,
          identitySources: one.IdentitySource ?? [],
          ...(this.kind === 'HTTP' && {
            simple: one.EnableSimpleResponses === true && one.AuthorizerPayloadFormatVersion === '2.0',
          }),
        },
        ...(one.AuthorizerType === 'JWT' && {
          tokens: { issuers: jwt?.Issuer ? [jwt.Issuer] : [], audience: jwt?.Audience ?? [] },
        }),
      }),
    )
  }

  async readResponse(): Promise<never> {
    throw new Error('only REST APIs have gateway responses')
  }

  async readIntegration(IntegrationId: string): Promise<Integration | undefined> {
    const found = await ifThere(() =>
      this.make('GET', `/integrations/${IntegrationId}`, () =>
        this.client.send(new GetIntegrationCommand({ ApiId: this.api.id, IntegrationId })),
      ),
    )
    return found && { id: IntegrationId, responseParameters: found.ResponseParameters ?? {} }
  }

  /**
   * The service exports both what a stage serves and what the API says now; of a WebSocket API neither.
   *
   * @see https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-exports-specification.html HTTP APIs
   */
  async pendingEdits(_: ApiState, { name, deploysItself }: Stage): Promise<PendingEdits> {
    if (deploysItself) return { edits: [], complete: true, opens: [], closes: [] }
    if (this.kind === 'WEBSOCKET') return { edits: [], complete: false, hidden: true, opens: [], closes: [] }
    try {
      const [served, latest] = [await this.exported(name), await this.exported()]
      return { ...compareExports(served, latest), complete: true }
    } catch (error) {
      if (error instanceof MissingRights) throw error
      return { edits: [], complete: false, opens: [], closes: [] } // an endpoint that knows no exports
    }
  }

  /** The service shows what a stage serves, and not what another deployment has. */
  async servedBy({ stage }: Served): Promise<ReadonlyMap<string, string> | undefined> {
    if (stage === undefined || this.kind === 'WEBSOCKET') return undefined
    try {
      return new Map([...(await this.exported(stage))].map(([key, { by = 'NONE' }]) => [key, by]))
    } catch (error) {
      if (error instanceof MissingRights) throw error
      return undefined // an endpoint that knows no exports
    }
  }

  private async exported(StageName?: string): Promise<ExportedRoutes> {
    const { body } = await this.make('GET', '/exports/OAS30', () =>
      this.client.send(
        new ExportApiCommand({
          ApiId: this.api.id,
          Specification: 'OAS30',
          OutputType: 'JSON',
          IncludeExtensions: true,
          StageName,
        }),
      ),
    )
    return readExport(new TextDecoder().decode(body))
  }
}
