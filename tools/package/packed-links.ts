import { posix } from 'node:path'

/** `repository` of a manifest. */
export type Repository = string | { readonly url: string } | undefined

/** Blocks of code, in which nothing is a link; else a link or a picture in a sentence, or what begins one otherwise. */
const PART = /^[ \t]*```[\s\S]*?^[ \t]*```[ \t]*$|(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|(`+)[^`]*\4/gm

/**
 * A page of a package with links that lead somewhere there: one to a file that is not packed leads to the repository,
 * and is words alone while the manifest names none.
 *
 * @param files of the package, as paths from its folder, `page` among them.
 */
export function withLinksOf(text: string, page: string, files: readonly string[], repository?: Repository): string {
  const home = homeOf(repository)
  return text.replace(PART, (whole: string, image: string | undefined, words: string, target: string | undefined) => {
    if (target === undefined || /^([a-z]+:|#)/.test(target)) return whole
    const [path, anchor] = target.split('#') as [string, string?]
    const file = posix.join(posix.dirname(page), path).replace(/\/$/, '')
    if (files.some((one) => one === file || one.startsWith(`${file}/`))) return whole
    if (home === undefined) return words
    return `${image}[${words}](${home}/${image ? 'raw' : 'blob'}/HEAD/${file}${anchor === undefined ? '' : `#${anchor}`})`
  })
}

/** Where people read it. */
function homeOf(repository: Repository): string | undefined {
  const url = typeof repository === 'object' ? repository.url : repository
  return url?.replace(/^git\+/, '').replace(/\.git$/, '')
}
