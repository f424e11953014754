import { failure, type Input, notFound, page, type Served } from './fake-service'

interface Route {
  RouteId: string
  RouteKey: string
  Target: string
  AuthorizationType: string
  AuthorizerId?: string
  AuthorizationScopes?: string[]
}

interface Authorizer {
  AuthorizerId: string
  Name: string
  AuthorizerType: string
  AuthorizerUri?: string
  AuthorizerResultTtlInSeconds?: number
  IdentitySource?: string[]
  [more: string]: unknown
}

interface Integration {
  IntegrationId: string
  ResponseParameters?: Record<string, Record<string, string>>
}

interface Definition {
  routes: Route[]
  authorizers: Authorizer[]
  integrations: Integration[]
}

interface Stage {
  StageName: string
  AutoDeploy: boolean
  DeploymentId?: string
}

const HTTP_API = {
  id: 'httpapi001',
  protocol: 'HTTP',
  definition: {
    routes: [
      { RouteId: 'r1', RouteKey: 'GET /pets', Target: 'integrations/i1', AuthorizationType: 'NONE' },
      { RouteId: 'r2', RouteKey: '$default', Target: 'integrations/i1', AuthorizationType: 'NONE' },
      { RouteId: 'r3', RouteKey: 'OPTIONS /pets', Target: 'integrations/i2', AuthorizationType: 'NONE' },
      {
        RouteId: 'r4',
        RouteKey: 'GET /users',
        Target: 'integrations/i2',
        AuthorizationType: 'JWT',
        AuthorizerId: 'jwt',
        AuthorizationScopes: ['read', 'write'],
      },
      { RouteId: 'r5', RouteKey: 'GET /admin', Target: 'integrations/i2', AuthorizationType: 'AWS_IAM' },
    ],
    authorizers: [
      {
        AuthorizerId: 'jwt',
        Name: 'users',
        AuthorizerType: 'JWT',
        IdentitySource: ['$request.header.Authorization'],
        JwtConfiguration: { Issuer: 'https://issuer.example', Audience: ['zoo'] },
      },
    ],
    integrations: [
      {
        IntegrationId: 'i1',
        ResponseParameters: { 200: { 'append:header.X-Zoo': 'yes', 'append:header.ratelimit-policy': 'zoo' } },
      },
      { IntegrationId: 'i2' },
    ],
  } satisfies Definition as Definition,
}

/** Routes of a WebSocket API, of which one alone can have an authorizer. */
export const WEB_SOCKET_API: typeof HTTP_API = {
  id: 'socketapi1',
  protocol: 'WEBSOCKET',
  definition: {
    routes: [
      { RouteId: 'w1', RouteKey: '$connect', Target: 'integrations/i1', AuthorizationType: 'NONE' },
      { RouteId: 'w2', RouteKey: '$default', Target: 'integrations/i1', AuthorizationType: 'NONE' },
      { RouteId: 'w3', RouteKey: 'send', Target: 'integrations/i1', AuthorizationType: 'NONE' },
      { RouteId: 'w4', RouteKey: '$disconnect', Target: 'integrations/i1', AuthorizationType: 'NONE' },
    ],
    authorizers: [],
    integrations: [{ IntegrationId: 'i1' }],
  },
}

/** One HTTP or WebSocket API of somebody else. Stages that deploy themselves always serve what the API says. */
export class FakeHttp {
  readonly id: string
  readonly protocol: string
  /** What the account lists. */
  listed: { ApiId: string; Name: string; ProtocolType: string; Tags?: Record<string, string> }[] = [
    { ApiId: 'httpapi001', Name: 'pets', ProtocolType: 'HTTP' },
  ]
  definition: Definition
  stages: Stage[] = []
  deployments: { DeploymentId: string; Description?: string; CreatedDate: Date; frozen: Definition }[] = []
  private count = 0
  private now = Date.parse('2026-01-01T00:00:00Z')

  constructor(api = HTTP_API) {
    this.id = api.id
    this.protocol = api.protocol
    this.definition = structuredClone(api.definition)
    this.stages.push({ StageName: 'prod', AutoDeploy: false, DeploymentId: this.deploy() })
  }

