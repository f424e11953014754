import { Lazy } from '../../limiter/lazy'
import type { Checker } from './check'
import type { FunctionAccess } from './invoke'
import type { UpstreamOptions } from './upstream-authorizer'

/**
 * The upstream authorizer as a Lambda function. Its code is loaded while the instance starts, and only where one is
 * configured, so that other deployments do not pay for it in every cold start.
 */
export function loadUpstream(options: Omit<UpstreamOptions, 'invoke'> & FunctionAccess): Checker {
  const upstream = new Lazy(async () => (await import('./lambda-upstream.ts')).lambdaUpstream(options))
  upstream.preload()
  return {
    async check(event, request) {
      try {
        return await (await upstream.get()).check(event, request)
      } catch (cause) {
        return { kind: 'unavailable', cause }
      }
    },
  }
}
