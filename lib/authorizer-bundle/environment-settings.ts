interface Setting {
  environmentVariableSelector(env: NodeJS.ProcessEnv, options?: object): unknown
  readonly default: unknown
}

/**
 * Stands in for the SDK's settings, which it looks for in the environment and then in the files of a home directory: a
 * function has none.
 *
 * A value that the SDK does not understand counts as none, as it does there. The environment is read once.
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
