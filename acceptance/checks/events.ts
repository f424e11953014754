import { GetApiKeyCommand, GetGatewayResponseCommand, ImportRestApiCommand } from '@aws-sdk/client-api-gateway'
import { ACCESS_DENIED, ACCESS_DENIED_PARAMETERS } from '../../provisioning/gateway-response'
import { type Check, found } from '../check'
import type { Scene } from '../scene'

interface Probe {
  readonly path?: string
  readonly context?: { readonly path?: string; readonly apiKeyId?: string }
}

/** A path as it is sent, and what the code takes for granted that the event says of it. */
interface PathCase {
  readonly sent: string
  /** REST APIs give the path as it came, HTTP APIs decoded. */
  readonly rest: string
  readonly http: string
}

const PATHS: readonly PathCase[] = [
  { sent: '/a%2Fb', rest: '/a%2Fb', http: '/a/b' },
  { sent: '/a%20b', rest: '/a%20b', http: '/a b' },
  { sent: '/a//b', rest: '/a//b', http: '/a//b' },
  { sent: '/a/../b', rest: '/a/../b', http: '/a/../b' },
  { sent: '/a/%2e%2e/b', rest: '/a/%2e%2e/b', http: '/a/../b' },
  { sent: '/a;v=1/b', rest: '/a;v=1/b', http: '/a;v=1/b' },
  { sent: '/a/', rest: '/a/', http: '/a/' },
]

/** What the authorizer and the backend saw of paths that one may read in several ways. */
async function seenPaths({ traffic }: Scene, url: string, prefix: string, kind: 'rest' | 'http') {
  const rows: string[] = []
  let isRight = true
  for (const { sent, [kind]: wanted } of PATHS) {
    const { status, body } = await traffic.send(url, { path: prefix + sent })
    const probe: Probe = status === 200 ? JSON.parse(body) : {}
    const seen = probe.context?.path
    // What API Gateway refuses, nobody can use to get around a limit.
    isRight &&= seen === wanted || status >= 400
    rows.push(`${sent} → ${seen === undefined ? status : `authorizer ${seen}, backend ${probe.path}`}`)
  }
  return found(isRight, rows.join('; '))
}

export const EVENTS: readonly Check[] = [
  {
    id: 'rest-paths',
    lines: ['aws'],
    asks: 'Dot segments and encoded slashes in the events of a REST API',
    expects: 'the path as it was sent, still encoded, or a refusal',
    onlyAws: 'MiniStack reads paths by rules of its own',
    run: (scene) => seenPaths(scene, scene.outputs.limiter.ProbeUrl, '/prod', 'rest'),
  },
  {
    id: 'http-paths',
    lines: ['aws'],
    asks: 'Dot segments and encoded slashes in the events of an HTTP API',
    expects: 'the path decoded, dot segments kept, or a refusal',
    onlyAws: 'MiniStack reads paths by rules of its own',
    run: (scene) => seenPaths(scene, scene.outputs.limiter.HttpProbeUrl, '', 'http'),
  },
  {
    id: 'api-key-id',
    lines: ['aws'],
    asks: 'The id of an API key in an authorizer’s event, where the method requires a key',
    expects: '`requestContext.identity.apiKeyId` is the key’s id',
    onlyAws: 'MiniStack does not tell an authorizer the id',
    async run({ clients, traffic, outputs: { limiter } }) {
      const { value = '' } = await clients.rest.send(
        new GetApiKeyCommand({ apiKey: limiter.KeyId, includeValue: true }),
      )
      const { status, body } = await traffic.send(`${limiter.ProbeUrl}keyed`, { headers: { 'x-api-key': value } })
      const seen: Probe = status === 200 ? JSON.parse(body) : {}
      return found(
        seen.context?.apiKeyId === limiter.KeyId,
        `${status}, ${seen.context?.apiKeyId === limiter.KeyId ? 'the key’s id' : `"${seen.context?.apiKeyId}"`}`,
      )
    },
  },
  {
    id: 'document',
    lines: ['aws'],
    asks: 'The gateway response of an OpenAPI document',
    expects: 'it is imported with its status, headers and body',
    onlyAws: 'MiniStack imports no gateway responses',
    async run({ clients, name }) {
      const { type, statusCode, templates } = ACCESS_DENIED
      const response = { statusCode, responseParameters: ACCESS_DENIED_PARAMETERS, responseTemplates: templates }
      const document = {
        openapi: '3.0.1',
        info: { title: `${name}-document`, version: '1' },
        paths: {},
        'x-amazon-apigateway-gateway-responses': { [type]: response },
      }
      const body = new TextEncoder().encode(JSON.stringify(document))
      const { id } = await clients.rest.send(new ImportRestApiCommand({ body }))
      const got = await clients.rest.send(new GetGatewayResponseCommand({ restApiId: id, responseType: type }))
      const count = Object.keys(got.responseParameters ?? {}).length
      return found(
        got.statusCode === statusCode &&
          count === Object.keys(ACCESS_DENIED_PARAMETERS).length &&
          got.responseTemplates?.['application/json'] === templates['application/json'],
        `${got.statusCode} with ${count} headers`,
      )
    },
  },
]
