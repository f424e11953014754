import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'

const LIMITER = resolve(__dirname, '../../limiter')

/** How many files the page allows in a chain: in any one, and in one of files that decide. */
const [MAX_FILES = 0, MAX_DECIDING = 0] =
  /no chain of imports, types apart, is longer than (\d+) files, nor than (\d+) among the files that decide/
    .exec(readFileSync(resolve(__dirname, '../../docs/architecture.md'), 'utf8').replaceAll(/\s+/g, ' '))!
    .slice(1)
    .map(Number)

/** Every file of the limiter, by its path in there. */
const FILES = readdirSync(LIMITER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

/** Those that make decisions: not the algorithms, policies and stores, nor the calls to AWS. */
const DECIDING = FILES.filter((file) => !/^(algorithms|policies|stores|aws)\//.test(file))

/** Whether an import or an export loads the file that it names, and is no type alone. */
function loads(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  const clause = ts.isImportDeclaration(node) ? node.importClause : node
  if (clause?.isTypeOnly) return false
  const names = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause
  const listed = names && (ts.isNamedImports(names) || ts.isNamedExports(names)) ? [...names.elements] : []
  const hasDefault = ts.isImportDeclaration(node) && node.importClause?.name !== undefined
  return hasDefault || listed.length === 0 || listed.some((name) => !name.isTypeOnly)
}

/** Which files of the limiter a file loads. */
function loadedBy(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(LIMITER, file), 'utf8'), ts.ScriptTarget.ES2023)
  return source.statements.flatMap((node) => {
    if (!(ts.isImportDeclaration(node) || ts.isExportDeclaration(node))) return []
    const from = node.moduleSpecifier
    if (from === undefined || !ts.isStringLiteral(from) || !loads(node)) return []
    return FILES.filter((other) => other === join(dirname(file), `${from.text}.ts`))
  })
}

const LOADED = new Map(FILES.map((file) => [file, loadedBy(file)]))

/** The longest chain of these files, each of which loads the next. @throws for a circle */
function longestChain(files: readonly string[], loaded: ReadonlyMap<string, readonly string[]> = LOADED): string[] {
  const known = new Map<string, string[]>()
  const chainFrom = (file: string, way: readonly string[]): string[] => {
    if (way.includes(file)) throw new Error(`a circle: ${[...way.slice(way.indexOf(file)), file].join(' → ')}`)
    const longest = (targets: readonly string[]) =>
      targets
        .filter((target) => files.includes(target))
        .map((target) => chainFrom(target, [...way, file]))
        .reduce((most, one) => (one.length > most.length ? one : most), [])
    const chain = known.get(file) ?? [file, ...longest(loaded.get(file) ?? [])]
    known.set(file, chain)
    return chain
  }
  return files.map((file) => chainFrom(file, [])).reduce((most, one) => (one.length > most.length ? one : most), [])
}

it.each([
  ['the files of the limiter', FILES, MAX_FILES],
  ['its files that decide', DECIDING, MAX_DECIDING],
])('no chain of imports among %s is longer than docs/architecture.md says, or a circle', (_, files, max) => {
  const chain = longestChain(files)
  expect([chain.join(' → '), chain.length <= max]).toEqual([chain.join(' → '), true])
})

it('this test finds the files, what they load, and circles', () => {
  expect(DECIDING.length).toBeGreaterThan(40)
  expect(FILES.length - DECIDING.length).toBeGreaterThan(30)
  expect(LOADED.get('rate-limiter.ts')).toContain('take-loop.ts')
  expect(LOADED.get('index.ts')).toContain('create-limiter.ts')
  const edges = (text: string) => new Map(text.split(' ').map((edge) => [edge[0]!, [...edge.slice(1)]]))
  expect(longestChain([...'abcd'], edges('abd bc cd'))).toEqual([...'abcd'])
  expect(longestChain([...'abd'], edges('abd bc cd'))).toEqual(['a', 'b'])
  expect(() => longestChain([...'abc'], edges('ab bc ca'))).toThrow('a circle: a → b → c → a')
})
