import type { Command } from 'commander'
import * as v from 'valibot'
import { UserError } from '../exit'
import { CLIENT_FIELDS, hashApiKey } from '../facade/callers'
import type { Io } from '../terminal/io'

/** The option that names the API Gateway key to which usage plans count a client. */
export interface UsageKeyOption {
  readonly usageIdentifierKey?: string
}

/** The word for the key that a request shows, which is then stored nowhere. */
const SHOWN = 'shown'
const NONE = 'none'
const STANDARD_INPUT = '-'

/** Adds the option. Its value is never a key: command lines are kept in histories and seen by other processes. */
export const withUsageKey = (command: Command): Command =>
  command.option(
    '--usage-identifier-key <from>',
    `API Gateway key to which usage plans count it: "${SHOWN}" by requests, "${STANDARD_INPUT}" read from standard input, or "${NONE}"`,
  )

/**
 * What the option says of the field: `undefined` where nothing was said, `null` where it is to be removed.
 *
 * @throws UserError that names no part of a key.
 */
export async function readUsageKey(
  { usageIdentifierKey: from }: UsageKeyOption,
  io: Io,
): Promise<string | true | null | undefined> {
  if (from === undefined) return undefined
  if (from === SHOWN) return true
  if (from === NONE) return null
  if (from !== STANDARD_INPUT)
    throw new UserError(
      `--usage-identifier-key must be "${SHOWN}", "${STANDARD_INPUT}" or "${NONE}"; a key itself is read from standard input`,
    )
  let text = ''
  for await (const piece of io.stdin) text += String(piece)
  const key = text.trim()
  const { schema, wanted } = CLIENT_FIELDS.usageIdentifierKey
  if (!v.is(schema, key)) throw new UserError(`standard input must be ${wanted}, got something else`)
  return key
}

/** How the field is shown: never as it is. `key 1fbfd5e2a346` is the beginning of its hash, as of other keys. */
export function usageKeyText(stored: unknown): string | undefined {
  if (stored === undefined) return undefined
  return stored === true ? 'the key that requests show' : `key ${hashApiKey(String(stored)).slice(0, 12)}`
}

/** The fields of a record without the secret among them. */
export function withoutSecrets<T extends Readonly<Record<string, unknown>>>(fields: T): T {
  const { usageIdentifierKey: stored } = fields
  return stored === undefined || stored === true ? fields : { ...fields, usageIdentifierKey: usageKeyText(stored) }
}
