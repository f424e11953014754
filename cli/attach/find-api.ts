import { type APIGatewayClient, GetRestApiCommand } from '@aws-sdk/client-api-gateway'
import { type ApiGatewayV2Client, GetApiCommand } from '@aws-sdk/client-apigatewayv2'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { ApiControl } from './api-state'
import { type Calls, MissingRights, type Right } from './calls'
import { HttpApi } from './http-api'
import { RestApi } from './rest-api'

export interface ApiClients {
  readonly rest: Pick<APIGatewayClient, 'send'>
  readonly http: Pick<ApiGatewayV2Client, 'send'>
}

/** Finds an API by id; `undefined` if this Region has none. */
export async function findApi(id: string, { rest, http }: ApiClients, calls: Calls): Promise<ApiControl | undefined> {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(id))
    throw new UserError(`an API's id must look like "a1b2c3d4e5", got ${printed(id)}`)
  // Who may see one kind only is denied the other, whether there is such an API or not.
  const missing: Right[] = []
  const restApi = await found(missing, () =>
    calls.make('apigateway:GET', `/restapis/${id}`, () => rest.send(new GetRestApiCommand({ restApiId: id }))),
  )
  if (restApi) return new RestApi(rest, calls, { id, name: restApi.name ?? '' })
  const api = await found(missing, () =>
    calls.make('apigateway:GET', `/apis/${id}`, () => http.send(new GetApiCommand({ ApiId: id }))),
  )
  if (!api && missing.length > 0) throw new MissingRights(missing)
  const kind = api?.ProtocolType === 'WEBSOCKET' ? 'WEBSOCKET' : 'HTTP'
  return api && new HttpApi(http, calls, { id, name: api.Name ?? '', kind })
}

/** The answer, or `undefined` where it is that there is no such thing, or that a right is missing. */
async function found<T>(missing: Right[], look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof MissingRights) missing.push(...error.rights)
    else if (!/NotFound/.test((error as Error).name)) throw error
    return undefined
  }
}
