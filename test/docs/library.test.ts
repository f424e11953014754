import { format } from 'node:util'
import { transformSync } from '@swc/core'
import { blocksOf, readPage } from './snippets/blocks'

const PAGES = ['docs/library.md', 'docs/vocabulary.md'] as const
const ENTRIES: Readonly<Record<string, () => Promise<object>>> = {
  express: () => import('express'),
  'node:events': () => import('node:events'),
  'sluice/limiter': () => import('../../limiter/index.ts'),
  'sluice/middleware': () => import('../../middleware/index.ts'),
  'sluice/tiered': () => import('../../tiered/index.ts'),
}

/** Runs a block of a page as a program. @returns what it prints. */
async function printedBy(text: string): Promise<string[]> {
  const printed: string[] = []
  const imported = text.replaceAll(/^import (\{[^}]*\}|\w+) from '(.*)'$/gm, (_, names: string, entry: string) =>
    names.startsWith('{')
      ? `const ${names} = await load('${entry}')`
      : `const ${names} = (await load('${entry}')).default`,
  )
  const { code } = transformSync(`async function run(load, console) {${imported}\n}`, {
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  })
  const run = new Function(`${code}; return run`)()
  const console = { log: (...values: unknown[]) => printed.push(format(...values)) }
  await run((entry: string) => ENTRIES[entry]!(), console)
  return printed
}

const programsOf = (page: string) => blocksOf(page).filter(({ language }) => language === 'ts')

describe.each(PAGES)('%s', (page) => {
  const programs = programsOf(page)

  beforeEach(() => {
    const now = Date.now
    const begun = now()
    jest.spyOn(Date, 'now').mockImplementation(() => now() - (begun % 60_000)) // in one window, at any time of day
  })
  afterEach(() => {
    jest.restoreAllMocks()
  })

  it.each(programs.map(({ line, text }) => [line, text] as const))('line %i prints what it says', async (_, text) => {
    const said = [...text.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].flatMap(([, values]) => values!.split(', '))
    expect(said.length).toBeGreaterThan(0)
    expect(await printedBy(text)).toEqual(said)
  })

  it('is read in a few minutes', () => {
    expect(programs.length).toBeGreaterThanOrEqual(3)
    expect(readPage(page).split(/\s+/).length).toBeLessThanOrEqual(1000)
  })
})

test('each sentence of the vocabulary is the one that an editor shows', () => {
  const shown = ['docs/api/sluice.limiter.md', 'docs/api/sluice.tiered.md'].map(readPage).join('\n')
  const rows = [...readPage('docs/vocabulary.md').matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)]
  expect(rows.map(([, word]) => word)).toEqual([
    ...['remaining', 'resetAfterMs', 'retryAfterMs', 'delayMs'],
    ...['take', 'peek', 'refund', 'settle', 'release', 'reset'],
  ])
  for (const [, word, sentence] of rows) {
    const of = new RegExp(`(\\| \`${word}\` \\|.*\\| |#### ${word}\\(\\)\\n(.*\\n)*?\\n)(?=([^#]*))`, 'g')
    const texts = [...shown.matchAll(of)].map(([, , , text]) => text!.replaceAll(/\s+/g, ' '))
    expect(texts.some((text) => text.includes(sentence!))).toBe(true)
  }
})
