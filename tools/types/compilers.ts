import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import newest from 'typescript'
import manifest from '../../package.json'

export const ROOT = join(__dirname, '..', '..')

type Compiler = typeof newest
type Types = { readonly types: string }

const oldest: Compiler = createRequire(join(ROOT, 'tools', 'oldest-typescript', 'package.json'))('typescript')
if (!oldest.version.startsWith('5.4.'))
  throw new Error(`TypeScript 5.4 is not installed, got ${oldest.version}: npm ci`)

/** The oldest compiler that reads the package's types, and the newest. */
export const COMPILERS = [oldest, newest] as const

/** The entry points of the package, and the paths of their sources without `.ts`. */
const ENTRIES = Object.fromEntries(
  Object.entries<string | Types | { readonly require: Types }>(manifest.exports).flatMap(([name, at]) => {
    if (typeof at === 'string') return []
    const { types } = 'require' in at ? at.require : at
    return [[join(manifest.name, name), types.replace('./dist/', '').replace('.d.ts', '')]]
  }),
)

/** Where no file is: the declarations of the package, as it is published. */
export const DECLARATIONS = join(ROOT, 'declarations')
export const ENTRY_FILES = Object.values(ENTRIES).map((path) => join(DECLARATIONS, `${path}.d.ts`))

const declarations = emitDeclarations()

/** By the file's path. */
function emitDeclarations(): ReadonlyMap<string, string> {
  const { config } = newest.readConfigFile(join(ROOT, 'tsconfig.json'), newest.sys.readFile)
  const { options } = newest.parseJsonConfigFileContent({ ...config, include: [], files: [] }, newest.sys, ROOT)
  const emitting = { noEmit: false, declaration: true, emitDeclarationOnly: true, noCheck: true }
  const program = newest.createProgram(
    Object.values(ENTRIES).map((path) => join(ROOT, `${path}.ts`)),
    { ...options, ...emitting, outDir: DECLARATIONS, rootDir: ROOT, types: ['node'] },
  )
  const texts = new Map<string, string>()
  program.emit(undefined, (path, text) => texts.set(path, text))
  return texts
}

/** The options of a program that is as strict as can be, and that has installed the package. */
const optionsOf = (ts: Compiler): newest.CompilerOptions => ({
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  esModuleInterop: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  paths: Object.fromEntries(Object.keys(ENTRIES).map((name, i) => [name, [ENTRY_FILES[i]!]])),
})

/** A compiler's language service for programs that import the package. @param texts by the file's path. */
export function serviceOf(ts: Compiler, texts: ReadonlyMap<string, string>): newest.LanguageService {
  const read = (path: string) => texts.get(path) ?? declarations.get(path) ?? ts.sys.readFile(path)
  const folders = new Set([...declarations.keys()].map((path) => dirname(path)))
  return ts.createLanguageService({
    getCompilationSettings: () => optionsOf(ts),
    getScriptFileNames: () => [...texts.keys(), ...ENTRY_FILES],
    getScriptVersion: () => '',
    getScriptSnapshot: (path) => {
      const text = read(path)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (path) => texts.has(path) || declarations.has(path) || ts.sys.fileExists(path),
    readFile: read,
    directoryExists: (path) => folders.has(path) || ts.sys.directoryExists(path),
    getDirectories: ts.sys.getDirectories,
  })
}
