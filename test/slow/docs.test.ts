import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeApiReference } from '../../tools/api-reference'
import { type Block, blocksOf, PAGES } from '../docs/snippets/blocks'
import { typeMistakes } from '../docs/snippets/compile'

const FOLDER = join(__dirname, '..', '..', 'docs', 'api')
const pagesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))

describe('docs/api', () => {
  it('is what the docstrings say now', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-api-'))
    try {
      writeApiReference(folder)
      expect(pagesIn(folder)).toEqual(pagesIn(FOLDER)) // npm run docs:api
    } finally {
      rmSync(folder, { recursive: true })
    }
  }, 120_000)
})

describe('the TypeScript and JavaScript of the pages', () => {
  it('compiles', () => {
    const blocks = PAGES.flatMap((page) => blocksOf(page))
    const checked = blocks.filter(({ language, exempt }) => /^(ts|js)$/.test(language) && exempt === undefined)
    expect(checked.length).toBeGreaterThan(10)
    expect(typeMistakes(checked)).toEqual([])
  })
})

describe('what checks it', () => {
  const block = (text: string, line = 1): Block => ({ page: 'page.md', line, language: 'ts', text })

  it('compiles a block in the scope of those before it, and tells the line in the page', () => {
    const first = block("import { MemoryStore } from 'sluice/limiter'\nconst store = new MemoryStore()\n", 10)
    const again = block(
      "import {\n  MemoryStore,\n} from 'sluice/limiter'\nconst store = new MemoryStore({ maxSubject: 1 })",
      20,
    )
    expect(typeMistakes([first, block('export const size: number = store.size\nawait store.read("a")', 15)])).toEqual(
      [],
    )
    expect(typeMistakes([first, again, block('store.length\nnowhere', 30)])).toEqual([
      expect.stringMatching(/^page\.md:24: .*'maxSubject' does not exist/),
      expect.stringMatching(/^page\.md:31: Property 'length' does not exist/),
      expect.stringMatching(/^page\.md:32: Cannot find name 'nowhere'/),
    ])
    const clash = block("import { readFileSync as MemoryStore } from 'node:fs'\nMemoryStore('a')", 40)
    expect(typeMistakes([first, clash])).toEqual([])
  }, 120_000)
})
