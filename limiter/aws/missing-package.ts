import { ConfigError, Mistake } from '../errors'

/**
 * What is thrown where a package is needed that only some programs install: one sentence with the command that installs
 * it.
 *
 * @param who what needs it, and its verb: `DynamoDbStore needs`.
 */
export function missingPackage(who: string, names: readonly string[]): ConfigError {
  const [are, them] = names.length === 1 ? ['is', 'it'] : ['are', 'them']
  return new ConfigError([
    new Mistake(
      'missing_package',
      `${who} ${names.join(' and ')}, which ${are} not installed. To install ${them}: npm install ${names.join(' ')}`,
    ),
  ])
}

/** Whether an error says that this very package is not there, and not that something in it is broken. */
export function isMissing(error: unknown, name: string): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown }
  const isFound = code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND' // of require, and of import
  return !isFound && /^Cannot find (?:module|package) '([^']*)'/.exec(String(message))?.[1] === name
}
