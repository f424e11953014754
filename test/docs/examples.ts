import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const pageOf = (name: string): string => readFileSync(join(__dirname, '..', '..', 'docs', name), 'utf8')

/** The fenced blocks of a page that are in this language. */
export function examplesIn(page: string, language: string): string[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, said, text]) =>
    said === language ? text! : [],
  )
}

/** Whether a page's tables have a row that explains a field: `| \`limit\` | …`. */
export const explains = (page: string, field: string): boolean =>
  new RegExp(`^\\| [^|]*\`${field}\`[^|]*\\|`, 'm').test(page)
