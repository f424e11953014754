import { failure, type Input, notFound, page, type Served } from './fake-service'

interface Method {
  authorizationType: string
  authorizerId?: string
  authorizationScopes?: string[]
  apiKeyRequired: boolean
}

interface Authorizer {
  id: string
  name: string
  type: string
  authorizerUri: string
  authorizerResultTtlInSeconds: number
  identitySource?: string
  identityValidationExpression?: string
  providerARNs?: string[]
}

interface Response {
  statusCode?: string
  responseParameters: Record<string, string>
  responseTemplates: Record<string, string>
}

/** What a deployment freezes. */
interface Definition {
  resources: Record<string, { path: string; methods: Record<string, Method> }>
  authorizers: Authorizer[]
  responses: Record<string, Response>
}

interface Stage {
  stageName: string
  deploymentId?: string
  canarySettings?: { deploymentId?: string }
}

interface Operation {
  op: string
  path: string
  value: string
}

const DEFAULT_BODY = { 'application/json': '{"message":$context.error.messageString}' }

/** One REST API of somebody else, as the documents say the control plane behaves. */
export class FakeRest {
  readonly id = 'restapi001'
  /** What the account lists. */
  listed: { id: string; name: string; tags?: Record<string, string> }[] = [{ id: 'restapi001', name: 'zoo' }]
  definition: Definition = {
    resources: {
      r1: { path: '/', methods: { GET: open() } },
      r2: { path: '/pets', methods: { GET: open(), POST: { ...open(), apiKeyRequired: true }, OPTIONS: open() } },
      r3: { path: '/pets/{id}', methods: { GET: open(), DELETE: { ...open(), authorizationType: 'AWS_IAM' } } },
      r4: {
        path: '/users',
        methods: {
          ANY: {
            ...open(),
            authorizationType: 'COGNITO_USER_POOLS',
            authorizerId: 'pool',
            authorizationScopes: ['a/read', 'a/write'],
          },
        },
      },
    },
    authorizers: [
      {
        id: 'pool',
        name: 'users',
        type: 'COGNITO_USER_POOLS',
        authorizerUri: '',
        authorizerResultTtlInSeconds: 300,
        identitySource: 'method.request.header.Authorization',
        providerARNs: ['arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_Zoo'],
      },
    ],
    responses: {
      DEFAULT_4XX: {
        responseParameters: { 'gatewayresponse.header.Access-Control-Allow-Origin': "'*'" },
        responseTemplates: DEFAULT_BODY,
      },
    },
  }
  stages: Stage[] = []
  deployments: { id: string; description?: string; createdDate: Date; frozen: Definition }[] = []
  private count = 0
  private now = Date.parse('2026-01-01T00:00:00Z')

  constructor() {
    this.deploy('prod', 'by hand')
  }

  /** What somebody else does. */
  deploy(stageName: string | undefined, description?: string): string {
    this.now += 5000
    const id = `d${++this.count}`
    this.deployments.push({
      id,
      description,
      createdDate: new Date(this.now),
      frozen: structuredClone(this.definition),
    })
    if (stageName !== undefined) {
      const stage = this.stages.find((one) => one.stageName === stageName)
      if (stage) stage.deploymentId = id
      else this.stages.push({ stageName, deploymentId: id })
    }
    return id
  }

  served(stageName: string, key: string): Served {
    const { deploymentId } = this.stages.find((one) => one.stageName === stageName)!
    const { frozen } = this.deployments.find(({ id }) => id === deploymentId)!
    const [verb, path] = key.split(' ')
    const { authorizationType: type, authorizerId } = Object.values(frozen.resources).find((one) => one.path === path)!
      .methods[verb!]!
    return { type, authorizerId, uri: frozen.authorizers.find(({ id }) => id === authorizerId)?.authorizerUri }
  }

  method(key: string): Method {
    const [verb, path] = key.split(' ')
    return Object.values(this.definition.resources).find((one) => one.path === path)!.methods[verb!]!
  }

