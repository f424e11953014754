import { type DevOptions, routeKeysOf } from '../cli/dev-options'
import { createPages, type Endpoint } from './console/pages'
import { awsEnvironment, TABLES } from './dynamodb'
import type { GuardedEngine } from './engines/guarded-engine'
import type { Authorize } from './gateway/authorizer'
import { type Backend, createBackend } from './gateway/backend'
import { type GatewayOptions, startGateway } from './gateway/gateway'
import { httpApi } from './gateway/http-api'
import type { LoopbackServer } from './gateway/loopback-server'
import { createProxy } from './gateway/proxy-backend'
import { restApi } from './gateway/rest-api'
import { type Route, routerOf } from './gateway/routes'
import { StartError } from './start-error'
import { handlerBackend, sampleBackend } from './web-socket/backends'
import { assertWs, startWebSocketGateway } from './web-socket/gateway'
import { routeSelection } from './web-socket/route-selection'

/** The parts of a gateway beside its options. */
interface GatewayParts extends Pick<GatewayOptions, 'log' | 'decided' | 'calls' | 'accessLog'> {
  readonly authorize: Authorize
  /** The server behind the gateway. */
  readonly url: URL | undefined
  readonly routes: readonly Route[] | undefined
  /** DynamoDB. */
  readonly engine: Pick<GuardedEngine, 'endpoint' | 'direct'>
  /** The console's page. @default none */
  readonly endpoints?: ReadonlyMap<string, Endpoint>
}

/** As API Gateway's own default. */
const BY_ACTION = '$request.body.action'

const OF_WEB_SOCKETS = { handler: '--handler', routes: '--routes', routeSelection: '--route-selection' } as const
const OF_REQUESTS = { backend: '--backend', openapi: '--openapi' } as const

/** @throws StartError for options of another kind of API, an invalid route selection, or a missing package. */
export function checkApi(options: DevOptions): void {
  const isWebSocket = options.api === 'websocket'
  const others = isWebSocket ? OF_REQUESTS : OF_WEB_SOCKETS
  for (const [field, flag] of Object.entries(others))
    if (options[field as keyof DevOptions] !== undefined)
      throw new StartError(
        isWebSocket
          ? `${flag} is for --api rest and http: the routes of a WebSocket API have a function, --handler <file>`
          : `${flag} is for --api websocket`,
      )
  routeSelection(options.routeSelection ?? BY_ACTION, [])
  if (isWebSocket) assertWs()
}

/** Opens the gateway for the requested kind of API. */
export async function openGateway(options: DevOptions, parts: GatewayParts): Promise<LoopbackServer> {
  const { authorize, url, routes, engine, endpoints, log, decided, calls, accessLog } = parts
  const about = { dynamodb: engine.endpoint, stateTable: TABLES.state, configTable: TABLES.config }
  const common = {
    authorize,
    port: options.port,
    log,
    ...(decided && { decided }),
    ...(accessLog && { accessLog }),
    about,
    allowHosts: options.allowHost ?? [],
  }
  if (options.api === 'websocket') {
    const { endpoint, direct } = engine
    // a handler's client may refuse the ports that browsers refuse, as Node's fetch does
    setEnvironment({ SLUICE_CONFIG_TABLE: TABLES.config, AWS_ENDPOINT_URL_DYNAMODB: endpoint }, endpoint)
    const { handler, routeSelection: by = BY_ACTION } = options
    const selectRoute = routeSelection(by, routeKeysOf(options))
    const backend = handler === undefined ? sampleBackend(direct) : handlerBackend(handler)
    return startWebSocketGateway({ ...common, selectRoute, backend })
  }
  const router = routes && routerOf(routes, options.api === 'rest')
  return startGateway({
    ...common,
    api: { rest: restApi, http: httpApi }[options.api],
    backend: url === undefined ? sample(engine.direct) : createProxy(url, log),
    ...(router && { router }),
    ...(calls && { calls }),
    pages: createPages({ allowHosts: options.allowHost, leadsFromRoot: !url && !router, endpoints, log }),
  })
}

/** The sample is a function in this process, which settles in the state table. */
function sample(endpoint: string): Backend {
  setEnvironment({}, endpoint)
  return createBackend()
}

/** The environment of a function in this process, as `grantSettle()` would set it. */
function setEnvironment(more: Readonly<Record<string, string>>, endpoint: string): void {
  const settling = { SLUICE_STATE_TABLE: TABLES.state, SLUICE_DYNAMODB_ENDPOINT: endpoint }
  Object.assign(process.env, awsEnvironment(), settling, more)
}
