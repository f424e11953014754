import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const ROOT = join(__dirname, '..', '..')
const PAGES = ['README.md', 'CONTRIBUTING.md', ...['docs', 'docs/adr', 'docs/how-to', 'docs/migrate'].flatMap(pagesIn)]

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder)).flatMap((name) => (name.endsWith('.md') ? join(folder, name) : []))
}

/** The text of a page without what is code. */
const proseOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')

/** The names under which headings can be linked to, as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

const LINKS = PAGES.flatMap((page) =>
  [...proseOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(
    ([, target]) => [`${page} → ${target}`, page, target!] as const,
  ),
)

describe('the pages', () => {
  it('link to one another', () => {
    expect(LINKS.length).toBeGreaterThan(40)
  })

  it.each(LINKS)('%s leads somewhere', (_, page, target) => {
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? page : normalize(join(dirname(page), path))
    expect(existsSync(join(ROOT, file))).toBe(true)
    if (anchor !== undefined) expect(anchorsOf(file)).toContain(anchor)
  })
})
