import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { proseOf } from './links'

const ROOT = join(__dirname, '..', '..')
const PROMISING = /\b(never|always|at most|exactly)\b/i

const PAGES = ['docs', 'docs/how-to', 'docs/migrate']
  .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`))
  .filter((page) => page.endsWith('.md') && page !== 'docs/cli.md' && page !== 'docs/testing.md')
  .concat('README.md')

const inOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Rows of tables, and the sentences of items and paragraphs, that have a word of a promise. */
const promisesIn = (prose: string): string[] =>
  prose
    .split(/\n\s*\n|\n(?=\s*(?:\||[-*] |\d+\. |#))/)
    .map(inOneLine)
    .flatMap((block) => (block.startsWith('|') ? [block] : block.split(/(?<=[.!?:]) (?=[A-Z`*[(])/)))
    .filter((sentence) => PROMISING.test(sentence))

const SENTENCES = PAGES.flatMap((page) => promisesIn(proseOf(page)).map((sentence) => ({ page, sentence })))

interface Row {
  readonly page: string
  readonly says: string
  /** The test and its title, or why nothing is promised. */
  readonly rest: readonly string[]
}

/** The rows of promises.md under a heading. */
function rowsUnder(heading: string): Row[] {
  const [, section] = readFileSync(join(__dirname, 'promises.md'), 'utf8').split(`## ${heading}\n`)
  const lines = section!.split('\n## ')[0]!.split('\n')
  return lines
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => {
      const [page, says, ...rest] = line
        .slice(2, -2)
        .split(/ +\| +/)
        .map((cell) => cell.trim().replaceAll('\\|', '|'))
      return { page: page!, says: says!, rest }
    })
}

const HELD = rowsUnder('Held by a test')
const NO_PROMISES = rowsUnder('No promises')

const isOf =
  ({ page, says }: Row) =>
  (one: (typeof SENTENCES)[number]) =>
    one.page === page && one.sentence.includes(says)

const linksTest = (sentence: string): boolean =>
  [...sentence.matchAll(/test\/[\w./-]*\w/g)].some(([path]) => existsSync(join(ROOT, path)))

const isSettled = (one: (typeof SENTENCES)[number]): boolean =>
  linksTest(one.sentence) || [...HELD, ...NO_PROMISES].some((row) => isOf(row)(one))

describe('what the pages promise: never, always, at most, exactly', () => {
  it('has a row in test/docs/promises.md that names its test, or a link to one beside it', () => {
    const open = SENTENCES.filter((one) => !isSettled(one)).map(({ page, sentence }) => `${page}: ${sentence}`)
    expect(open).toEqual([])
  })

  it('stands on its page as the row has it', () => {
    const gone = [...HELD, ...NO_PROMISES].filter((row) => !SENTENCES.some(isOf(row)))
    expect(gone.map(({ page, says }) => `${page}: ${says}`)).toEqual([])
  })

  it('is held by a test of that title', () => {
    const texts = new Map<string, string>()
    const textOf = (path: string) => {
      if (!texts.has(path)) texts.set(path, inOneLine(readFileSync(join(ROOT, path), 'utf8')))
      return texts.get(path)!
    }
    const missing = HELD.filter(({ rest: [path, title] }) => !title || !textOf(path!).includes(title))
    expect(missing.map(({ says, rest }) => [says, ...rest])).toEqual([])
    expect(HELD.length).toBeGreaterThan(150)
  })

  it('is noticed where it is new', () => {
    const [sentence] = promisesIn('It is quick. Sluice never sleeps.')
    expect([sentence, isSettled({ page: 'docs/config-table.md', sentence: sentence! })]).toEqual([
      'Sluice never sleeps.',
      false,
    ])
  })
})
