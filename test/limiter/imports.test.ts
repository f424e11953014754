import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { preProcessFile } from 'typescript'

const LIMITER = resolve(__dirname, '../../limiter')

/** Files that every other file may import: times and errors. */
const VOCABULARY = ['clock', 'errors']

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [join(folder, entry.name)] : []))

/** The files that make decisions, without the folders of algorithms, policies and stores. */
const FILES = [...filesIn(LIMITER), ...filesIn(join(LIMITER, 'consistency'))].filter(
  (file) => !VOCABULARY.some((word) => file === join(LIMITER, `${word}.ts`)),
)

/** Which of the others each imports, including types. */
const IMPORTS = new Map(
  FILES.map((file) => {
    const { importedFiles } = preProcessFile(readFileSync(file, 'utf8'))
    const targets = importedFiles.map(({ fileName }) => resolve(dirname(file), `${fileName}.ts`))
    return [file, targets.filter((target) => FILES.includes(target))] as const
  }),
)

function longestFrom(file: string): string[] {
  const rest = IMPORTS.get(file)!.map(longestFrom)
  const longest = rest.reduce((most, one) => (one.length > most.length ? one : most), [])
  return [relative(LIMITER, file), ...longest]
}

it('the longest chain of imports of the library has eight files', () => {
  const chain = longestFrom(join(LIMITER, 'create-limiter.ts'))
  expect([chain.join(' → '), chain.length <= 8]).toEqual([chain.join(' → '), true])
})

it('this test finds the files and their imports', () => {
  expect(FILES.length).toBeGreaterThan(20)
  expect(IMPORTS.get(join(LIMITER, 'rate-limiter.ts'))).toContain(join(LIMITER, 'take-loop.ts'))
})