  deploy(Description?: string): string {
    this.now += 5000
    const DeploymentId = `d${++this.count}`
    this.deployments.push({
      DeploymentId,
      Description,
      CreatedDate: new Date(this.now),
      frozen: structuredClone(this.definition),
    })
    return DeploymentId
  }

  private definitionOf(stageName: unknown): Definition {
    const stage = this.stages.find(({ StageName }) => StageName === stageName)
    if (!stage) throw notFound('Stage')
    return stage.AutoDeploy
      ? this.definition
      : this.deployments.find(({ DeploymentId }) => DeploymentId === stage.DeploymentId)!.frozen
  }

  route(key: string): Route {
    return this.definition.routes.find(({ RouteKey }) => RouteKey === key)!
  }

  served(stageName: string, key: string): Served {
    const { routes, authorizers } = this.definitionOf(stageName)
    const { AuthorizationType: type, AuthorizerId: authorizerId } = routes.find(({ RouteKey }) => RouteKey === key)!
    return {
      type,
      authorizerId,
      uri: authorizers.find(({ AuthorizerId }) => AuthorizerId === authorizerId)?.AuthorizerUri,
    }
  }

  dump(): unknown {
    return {
      ...this.definition,
      stages: this.stages,
      deployments: this.deployments.map(({ DeploymentId }) => DeploymentId),
    }
  }

  handle(name: string, input: Input): unknown {
    if (name === 'GetApis') {
      const { items, next } = page(this.listed, input.NextToken)
      return { Items: items, NextToken: next }
    }
    if (input.ApiId !== this.id) throw notFound('API')
    const { routes, authorizers, integrations } = this.definition
    const list = (all: readonly unknown[]) => {
      const { items, next } = page(all, input.NextToken)
      return { Items: items, NextToken: next }
    }
    switch (name) {
      case 'GetApi':
        return { ApiId: this.id, Name: 'zoo', ProtocolType: this.protocol }
      case 'GetRoutes':
        return list(routes)
      case 'GetRoute':
        return find(routes, 'RouteId', input)
      case 'GetIntegration':
        return find(integrations, 'IntegrationId', input)
      case 'GetAuthorizers':
        return list(authorizers)
      case 'GetStages':
        return list(this.stages)
      case 'GetIntegrations':
        return list(integrations)
      case 'GetDeployments':
        return list(this.deployments.map(({ frozen: _, ...one }) => one))
      case 'ExportApi': {
        if (this.protocol !== 'HTTP') throw failure('BadRequestException', 400, 'Only HTTP APIs can be exported')
        const shown = input.StageName === undefined ? this.definition : this.definitionOf(input.StageName)
        return { body: new TextEncoder().encode(JSON.stringify({ paths: exported(shown) })) }
      }
      case 'CreateAuthorizer': {
        const { ApiId: _, ...fields } = input
        if (authorizers.some(({ Name }) => Name === fields.Name))
          throw failure('BadRequestException', 400, 'Authorizer name must be unique')
        this.checkSettings(fields)
        const made = { ...fields, AuthorizerId: `a${++this.count}` } as unknown as Authorizer
        authorizers.push(made)
        return made
      }
      case 'UpdateAuthorizer': {
        const { ApiId: _, ...fields } = input
        this.checkSettings(fields)
        return Object.assign(find(authorizers, 'AuthorizerId', input), fields)
      }
      case 'DeleteAuthorizer': {
        const one = find(authorizers, 'AuthorizerId', input)
        if (routes.some(({ AuthorizerId }) => AuthorizerId === input.AuthorizerId))
          throw failure('ConflictException', 409, 'in use')
        authorizers.splice(authorizers.indexOf(one), 1)
        return {}
      }
      case 'UpdateRoute':
        return this.updateRoute(find(routes, 'RouteId', input), input)
      case 'UpdateIntegration': {
        const one = find(integrations, 'IntegrationId', input)
        const merged = { ...one.ResponseParameters, ...(input.ResponseParameters as Integration['ResponseParameters']) }
        const kept = Object.entries(merged).filter(([, values]) => Object.keys(values).length > 0)
        if (kept.length > 0) one.ResponseParameters = Object.fromEntries(kept)
        else delete one.ResponseParameters
        return one
      }
      case 'CreateDeployment': {
        if (input.StageName !== undefined) throw new Error('the stage is moved by UpdateStage')
        return { DeploymentId: this.deploy(input.Description as string | undefined) }
      }
      case 'UpdateStage': {
        const stage = find(this.stages, 'StageName', input)
        if (stage.AutoDeploy)
          throw failure('BadRequestException', 400, 'Deployment ID cannot be set on a stage that deploys itself')
        find(this.deployments, 'DeploymentId', input)
        stage.DeploymentId = String(input.DeploymentId)
        return stage
      }
      case 'DeleteDeployment': {
        const one = find(this.deployments, 'DeploymentId', input)
        if (this.stages.some(({ DeploymentId }) => DeploymentId === input.DeploymentId))
          throw failure('ConflictException', 409, 'in use')
        this.deployments.splice(this.deployments.indexOf(one), 1)
        return {}
      }
      default:
        throw new Error(`no ${name} here`)
    }
  }