  dump(): unknown {
    const authorizers = [...this.definition.authorizers]
    return { ...this.definition, authorizers, stages: this.stages, deployments: this.deployments.map(({ id }) => id) }
  }

  handle(name: string, input: Input): unknown {
    if (name === 'GetRestApis') {
      const { items, next } = page(this.listed, input.position)
      return { items, position: next }
    }
    if (input.restApiId !== this.id) throw notFound('API')
    const { authorizers, responses, resources } = this.definition
    switch (name) {
      case 'GetRestApi':
        return { id: this.id, name: 'zoo' }
      case 'GetResources': {
        const all = Object.entries(resources).map(([id, { path, methods }]) => ({ id, path, resourceMethods: methods }))
        if ((input.embed as string[] | undefined)?.[0] !== 'methods')
          throw new Error('methods are shown only where they are asked for')
        const { items, next } = page(all, input.position)
        return { items, position: next }
      }
      case 'GetMethod': {
        const method = resources[String(input.resourceId)]?.methods[String(input.httpMethod)]
        if (!method) throw notFound('Method')
        return method
      }
      case 'GetAuthorizers': {
        const { items, next } = page(authorizers, input.position)
        return { items, position: next }
      }
      case 'GetDeployments': {
        const { items, next } = page(this.deployments, input.position)
        return { items: items.map(({ frozen: _, ...one }) => one), position: next }
      }
      case 'GetStages':
        return { item: this.stages }
      case 'GetDeployment': {
        const found = this.deployments.find(({ id }) => id === input.deploymentId)
        if (!found) throw notFound('Deployment')
        const { frozen, ...one } = found
        const apiSummary = Object.fromEntries(
          Object.values(frozen.resources).map(({ path, methods }) => [path, methods]),
        )
        return (input.embed as string[] | undefined)?.includes('apisummary') ? { ...one, apiSummary } : one
      }
      case 'GetGatewayResponse':
        return this.response(String(input.responseType))
      case 'PutGatewayResponse': {
        const {
          responseType,
          statusCode,
          responseParameters = {},
          responseTemplates = {},
        } = input as Input & Partial<Response>
        responses[String(responseType)] = { statusCode, responseParameters, responseTemplates }
        return this.response(String(responseType))
      }
      case 'DeleteGatewayResponse':
        if (!responses[String(input.responseType)]) throw notFound('Gateway Response')
        delete responses[String(input.responseType)]
        return {}
      case 'CreateAuthorizer':
        return this.createAuthorizer(input as Input & Partial<Authorizer>)
      case 'UpdateAuthorizer': {
        const found = authorizers.find(({ id }) => id === input.authorizerId)
        if (!found) throw notFound('Authorizer')
        for (const { path, value } of input.patchOperations as Operation[]) {
          const field = path.slice(1)
          Object.assign(found, { [field]: field === 'authorizerResultTtlInSeconds' ? Number(value) : value })
        }
        return found
      }
      case 'DeleteAuthorizer': {
        const index = authorizers.findIndex(({ id }) => id === input.authorizerId)
        if (index < 0) throw notFound('Authorizer')
        const used = Object.values(resources).some(({ methods }) =>
          Object.values(methods).some(
            (one) => one.authorizerId === input.authorizerId && one.authorizationType !== 'AWS_IAM',
          ),
        )
        if (used) throw failure('ConflictException', 409, 'Authorizer is used by methods')
        authorizers.splice(index, 1)
        return {}
      }
      case 'UpdateMethod':
        return this.updateMethod(input as never)
      case 'CreateDeployment':
        return { id: this.deploy(input.stageName as string | undefined, input.description as string | undefined) }
      case 'UpdateStage': {
        const stage = this.stages.find(({ stageName }) => stageName === input.stageName)
        const [{ path, value } = { path: '', value: '' }] = input.patchOperations as Operation[]
        if (stage?.canarySettings) throw failure('BadRequestException', 400, 'The stage has a canary')
        if (!stage || path !== '/deploymentId' || !this.deployments.some(({ id }) => id === value))
          throw notFound('Stage')
        stage.deploymentId = value
        return stage
      }
      case 'DeleteDeployment': {
        const index = this.deployments.findIndex(({ id }) => id === input.deploymentId)
        if (index < 0) throw notFound('Deployment')
        if (this.stages.some(({ deploymentId }) => deploymentId === input.deploymentId)) {
          throw failure(
            'BadRequestException',
            400,
            'Active stages pointing to this deployment must be moved or deleted',
          )
        }
        this.deployments.splice(index, 1)
        return {}
      }
      default:
        throw new Error(`no ${name} here`)
    }
  }

