import { join } from 'node:path'
import ts from 'typescript'
import type { Block } from './blocks'

const ROOT = join(__dirname, '..', '..', '..')
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  esModuleInterop: true,
  resolveJsonModule: true,
  skipLibCheck: true,
  noEmit: true,
  paths: {
    sluice: [join(ROOT, 'lib', 'index.ts')],
    'sluice/limiter': [join(ROOT, 'limiter', 'index.ts')],
    'sluice/backend': [join(ROOT, 'backend', 'index.ts')],
    'sluice-backend': [join(ROOT, 'backend', 'index.ts')],
    'sluice/middleware': [join(ROOT, 'middleware', 'index.ts')],
    'sluice/express-rate-limit': [join(ROOT, 'middleware', 'express-rate-limit-store.ts')],
    'sluice/tiered': [join(ROOT, 'tiered', 'index.ts')],
    'sluice/store-contract': [join(ROOT, 'limiter', 'stores', 'store-contract.ts')],
  },
}

/** Files that are not snippets, most of them the CDK's: read once for all programs. */
const parsedFiles = new Map<string, ts.SourceFile | undefined>()

/** A page's blocks as one program, and where each of its lines comes from. */
interface Unit {
  readonly name: string
  readonly text: string
  readonly lines: readonly (number | undefined)[]
  readonly page: string
}

/**
 * What the compiler says of TypeScript in pages, as `page:line: message`.
 *
 * A page's blocks are one program, in the page's order, each in the scope of those before it, so that a later one uses
 * what an earlier one made or makes it anew. `this` is a stack. What no block declares is in context.ts.
 */
export function typeMistakes(blocks: readonly Block[]): string[] {
  const units = new Map(unitsOf(blocks).map((unit) => [unit.name, unit]))
  const host = ts.createCompilerHost(OPTIONS, true)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => units.has(path) || fileExists(path)
  host.getSourceFile = (path, ...rest) => {
    const unit = units.get(path)
    if (unit) return ts.createSourceFile(path, unit.text, ts.ScriptTarget.ES2023, true)
    if (!parsedFiles.has(path)) parsedFiles.set(path, getSourceFile(path, ...rest))
    return parsedFiles.get(path)
  }
  const program = ts.createProgram([...units.keys(), join(__dirname, 'context.ts')], OPTIONS, host)
  return [...units.values()].flatMap(({ name, page, lines }) => {
    const file = program.getSourceFile(name)!
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
    return found.flatMap(({ start, messageText, code }) => {
      if (code === UNTYPED_MODULE) return []
      const { line } = file.getLineAndCharacterOfPosition(start ?? 0)
      return `${page}:${lines[line] ?? '?'}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  })
}

/** A library that is installed here without its types. */
const UNTYPED_MODULE = 7016

type Line = readonly [text: string, line: number | undefined]

/** A name that a block imports, the declaration that does nothing else, and its line. */
interface Import {
  readonly local: string
  readonly declaration: string
  readonly line: number
}

function unitsOf(blocks: readonly Block[]): Unit[] {
  const units: { page: string; imports: Map<string, Import>; body: Line[]; open: number }[] = []
  for (const block of blocks) {
    const imports = importsOf(block)
    const last = units.at(-1)
    const clashes = imports.some(
      ({ local, declaration }) => (last?.imports.get(local)?.declaration ?? declaration) !== declaration,
    )
    // A name that stands for two things, as on a page about two libraries, begins a program of its own.
    if (last?.page !== block.page || clashes) units.push({ page: block.page, imports: new Map(), body: [], open: 0 })
    const unit = units.at(-1)!
    for (const one of imports) if (!unit.imports.has(one.local)) unit.imports.set(one.local, one)
    unit.body.push(['{', undefined], ...bodyOf(block))
    unit.open++
  }
  return units.map(({ page, imports, body, open }, i) => {
    const lines: Line[] = [
      ...[...imports.values()].map(({ declaration, line }) => [declaration, line] as const),
      ["async function page(this: import('aws-cdk-lib').Stack) {", undefined],
      ...body,
      ['}'.repeat(open + 1), undefined],
    ]
    const name = join(ROOT, `${page.replaceAll(/[/.]/g, '-')}-${i}.snippets.ts`)
    return { page, name, text: lines.map(([text]) => text).join('\n'), lines: lines.map(([, line]) => line) }
  })
}

const parsed = (text: string) => ts.createSourceFile('block.ts', text, ts.ScriptTarget.ES2023)
const importDeclarations = (file: ts.SourceFile) => file.statements.filter(ts.isImportDeclaration)
const lineIn = (file: ts.SourceFile, position: number) => file.getLineAndCharacterOfPosition(position).line

function importsOf({ text, line }: Block): Import[] {
  const file = parsed(text)
  return importDeclarations(file).flatMap((node) => {
    const from = node.moduleSpecifier.getText(file)
    const { name, namedBindings } = node.importClause ?? {}
    const at = line + 1 + lineIn(file, node.getStart(file))
    const all: [local: string, clause: string][] = name ? [[name.text, name.text]] : []
    if (namedBindings && ts.isNamespaceImport(namedBindings)) {
      all.push([namedBindings.name.text, namedBindings.getText(file)])
    } else for (const one of namedBindings?.elements ?? []) all.push([one.name.text, `{ ${one.getText(file)} }`])
    return all.map(([local, clause]) => ({ local, declaration: `import ${clause} from ${from}`, line: at }))
  })
}

/** What is left of a block inside a function: no imports, nothing exported. */
function bodyOf({ text, line }: Block): Line[] {
  const file = parsed(text)
  const imports = importDeclarations(file).map((node) => [
    lineIn(file, node.getStart(file)),
    lineIn(file, node.getEnd()),
  ])
  return text
    .split('\n')
    .map((code, i) => [code, i] as const)
    .filter(([, i]) => !imports.some(([from, to]) => i >= from! && i <= to!))
    .map(([code, i]) => [code.replace(/^export (?:default )?/, ''), line + 1 + i])
}
