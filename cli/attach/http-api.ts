import {
  type ApiGatewayV2Client,
  CreateAuthorizerCommand,
  CreateDeploymentCommand,
  DeleteAuthorizerCommand,
  DeleteDeploymentCommand,
  ExportApiCommand,
  GetAuthorizersCommand,
  GetDeploymentsCommand,
  GetIntegrationCommand,
  GetIntegrationsCommand,
  GetRouteCommand,
  GetRoutesCommand,
  GetStagesCommand,
  UpdateAuthorizerCommand,
  UpdateIntegrationCommand,
  UpdateRouteCommand,
  UpdateStageCommand,
} from '@aws-sdk/client-apigatewayv2'
import type {
  ApiControl,
  ApiState,
  Authorization,
  Authorizer,
  Integration,
  Method,
  PendingEdits,
  Served,
  Stage,
} from './api-state'
import { type Calls, ifThere, MissingRights, pages, readAll, unlessGone, withOrWithoutId } from './calls'
import { compareExports, type ExportedRoutes, readExport } from './http-export'
import { toMethod } from './http-wire'

const MaxResults = '500'

/** The settings of attach's authorizer: no caching, payload 2.0 with simple responses. */
const SETTINGS = {
  AuthorizerType: 'REQUEST',
  AuthorizerPayloadFormatVersion: '2.0',
  EnableSimpleResponses: true,
  AuthorizerResultTtlInSeconds: 0,
  IdentitySource: [] as string[],
} as const

/** An HTTP API through the control plane. */
export class HttpApi implements ApiControl {
  readonly kind = 'HTTP'
  private readonly path: string

  constructor(
    private readonly client: Pick<ApiGatewayV2Client, 'send'>,
    private readonly calls: Calls,
    private readonly api: { readonly id: string; readonly name: string },
  ) {
    this.path = `/apis/${api.id}`
  }

  private make<T>(verb: string, below: string, send: () => Promise<T>): Promise<T> {
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
    return { id: this.api.id, kind: 'HTTP', name: this.api.name, ...state }
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
          ttlSeconds: one.AuthorizerResultTtlInSeconds ?? 0,
          identitySources: one.IdentitySource ?? [],
          simple: one.EnableSimpleResponses === true && one.AuthorizerPayloadFormatVersion === '2.0',
        },
        ...(one.AuthorizerType === 'JWT' && {
          tokens: { issuers: jwt?.Issuer ? [jwt.Issuer] : [], audience: jwt?.Audience ?? [] },
        }),
      }),
    )
  }

  async readResponse(): Promise<never> {
    throw new Error('HTTP APIs have no gateway responses')
  }

  async readIntegration(IntegrationId: string): Promise<Integration | undefined> {
    const found = await ifThere(() =>
      this.make('GET', `/integrations/${IntegrationId}`, () =>
        this.client.send(new GetIntegrationCommand({ ApiId: this.api.id, IntegrationId })),
      ),
    )
    return found && { id: IntegrationId, responseParameters: found.ResponseParameters ?? {} }
  }

  /** The service exports both what a stage serves and what the API says now. */
  async pendingEdits(_: ApiState, { name, deploysItself }: Stage): Promise<PendingEdits> {
    if (deploysItself) return { edits: [], complete: true, opens: [], closes: [] }
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
    if (stage === undefined) return undefined
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

  async createAuthorizer(Name: string, AuthorizerUri: string): Promise<string> {
    const { AuthorizerId } = await this.make('POST', '/authorizers', () =>
      this.client.send(new CreateAuthorizerCommand({ ApiId: this.api.id, Name, AuthorizerUri, ...SETTINGS })),
    )
    return AuthorizerId!
  }

  async repairAuthorizer({ id: AuthorizerId }: Authorizer, AuthorizerUri: string): Promise<void> {
    await this.make('PATCH', `/authorizers/${AuthorizerId}`, () =>
      this.client.send(new UpdateAuthorizerCommand({ ApiId: this.api.id, AuthorizerId, AuthorizerUri, ...SETTINGS })),
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
    throw new Error('HTTP APIs have no gateway responses')
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
