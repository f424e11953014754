import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(__dirname, '..', '..')
const WIDEST = 120

/** All code of the repository, but the old releases that tests run against as they were built. */
const FILES = listed('*.ts', '*.tsx', '*.js', '*.mjs', '.ci/*').filter(
  (path) => !path.startsWith('test/compatibility/'),
)

/** All pages but those that TypeDoc writes. */
const PAGES = listed('*.md').filter((path) => !path.startsWith('docs/api/'))

function listed(...patterns: string[]): string[] {
  const paths = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...patterns], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return paths.split('\n').filter((path) => path !== '')
}

/**
 * The lines that are too wide though they could be broken, as `file:line`: Biome wraps code, but no comments. What may
 * be wide is a text, template or pattern that is one piece, a line with a link, and a command in a shell script.
 */
function tooWide(path: string, text: string): string[] {
  if (!text.split('\n').some((line) => line.length > WIDEST)) return []
  const pieces = literalsOf(path, text)
  let start = 0
  return text.split('\n').flatMap((line, i) => {
    const [from, to] = [start, start + line.length]
    start = to + 1
    if (line.length <= WIDEST || /https?:\/\/\S/.test(line)) return []
    if (!/\.(tsx?|js|mjs)$/.test(path)) return line.startsWith('#') ? [`${path}:${i + 1}`] : []
    const inPieces = pieces.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from)), 0)
    return line.length - inPieces > WIDEST || inPieces === 0 ? [`${path}:${i + 1}`] : []
  })
}

/** Where texts, templates and patterns begin and end. */
function literalsOf(path: string, text: string): [number, number][] {
  const found: [number, number][] = []
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateExpression(node) || ts.isJsxText(node)) {
      found.push([node.getStart(), node.getEnd()])
    } else node.forEachChild(visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true))
  return found
}

/**
 * The lines of prose that are too wide, as `file:line`. What may be wide is a table, what stands between fences, such
 * as a line of the log, and a line with a link to another site.
 */
function tooWideProse(path: string, text: string): string[] {
  let isFenced = false
  return text.split('\n').flatMap((line, i) => {
    if (/^\s*```/.test(line)) isFenced = !isFenced
    const mayBeWide = isFenced || line.startsWith('|') || /https?:\/\/\S/.test(line)
    return line.length <= WIDEST || mayBeWide ? [] : [`${path}:${i + 1}`]
  })
}

describe('lines of pages', () => {
  it(`are at most ${WIDEST} characters wide where they are prose`, () => {
    expect(PAGES.length).toBeGreaterThan(50)
    expect(PAGES.flatMap((path) => tooWideProse(path, readFileSync(join(ROOT, path), 'utf8')))).toEqual([])
  })

  it('are too wide in a sentence and in a link to a file, and not in a table, a log line or a link to a site', () => {
    const wide = 'word '.repeat(30)
    const fence = '```'
    const page = [wide, `[${wide}](a.md)`, `| ${wide} |`, `${fence}json`, wide, fence, `https://example.com/ ${wide}`]
    expect(tooWideProse('a.md', [...page, wide].join('\n'))).toEqual(['a.md:1', 'a.md:2', 'a.md:8'])
  })
})

describe('lines of code and comments', () => {
  it(`are at most ${WIDEST} characters wide`, () => {
    expect(FILES.length).toBeGreaterThan(500)
    const all = FILES.flatMap((path) => tooWide(path, readFileSync(join(ROOT, path), 'utf8')))
    expect(all).toEqual([])
  })

  it('are too wide in a comment and in code, and not for a text or a link', () => {
    const wide = 'word '.repeat(30)
    expect(tooWide('a.ts', `// ${wide}\n/**\n * ${wide}\n */\nf(${'a, '.repeat(60)})`)).toEqual([
      'a.ts:1',
      'a.ts:3',
      'a.ts:5',
    ])
    expect(
      tooWide(
        'a.ts',
        `f('${wide}')\nf(\`${wide}\${a}\`)\nconst b = /${wide}/\n// https://example.com/${'a'.repeat(120)}`,
      ),
    ).toEqual([])
    expect(tooWide('run', `# ${wide}\necho ${wide}`)).toEqual(['run:1'])
  })
})
