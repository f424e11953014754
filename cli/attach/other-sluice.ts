import { UserError } from '../exit'
import type { Authorizer } from './api-state'
import { MissingRights } from './calls'
import { authorizerName, parseFunctionArn } from './wanted'

/**
 * What is known of an authorizer's function: the config table that its environment names, if it is a Sluice; that it
 * was deleted; or that these credentials may not see it.
 */
export type SeenFunction =
  | { readonly is: 'there'; readonly configTable: string | undefined }
  | { readonly is: 'gone' }
  | { readonly is: 'hidden'; readonly why: UserError }

/** An authorizer of an API that calls a Sluice. */
export interface FoundSluice {
  readonly authorizer: Authorizer
  /** As the authorizer has it; undefined where it names none. */
  readonly functionArn: string | undefined
  readonly seen: SeenFunction
  /** Whether `attach` made the authorizer; else a template or the construct did. */
  readonly isAttached: boolean
}

/**
 * Finds the authorizers that call a Sluice. A Sluice is known by its function's environment, and where that cannot be
 * read by the authorizer's name: `sluice…`, or what the construct makes of a path, which ends in `Sluice` and a hash.
 *
 * @param look is called once for each function.
 */
export async function findSluices(
  authorizers: readonly Authorizer[],
  look: (functionArn: string) => Promise<SeenFunction>,
): Promise<FoundSluice[]> {
  const looked = new Map<string, SeenFunction>()
  const found: FoundSluice[] = []
  for (const authorizer of authorizers) {
    if (authorizer.uri === '') continue // it verifies tokens by itself
    const functionArn = functionOf(authorizer)
    const seen: SeenFunction = functionArn
      ? (looked.get(functionArn) ?? (await look(functionArn)))
      : { is: 'hidden', why: new UserError(`authorizer "${authorizer.name}" names no function`) }
    if (functionArn) looked.set(functionArn, seen)
    const isSluice = seen.is === 'there' ? seen.configTable !== undefined : isNamedSo(authorizer)
    if (isSluice) found.push({ authorizer, functionArn, seen, isAttached: isFromAttach(authorizer) })
  }
  return found
}

/** Whether a Sluice has this config table, which may be named by its ARN. */
export const readsTable = ({ seen }: FoundSluice, table: string): boolean =>
  seen.is === 'there' && seen.configTable !== undefined && nameOf(seen.configTable) === nameOf(table)

/** The name of a table that may be named by its ARN. */
export const nameOf = (table: string): string => table.split('/').at(-1)!

/** Whose an API is, as a phrase. */
export function ownerText({ authorizer, functionArn, seen, isAttached }: FoundSluice): string {
  const how = isAttached ? 'which attach made' : 'which attach did not make (a template, or the construct)'
  const what =
    seen.is === 'gone'
      ? `function ${functionArn}, which was deleted: every request to its methods fails`
      : seen.is === 'there'
        ? `the Sluice ${functionArn} with config table "${seen.configTable}"`
        : (functionArn ?? 'an unknown function')
  return `authorizer "${authorizer.name}", ${how}, calls ${what}`
}

/** What to do about another Sluice. */
export function adviceText(apiId: string, { seen, isAttached, functionArn }: FoundSluice): string {
  if (!isAttached) return 'remove it where it is defined'
  if (seen.is === 'gone') return `restore the API with sluice detach ${apiId} --function-gone`
  const table = seen.is === 'there' ? ` --table ${seen.configTable}` : ''
  return `detach it with sluice detach ${apiId}${table}${regionOption(functionArn)}`
}

function regionOption(functionArn: string | undefined): string {
  const region = functionArn && parseFunctionArn(functionArn)?.region
  return region ? ` --region ${region}` : ''
}

/** @throws UserError where another Sluice than this function is in front of an API: requests would be counted twice. */
export function rejectOtherSluice(apiId: string, found: readonly FoundSluice[], functionArn: string): void {
  const other = found.find((one) => one.functionArn !== functionArn)
  if (other)
    throw new UserError(
      `API ${apiId} already has another Sluice: ${ownerText(other)}. Requests would be counted twice: ${adviceText(apiId, other)}`,
    )
}

/** The function's ARN in an authorizer's URI. */
const functionOf = ({ uri }: Authorizer): string | undefined => /\/functions\/(arn:[^/]+)\/invocations$/.exec(uri)?.[1]

/** Whether the authorizer has the name that attach gives it for the function that it calls. */
function isFromAttach(authorizer: Authorizer): boolean {
  const arn = functionOf(authorizer)
  return arn !== undefined && authorizer.name === authorizerName(arn)
}

const isNamedSo = ({ name }: Authorizer): boolean => /^sluice/i.test(name) || /Sluice[0-9A-F]{8}$/.test(name)

/** Makes of a failed look what it says of the function. */
export function seenAs(error: unknown): SeenFunction {
  if (error instanceof MissingRights) return { is: 'hidden', why: error }
  if ((error as Error).name === 'ResourceNotFoundException') return { is: 'gone' }
  throw error
}
