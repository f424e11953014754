/** `tier free`, `route GET /search`, `settings`. */
export const titleOf = (sk: string): string => sk.replace('#', ' ')

/** More names than this are counted instead. */
const MAX_NAMES = 20

/** `tier free, route GET /search`, or `nothing`; of very many the first, and how many more. */
export function titlesOf(sks: readonly string[]): string {
  const more = sks.length - MAX_NAMES
  const names = sks.slice(0, MAX_NAMES).map(titleOf)
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(', ') || 'nothing'
}
