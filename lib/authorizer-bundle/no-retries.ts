interface Config {
  maxAttempts?: unknown
}

/**
 * Stands in for the SDK's retries and their rate limiter: the take loop retries by itself, since the SDK would count a
 * lost answer twice.
 *
 * A client that leaves `maxAttempts` at anything but 1 is refused, so that nobody relies on retries that are not there.
 */
export function resolveRetryConfig<C extends Config>(config: C) {
  if (config.maxAttempts !== 1) throw new Error('the authorizer bundle has no retries: maxAttempts must be 1')
  return Object.assign(config, { maxAttempts: async () => 1, retryStrategy: async () => ({}) })
}

/** Passes on. It is there, and so called, because signing takes its place in the stack from it. */
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
