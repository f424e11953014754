import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { linksIn, proseOf, withoutBlocks } from './links'

const ROOT = join(__dirname, '..', '..')

/** All Markdown of the repository. */
const PAGES = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)))

/** The names under which headings can be linked to, as GitHub makes them: one that comes again is numbered. */
function anchorsIn(prose: string): string[] {
  const seen = new Map<string, number>()
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title]) => {
    const anchor = title!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/&[lg]t;/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
}

/** Why a link leads nowhere. */
function mistakeOf(page: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)))
  if (!existsSync(join(ROOT, file))) return `there is no ${file}`
  if (anchor === undefined || anchorsIn(proseOf(file)).includes(anchor)) return undefined
  return `${file} has no heading #${anchor}`
}

const FOLDERS = readdirSync(ROOT, { withFileTypes: true })
  .filter((one) => one.isDirectory() && !/^\.|^(node_modules|dist|coverage|reports|cdk\.out)$/.test(one.name))
  .map(({ name }) => name)

/** Files and folders of this repository that prose names as code: `limiter/algorithms/gcra.ts`. */
const pathsIn = (prose: string): string[] =>
  [...prose.matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)]
    .map(([, path]) => path!)
    .filter((path) => FOLDERS.includes(path.split('/')[0]!))

/** Pages that say what was, when they were written. */
const isHistory = (page: string): boolean => page === 'CHANGELOG.md' || page.startsWith('docs/adr/')

describe('the pages', () => {
  it('link to one another, and name files', () => {
    expect(PAGES.length).toBeGreaterThan(20)
    expect(PAGES.flatMap((page) => linksIn(proseOf(page))).length).toBeGreaterThan(100)
    expect(PAGES.flatMap((page) => pathsIn(proseOf(page))).length).toBeGreaterThan(10)
  })

  it.each(PAGES)('%s has links that lead somewhere', (page) => {
    expect(linksIn(proseOf(page)).flatMap((target) => mistakeOf(page, target) ?? [])).toEqual([])
  })

  it.each(PAGES.filter((page) => !isHistory(page)))('%s names files that there are', (page) => {
    expect(pathsIn(proseOf(page)).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

describe('what checks them', () => {
  it('finds links of every kind, and not what is code', () => {
    const page =
      'a [b](c.md#d) ![e](<f.svg> "g")\n`[h](i)` [`j`](k)\n[l]: m.md\n<img src="n.svg"> [o](https://p)\n```md\n[q](r)\n```\n'
    expect(linksIn(withoutBlocks(page))).toEqual(['c.md#d', 'f.svg', 'k', 'm.md', 'n.svg'])
  })

  it('makes anchors as GitHub does', () => {
    const headings = '# A `b_c`, d!\n## [Über](x) e\n### forget &lt;f&gt;\n## A b_c d\n'
    expect(anchorsIn(headings)).toEqual(['a-b_c-d', 'über-e', 'forget-f', 'a-b_c-d-1'])
  })

  it('finds files and headings that are not there', () => {
    expect(mistakeOf('docs/errors.md', '../README.md')).toBeUndefined()
    expect(mistakeOf('docs/errors.md', 'nowhere.md')).toBe('there is no docs/nowhere.md')
    expect(mistakeOf('docs/errors.md', '#nothing')).toBe('docs/errors.md has no heading #nothing')
    expect(pathsIn('`docs/nowhere.md` and `limiter/` and `shop/prod` and `a/b.ts`')).toEqual([
      'docs/nowhere.md',
      'limiter/',
    ])
  })
})
