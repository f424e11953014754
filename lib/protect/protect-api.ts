import type { IRestApi, RestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Construct } from 'constructs'
import { kindOf, type OwnApi } from './api-kind'
import type { ProtectingLimiter } from './call-permission'
import { HttpApiProtection, type ProtectHttpApiOptions } from './http-api'
import { type AttachToOptions, ImportedRestApiProtection } from './imported-rest-api'
import { type ProtectRestApiOptions, RestApiProtection } from './rest-api'
import { type ProtectSpecRestApiOptions, SpecRestApiProtection } from './spec-rest-api'
import { WebSocketApiProtection } from './websocket-api'

/** An API, for writing its label. */
interface LabelledApi {
  readonly id: string
  /** Undefined if it is unknown here. */
  readonly name: string | undefined
  readonly label: string
}

/** A limiter that protects APIs: one of this app, or one that another account shares. */
export interface Protector {
  /** Whether backends answer requests over a limit. */
  readonly deniesInBackend: boolean
  /** The function behind the authorizer of one more API. */
  access(): ProtectingLimiter
  /** @throws ConfigError for an API that it cannot protect. */
  checkPlace(api: Construct): void
  /** @throws ConfigError for a label that it cannot give. */
  checkLabel(api: Construct, apiId: string, label: string): void
  /** Writes a label; the authorizer in front of the API waits for it. */
  label(scope: Construct, api: LabelledApi): Construct
}

/** The resources in front of an API, once for each kind. */
export type ApiProtection = RestApiProtection | SpecRestApiProtection | HttpApiProtection | WebSocketApiProtection
/** The options of all kinds of API. */
export type ProtectOptions = ProtectRestApiOptions & ProtectSpecRestApiOptions & ProtectHttpApiOptions

/** Limits every request to an API of this app, see `RateLimiter.protect`. */
export function protectApi(protector: Protector, api: OwnApi, options: ProtectOptions): ApiProtection {
  if (api.node.tryFindChild('Sluice'))
    throw new Error(`protect() must be called once per API, got ${api.node.path} again: name all methods in one call`)
  const kind = kindOf(api)
  const id = 'restApiId' in api ? api.restApiId : api.apiId
  check(protector, api, id, options.as)
  const labelled = <T extends ApiProtection>(name: string | undefined, protection: T) =>
    labelledBy(protector, options.as, { id, name }, protection)
  switch (kind) {
    case 'REST':
      return labelled((api as RestApi).restApiName, new RestApiProtection(api as RestApi, protector.access(), options))
    case 'DOCUMENT':
      return labelled(
        (api as SpecRestApi).restApiName,
        new SpecRestApiProtection(api as SpecRestApi, protector.access(), options),
      )
    case 'HTTP':
      return labelled(
        (api as HttpApi).httpApiName,
        new HttpApiProtection(api as HttpApi, protector.access(), {
          mapHeaders: !protector.deniesInBackend,
          ...options,
        }),
      )
    case 'WEBSOCKET':
      return labelled(
        (api as WebSocketApi).webSocketApiName,
        new WebSocketApiProtection(api as WebSocketApi, protector.access()),
      )
  }
}

/** Prepares an imported REST API, see `RateLimiter.attachTo`. */
export function attachToApi(protector: Protector, api: IRestApi, options: AttachToOptions): ImportedRestApiProtection {
  if (api.node.tryFindChild('Sluice'))
    throw new Error(`attachTo() must be called once per API, got ${api.node.path} again`)
  const id = api.restApiId
  check(protector, api, id, options.as)
  const name = undefined // unknown here
  return labelledBy(
    protector,
    options.as,
    { id, name },
    new ImportedRestApiProtection(api, protector.access(), options),
  )
}

function check(protector: Protector, api: Construct, id: string, label: string | undefined): void {
  protector.checkPlace(api)
  if (label !== undefined) protector.checkLabel(api, id, label)
}

/** Gives an API a label before its first request reaches the limiter. */
function labelledBy<T extends ApiProtection | ImportedRestApiProtection>(
  protector: Protector,
  label: string | undefined,
  api: Omit<LabelledApi, 'label'>,
  protection: T,
): T {
  if (label === undefined) return protection
  const resource = protector.label(protection, { ...api, label })
  // A document's authorizer is made with the API, whose id the label needs: its deployments wait instead.
  if ('deployments' in protection) protection.deployments.waitFor(resource)
  else protection.authorizer.node.addDependency(resource)
  return protection
}
