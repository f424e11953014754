import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(__dirname, '..', '..')
const WIDEST = 120

/** All code of the repository, but the old releases that tests run against as they were built. */
const FILES = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.js', '*.mjs', '.ci/*'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !path.startsWith('test/compatibility/'))

/**
 * The lines that are too wide though they could be broken, as `file:line`: Biome wraps code, but no comments. What may
 * be wide is a text, template or pattern that is one piece, a line with a link, and a command in a shell script.
 */
function tooWide(path: string, text: string): string[] {
  if (!text.split('\n').some((line) => line.length > WIDEST)) return []
  const pieces = literalsOf(text)
  let start = 0
  return text.split('\n').flatMap((line, i) => {
    const [from, to] = [start, start + line.length]
    start = to + 1
    if (line.length <= WIDEST || /https?:\/\/\S/.test(line)) return []
    if (!/\.(ts|js|mjs)$/.test(path)) return line.startsWith('#') ? [`${path}:${i + 1}`] : []
    const inPieces = pieces.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from)), 0)
    return line.length - inPieces > WIDEST || inPieces === 0 ? [`${path}:${i + 1}`] : []
  })
}

/** Where texts, templates and patterns begin and end. */
function literalsOf(text: string): [number, number][] {
  const found: [number, number][] = []
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateExpression(node)) {
      found.push([node.getStart(), node.getEnd()])
    } else node.forEachChild(visit)
  }
  visit(ts.createSourceFile('code.ts', text, ts.ScriptTarget.ES2023, true))
  return found
}

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
