import { type FunctionAccess, invoker } from './invoke'
import { UpstreamAuthorizer, type UpstreamOptions } from './upstream-authorizer'

/** The upstream authorizer as a Lambda function. */
export function lambdaUpstream(options: Omit<UpstreamOptions, 'invoke'> & FunctionAccess): UpstreamAuthorizer {
  return new UpstreamAuthorizer({ ...options, invoke: invoker(options) })
}
