import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(__dirname, '..', '..', '..')

/** A fenced block of a page. */
export interface Block {
  readonly page: string
  /** Of the fence; what is wrong in a block is told by its page's lines. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** Why it is not checked: `<!-- not checked: … -->` on the line before. */
  readonly exempt?: string
}

/** The pages whose snippets are checked: what a reader follows today, and not history or what TypeDoc wrote. */
export const PAGES = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs')].filter(
  (page) => !/^docs\/(adr|api)\//.test(page),
)

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))
    .sort()
}

export const readPage = (page: string): string => readFileSync(join(ROOT, page), 'utf8')

const FENCE = /^([ \t]*)```([^\n`]*)\n([\s\S]*?)^[ \t]*```[ \t]*$/gm
const EXEMPTION = /<!-- not checked: (.*?) -->\s*$/s

export function blocksOf(page: string, text = readPage(page)): Block[] {
  return [...text.matchAll(FENCE)].map(({ index, 1: indent, 2: language, 3: code }) => {
    const before = text.slice(0, index)
    return {
      page,
      line: before.split('\n').length,
      language: language!.trim(),
      text: code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      exempt: EXEMPTION.exec(before)?.[1],
    }
  })
}
