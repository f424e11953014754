import * as v from 'valibot'
import type { Dimension } from './dimension'

/**
 * The dimensions that together make a subject, and whether each route is counted apart. No dimension at all is a
 * route's own subject.
 */
export interface CountedBy {
  readonly who: readonly Dimension[]
  readonly perRoute: boolean
}

/** Header names are tokens (RFC 9110 §5.6.2); claim names are any text (RFC 7519 §4), often URLs. */
const WORD = /^(?:client|user|ip|route|global|api|stage|header:[\w!#$%&'*+.^`|~-]{1,128}|claim:[^\s]{1,128})$/

export const BY_FIELD = {
  schema: v.pipe(
    v.union([v.string(), v.array(v.string())]),
    v.check((words) => toCountedBy(words) !== undefined),
  ),
  wanted:
    'client, user, ip, route, api, stage, global, header:<name> or claim:<name>, or a list of them such as [client, route] (global stands alone)',
  optional: true,
} as const

/**
 * The dimensions that the words of `by` name; `undefined` for an invalid combination: a word twice, or `global` with
 * any word but `route`.
 */
export function toCountedBy(words: unknown): CountedBy | undefined {
  const list: unknown[] = Array.isArray(words) ? words : [words]
  if (list.length === 0 || list.length > 5 || !list.every((word) => typeof word === 'string' && WORD.test(word)))
    return undefined
  const named = (list as string[]).map((word) => (word.startsWith('header:') ? word.toLowerCase() : word))
  const who = named.filter((word) => word !== 'route').sort() as Dimension[]
  if (new Set(named).size !== named.length || (who.includes('global') && who.length > 1)) return undefined
  return { who, perRoute: who.length < named.length }
}

/** Whether all callers count as one subject, which may get more writes than one item takes. */
export const isOfEverybody = ({ who }: Pick<CountedBy, 'who'>): boolean => who.every(isPlace)

/** Dimensions that say nothing about the caller. */
const isPlace = (dimension: Dimension): boolean => ['global', 'api', 'stage'].includes(dimension)

/**
 * All kinds of subject that these dimensions can produce: the caller replaces a missing user, the address replaces a
 * missing header or claim, and it replaces everything that identifies an anonymous caller.
 *
 * @param anonymous whether anonymous callers are counted as well.
 */
export function possibleSubjects(who: readonly Dimension[], anonymous: boolean): readonly (readonly Dimension[])[] {
  if (isOfEverybody({ who })) return [who]
  const withoutUser = who.map((dimension) => (dimension === 'user' ? 'client' : dimension))
  const withoutValues = withoutUser.map((dimension) => (dimension.includes(':') ? 'ip' : dimension))
  const asAnonymous: Dimension[] = [...who.filter(isPlace), 'ip']
  return [who, withoutUser, withoutValues, ...(anonymous ? [asAnonymous] : [])].map((dimensions) =>
    [...new Set(dimensions)].sort(),
  )
}

/** The headers whose values these dimensions count by, in lower case. */
export const headersIn = (who: readonly Dimension[]): string[] =>
  who.flatMap((dimension) => (dimension.startsWith('header:') ? dimension.slice('header:'.length) : []))
