import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

/** What an import or an export of a file names. */
interface Import {
  readonly specifier: string
  /** Whether it is there for types alone, so that it loads nothing. */
  readonly typesOnly: boolean
}

/** Every import, and every export from elsewhere, at the top of a file. */
export function importsOf(file: string): Import[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2023)
  return source.statements.flatMap((node) => {
    if (!(ts.isImportDeclaration(node) || ts.isExportDeclaration(node))) return []
    const from = node.moduleSpecifier
    if (from === undefined || !ts.isStringLiteral(from)) return []
    return [{ specifier: from.text, typesOnly: !loads(node) }]
  })
}

/** Whether an import or an export loads the file that it names, and is no type alone. */
function loads(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  const clause = ts.isImportDeclaration(node) ? node.importClause : node
  if (clause?.isTypeOnly) return false
  const names = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause
  const listed = names && (ts.isNamedImports(names) || ts.isNamedExports(names)) ? [...names.elements] : []
  const hasDefault = ts.isImportDeclaration(node) && node.importClause?.name !== undefined
  return hasDefault || listed.length === 0 || listed.some((name) => !name.isTypeOnly)
}

/** Which of these files, named by their paths in a folder, each of them loads. */
export function loadedBy(folder: string, files: readonly string[]): Map<string, string[]> {
  return new Map(
    files.map((file) => {
      const loaded = importsOf(join(folder, file)).flatMap(({ specifier, typesOnly }) =>
        typesOnly ? [] : files.filter((other) => other === join(dirname(file), `${specifier}.ts`)),
      )
      return [file, loaded]
    }),
  )
}

/** The longest chain of these files, each of which loads the next. @throws for a circle */
export function longestChain(files: readonly string[], loaded: ReadonlyMap<string, readonly string[]>): string[] {
  const known = new Map<string, string[]>()
  const longestOf = (chains: readonly string[][]) =>
    chains.reduce((most, one) => (one.length > most.length ? one : most), [])
  const chainFrom = (file: string, way: readonly string[]): string[] => {
    if (way.includes(file)) throw new Error(`a circle: ${[...way.slice(way.indexOf(file)), file].join(' → ')}`)
    const targets = (loaded.get(file) ?? []).filter((target) => files.includes(target))
    const chain = known.get(file) ?? [file, ...longestOf(targets.map((target) => chainFrom(target, [...way, file])))]
    known.set(file, chain)
    return chain
  }
  return longestOf(files.map((file) => chainFrom(file, [])))
}

/** Those of the limiter that make decisions: not the algorithms, policies and stores, nor the calls to AWS. */
export const decides = (file: string): boolean => !/^(algorithms|policies|stores|aws)\//.test(file)
