import { GetRestApisCommand } from '@aws-sdk/client-api-gateway'
import { GetApisCommand } from '@aws-sdk/client-apigatewayv2'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { ApiState } from './api-state'
import type { Aws } from './open'

/** An API of the Region. */
export interface ListedApi {
  readonly id: string
  readonly name: string
  readonly kind: ApiState['kind']
  readonly tags: Readonly<Record<string, string>>
}

/** API Gateway's own limit for a page. */
const PAGE = 500

/** All APIs of the Region, a page after another. */
export async function listApis({ rest, http, calls }: Pick<Aws, 'rest' | 'http' | 'calls'>): Promise<ListedApi[]> {
  const all: ListedApi[] = []
  let position: string | undefined
  do {
    const page = await calls.make('apigateway:GET', '/restapis', () =>
      rest.send(new GetRestApisCommand({ limit: PAGE, position })),
    )
    for (const { id = '', name = '', tags = {} } of page.items ?? []) all.push({ id, name, kind: 'REST', tags })
    position = page.position
  } while (position)
  let NextToken: string | undefined
  do {
    const page = await calls.make('apigateway:GET', '/apis', () =>
      http.send(new GetApisCommand({ MaxResults: String(PAGE), NextToken })),
    )
    for (const { ApiId: id = '', Name: name = '', Tags: tags = {}, ProtocolType } of page.Items ?? [])
      all.push({ id, name, kind: ProtocolType === 'HTTP' ? 'HTTP' : 'WEBSOCKET', tags })
    NextToken = page.NextToken
  } while (NextToken)
  return all
}

/**
 * The APIs that have all of these tags.
 *
 * @param wanted `team=shop`, or `team` for any value.
 */
export function withTags(apis: readonly ListedApi[], wanted: readonly string[]): ListedApi[] {
  const tags = wanted.map((text) => {
    const [, key, value] = /^([^=]{1,128})(?:=(.{0,256}))?$/s.exec(text) ?? []
    if (key === undefined)
      throw new UserError(`--tag must be a key and a value such as "team=shop", got ${printed(text)}`)
    return { key, value }
  })
  return apis.filter((api) =>
    tags.every(({ key, value }) => Object.hasOwn(api.tags, key) && (value === undefined || api.tags[key] === value)),
  )
}
