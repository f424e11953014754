interface Setting {
  environmentVariableSelector(env: NodeJS.ProcessEnv, options?: object): unknown
  readonly default: unknown
}

/**
 * Replaces the SDK's loader of settings, which reads the environment and then files in a home directory: a function has
 * no such files.
 *
 * A value that the SDK does not understand is ignored, as in the SDK. The environment is read once.
 *
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
 */
export function loadConfig({ environmentVariableSelector, default: otherwise }: Setting, options?: object) {
  let value: unknown
  return async () => {
    value ??= fromEnvironment() ?? (typeof otherwise === 'function' ? await otherwise() : otherwise)
    return value
  }

  function fromEnvironment(): unknown {
    try {
      return environmentVariableSelector(process.env, options)
    } catch {
      return undefined
    }
  }
}