  /**
   * A type that nobody has made has the API's own status and body, and what `DEFAULT_4XX` has of headers and bodies.
   */
  private response(responseType: string): unknown {
    const { responses } = this.definition
    const made = responses[responseType]
    if (made) return { responseType, defaultResponse: false, ...made }
    const { responseParameters, responseTemplates } = responses.DEFAULT_4XX ?? {
      responseParameters: {},
      responseTemplates: DEFAULT_BODY,
    }
    return { responseType, defaultResponse: true, statusCode: '403', responseParameters, responseTemplates }
  }

  private createAuthorizer({
    name,
    type,
    authorizerUri,
    authorizerResultTtlInSeconds = 300,
    identitySource,
  }: Input & Partial<Authorizer>): unknown {
    const { authorizers } = this.definition
    if (authorizers.some((one) => one.name === name))
      throw failure('BadRequestException', 400, 'Authorizer name must be unique.')
    if (authorizerResultTtlInSeconds > 0 && !identitySource)
      throw failure('BadRequestException', 400, 'Invalid identity source')
    const made = {
      id: `a${++this.count}`,
      name: name!,
      type: type!,
      authorizerUri: authorizerUri!,
      authorizerResultTtlInSeconds,
      identitySource,
    }
    authorizers.push(made)
    return made
  }

  private updateMethod({
    resourceId,
    httpMethod,
    patchOperations,
  }: {
    resourceId: string
    httpMethod: string
    patchOperations: Operation[]
  }): unknown {
    const method = this.definition.resources[resourceId]?.methods[httpMethod]
    if (!method) throw notFound('Method')
    const type = patchOperations.find(({ path }) => path === '/authorizationType')?.value ?? method.authorizationType
    for (const { op, path, value } of patchOperations) {
      if (path === '/authorizationScopes') {
        const scopes = new Set(method.authorizationScopes)
        if (op === 'add') scopes.add(value)
        else if (op === 'remove') scopes.delete(value)
        else throw failure('BadRequestException', 400, `Invalid patch operation ${op}`)
        method.authorizationScopes = scopes.size > 0 ? [...scopes].sort() : undefined
        continue
      }
      if (op !== 'replace') throw failure('BadRequestException', 400, `Invalid patch operation ${op}`)
      if (path === '/authorizerId') {
        if (type === 'NONE' || type === 'AWS_IAM') continue // answered with 200, and nothing changes
        if (!this.definition.authorizers.some(({ id }) => id === value))
          throw failure('BadRequestException', 400, 'Invalid authorizer ID specified')
        method.authorizerId = value
      } else if (path === '/authorizationType') {
        const wantsId = value === 'CUSTOM' || value === 'COGNITO_USER_POOLS'
        if (wantsId && !patchOperations.some((one) => one.path === '/authorizerId'))
          throw failure('BadRequestException', 400, 'Invalid authorizer ID')
        method.authorizationType = value
        if (!wantsId) delete method.authorizerId
      }
    }
    return method
  }
}

function open(): Method {
  return { authorizationType: 'NONE', apiKeyRequired: false }
}
