import { APIGatewayClient, GetAuthorizersCommand, GetRestApisCommand } from '@aws-sdk/client-api-gateway'
import { ApiGatewayV2Client, GetApisCommand, GetAuthorizersCommand as GetV2 } from '@aws-sdk/client-apigatewayv2'

import { pages } from '../../provisioning/pages'

/** An authorizer that calls a function, by a permission or a role. */
interface CallingAuthorizer {
  readonly apiId: string
  readonly authorizerId: string
}

/** The maximum size of a page. */
const PAGE = 500

/** API Gateway answers about ten calls a second for an account: adaptive clients wait for it. */
const PATIENT = {
  maxAttempts: 8,
  retryMode: 'adaptive',
  requestHandler: { connectionTimeout: 5000, requestTimeout: 10_000, throwOnRequestTimeout: true },
} as const

/** Within the function's two minutes, so that it can still answer. */
const DEADLINE_MS = 90_000

/**
 * The authorizers of all APIs of the account and Region that call a function, an alias or a version of it. Both those
 * with a permission and those with a role are found.
 *
 * @throws if the authorizers of all APIs cannot be read within a minute and a half.
 */
export async function authorizersOf(functionArn: string): Promise<CallingAuthorizer[]> {
  const rest = new APIGatewayClient(PATIENT)
  const http = new ApiGatewayV2Client(PATIENT)
  const until = Date.now() + DEADLINE_MS
  const restApis = await pages(async (position) => {
    const page = await rest.send(new GetRestApisCommand({ limit: PAGE, position }))
    return { items: page.items, next: page.position }
  })
  const httpApis = await pages(async (NextToken) => {
    const page = await http.send(new GetApisCommand({ MaxResults: `${PAGE}`, NextToken }))
    return { items: page.Items, next: page.NextToken }
  })
  const looks = [
    ...restApis.map(({ id: restApiId = '' }) => ({
      apiId: restApiId,
      authorizers: () =>
        pages(async (position) => {
          const page = await rest.send(new GetAuthorizersCommand({ restApiId, limit: PAGE, position }))
          const items = page.items?.map((one) => ({ id: one.id, uri: one.authorizerUri }))
          return { items, next: page.position }
        }),
    })),
    ...httpApis.map(({ ApiId = '' }) => ({
      apiId: ApiId,
      authorizers: () =>
        pages(async (NextToken) => {
          const page = await http.send(new GetV2({ ApiId, MaxResults: `${PAGE}`, NextToken }))
          const items = page.Items?.map((one) => ({ id: one.AuthorizerId, uri: one.AuthorizerUri }))
          return { items, next: page.NextToken }
        }),
    })),
  ]
  const found: CallingAuthorizer[] = []
  for (const [done, { apiId, authorizers }] of looks.entries()) {
    if (Date.now() > until) throw new Error(`only ${done} of ${looks.length} APIs could be looked at in time`)
    for (const { id = '', uri = '' } of await unlessGone(authorizers))
      if (uri.includes(`/functions/${functionArn}/`) || uri.includes(`/functions/${functionArn}:`))
        found.push({ apiId, authorizerId: id })
  }
  return found
}

/** Empty if the API was deleted meanwhile. */
async function unlessGone<T>(read: () => Promise<T[]>): Promise<T[]> {
  try {
    return await read()
  } catch (error) {
    if ((error as Error).name !== 'NotFoundException') throw error
    return []
  }
}
