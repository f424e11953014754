import { format } from 'node:util'
import { transformSync } from '@swc/core'
import { blocksOf, readPage } from './snippets/blocks'

const PAGE = 'docs/library.md'
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

describe(PAGE, () => {
  const programs = blocksOf(PAGE).filter(({ language }) => language === 'ts')

  it.each(programs.map(({ line, text }) => [line, text] as const))('line %i prints what it says', async (_, text) => {
    const said = [...text.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].flatMap(([, values]) => values!.split(', '))
    expect(said.length).toBeGreaterThan(0)
    expect(await printedBy(text)).toEqual(said)
  })

  it('is read in a few minutes', () => {
    expect(programs).toHaveLength(6)
    expect(readPage(PAGE).split(/\s+/).length).toBeLessThanOrEqual(1000)
  })
})
