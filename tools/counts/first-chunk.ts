import { dirname, join, resolve } from 'node:path'
import { type BuildOptions, buildSync, type OutputFile } from 'esbuild'

/** Bytes of a program's bundle, by what is loaded when. */
export interface BundleBytes {
  /** What it loads before it runs: the first file, with all that it imports statically. */
  readonly first: number
  /** All files, those that are imported when they are needed too. */
  readonly all: number
}

/** What users write: one policy in force, nothing more. */
const MEMORY = `import { createLimiter, MemoryStore } from './limiter'
  export const limiter = createLimiter({ store: new MemoryStore(), policies: [{ name: 'p', limit: 1, window: '1m' }] })`

const DYNAMODB = `import { createLimiter, DynamoDbStore } from './limiter'
  const store = new DynamoDbStore({ tableName: 't' })
  export const limiter = createLimiter({ store, policies: [{ name: 'p', limit: 1, window: '1m' }] })`

const MIDDLEWARE = `${MEMORY}\nimport { expressRateLimit } from './middleware'
  export const middleware = expressRateLimit({ limiter })`

const TIERED = `import { createTieredLimiter } from './tiered'
  export const limiter = createTieredLimiter({ configTable: 'c', stateTable: 's' })`

/** Programs by what they have of the library, with limits for what they load first: today's next KB, and the goal. */
export const PROGRAMS: Readonly<
  Record<string, { readonly program: string; readonly most: number; readonly goal: number }>
> = {
  'createLimiter with a MemoryStore': { program: MEMORY, most: 65_500, goal: 75_000 },
  'createLimiter with a DynamoDbStore': { program: DYNAMODB, most: 73_200, goal: 90_000 },
  'a middleware': { program: MIDDLEWARE, most: 85_800, goal: 110_000 },
  createTieredLimiter: { program: TIERED, most: 114_000, goal: 200_000 },
}

/** Files of a program's bundle, by what is loaded when: as `BundleBytes`. */
export interface Bundle {
  readonly first: readonly OutputFile[]
  readonly all: readonly OutputFile[]
}

/** A program as esbuild bundles it: an ES module, minified, split where something is imported by `import()`. */
export function bundle(root: string, program: BuildOptions): Bundle {
  const { metafile, outputFiles } = buildSync({
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: 'esm',
    splitting: true,
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    legalComments: 'none',
    outdir: join(dirname(root), 'unwritten'),
    logLevel: 'error',
    ...program,
    write: false,
    metafile: true,
  })
  const { outputs } = metafile
  const isMain = (file: string) => /\/(stdin|main)\.m?js$/.test(file)
  const first = new Set(Object.keys(outputs).filter(isMain))
  for (const file of first)
    for (const { kind, path } of outputs[file]!.imports)
      if (kind === 'import-statement' && path in outputs) first.add(path)
  const paths = new Set([...first].map((file) => resolve(root, file)))
  return { first: outputFiles.filter(({ path }) => paths.has(path)), all: outputFiles }
}

export const bytesOf = (files: readonly OutputFile[]): number =>
  files.reduce((sum, { contents }) => sum + contents.byteLength, 0)

/** The bundle of a program's text, to which the SDK does not belong. */
export function bundleBytes(root: string, program: string): BundleBytes {
  const stdin = { contents: program, resolveDir: root, loader: 'ts' } as const
  const { first, all } = bundle(root, { stdin, external: ['@aws-sdk/*'] })
  return { first: bytesOf(first), all: bytesOf(all) }
}