  /** Payload versions, simple answers and caches are for HTTP APIs. */
  private checkSettings(fields: Input): void {
    const others = Object.keys(fields).filter((name) => /Payload|Simple|Ttl|Jwt/.test(name))
    if (this.protocol === 'WEBSOCKET' && others.length > 0)
      throw failure('BadRequestException', 400, `${others.join()} is for HTTP APIs`)
  }

  private updateRoute(route: Route, { AuthorizationType, AuthorizerId, AuthorizationScopes }: Input): Route {
    const type = String(AuthorizationType ?? route.AuthorizationType)
    const wantsId = type === 'CUSTOM' || type === 'JWT'
    if (AuthorizerId && !this.definition.authorizers.some((one) => one.AuthorizerId === AuthorizerId))
      throw notFound('Authorizer')
    const scopes = (AuthorizationScopes as string[] | undefined) ?? route.AuthorizationScopes ?? []
    if (type !== 'JWT' && scopes.length > 0) throw failure('BadRequestException', 400, 'Scopes are for JWT authorizers')
    if (this.protocol === 'WEBSOCKET' && type !== 'NONE' && route.RouteKey !== '$connect')
      throw failure('BadRequestException', 400, 'authorization is restricted to the $connect route only')
    route.AuthorizationType = type
    if (wantsId && AuthorizerId) route.AuthorizerId = String(AuthorizerId)
    else if (!wantsId) delete route.AuthorizerId
    if (scopes.length > 0) route.AuthorizationScopes = scopes
    else delete route.AuthorizationScopes
    return route
  }
}

/** As OpenAPI, in which a route says which authorizers it has, or that it has `AWS_IAM`. */
function exported({ routes, authorizers }: Definition): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const { RouteKey, AuthorizationType, AuthorizerId, AuthorizationScopes = [], Target } of routes) {
    const [verb, path] = RouteKey === '$default' ? ['ANY', '/$default'] : (RouteKey.split(' ') as [string, string])
    const name = authorizers.find((one) => one.AuthorizerId === AuthorizerId)?.Name ?? String(AuthorizerId)
    const isNamed = AuthorizationType === 'CUSTOM' || AuthorizationType === 'JWT'
    paths[path] ??= {}
    paths[path][verb === 'ANY' ? 'x-amazon-apigateway-any-method' : verb.toLowerCase()] = {
      integration: Target,
      ...(isNamed && { security: [{ [name]: AuthorizationScopes }] }),
      ...(AuthorizationType === 'AWS_IAM' && { 'x-amazon-apigateway-auth': { type: 'AWS_IAM' } }),
    }
  }
  return paths
}

function find<T>(all: T[], field: keyof T & string, input: Input): T {
  const one = all.find((candidate) => candidate[field] === input[field])
  if (!one) throw notFound(field)
  return one
}
