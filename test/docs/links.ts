import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(__dirname, '..', '..')

/** A page without its fenced blocks. */
export const withoutBlocks = (text: string): string => text.replace(/^[ \t]*```[\s\S]*?^[ \t]*```[ \t]*$/gm, '')

/** What a page of the repository says in sentences. */
export const proseOf = (page: string): string => withoutBlocks(readFileSync(join(ROOT, page), 'utf8'))

/** What a page links to or shows in this repository: inline, by reference, or in HTML. */
export function linksIn(prose: string): string[] {
  const text = prose.replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, (code) => (/\]\(/.test(code) ? '' : code))
  const links = /\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|^\[[^\]]+\]:\s+(\S+)|<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"/gm
  return [...text.matchAll(links)]
    .map(([, inline, reference, html]) => (inline ?? reference ?? html)!)
    .filter((target) => !/^[a-z]+:/.test(target))
}
