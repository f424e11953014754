interface Config {
  maxAttempts?: unknown
}

/**
 * Replaces the SDK's retries and their rate limiter: the take loop retries by itself, since a retry of the SDK would
 * count a request twice when only the answer was lost.
 *
 * A client whose `maxAttempts` is not 1 is refused, so that no code relies on retries that do not happen.
 */
export function resolveRetryConfig<C extends Config>(config: C) {
  if (config.maxAttempts !== 1) throw new Error('the authorizer bundle has no retries: maxAttempts must be 1')
  return Object.assign(config, { maxAttempts: async () => 1, retryStrategy: async () => ({}) })
}

/** Passes the call on. It must exist under this name, because the signing middleware is placed relative to it. */
export const getRetryPlugin = () => ({
  applyToStack(stack: { add(middleware: (next: unknown) => unknown, options: object): void }) {
    stack.add((next) => next, { name: 'retryMiddleware', step: 'finalizeRequest', priority: 'high', override: true })
  },
})

const NOT_READ = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: undefined,
}

export const NODE_MAX_ATTEMPT_CONFIG_OPTIONS = NOT_READ
export const NODE_RETRY_MODE_CONFIG_OPTIONS = NOT_READ
export const DEFAULT_RETRY_MODE = 'standard'
export const RETRY_MODES = {}
export const Retry = {}
