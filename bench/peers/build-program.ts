import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { bundle, bytesOf } from '../../tools/counts/first-chunk'
import { type Program, sourceOf } from './programs'

const ROOT = join(__dirname, '..', '..')
const CACHE = join(ROOT, 'node_modules', '.cache', 'sluice-bench', 'programs')

/** The framework is the same in all, and outside of each bundle. */
const FRAMEWORK = 'express'

/** CommonJS packages inside of an ES module ask for Node's own modules by `require`. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** Bytes, minified. */
export interface Weight {
  readonly bytes: number
  readonly gzipped: number
}

export interface BuiltProgram {
  /** The path of the file to run. */
  readonly script: string
  /** What it loads before it listens, the AWS SDK with it where it is imported so. */
  readonly start: Weight
}

/** Bundles a program, and writes what was weighed. */
export function buildProgram(program: Program): BuiltProgram {
  const folder = join(CACHE, program.file)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { first, all } = bundled(program, [FRAMEWORK])
  for (const { path, contents } of all) writeFileSync(join(folder, basename(path)), contents)
  return { script: join(folder, 'main.mjs'), start: weigh(first) }
}

/** Everything that a program may ever load, but for the AWS SDK, which Lambda's Node has. */
export const weighWithoutSdk = (program: Program): Weight => weigh(bundled(program, [FRAMEWORK, '@aws-sdk/*']).all)

/** Lines of its source that are neither blank nor a comment. */
export const countLines = (program: Program): number =>
  readFileSync(sourceOf(program), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length

const bundled = (program: Program, external: string[]) =>
  bundle(ROOT, {
    entryPoints: { main: sourceOf(program) },
    outExtension: { '.js': '.mjs' },
    banner: { js: REQUIRE },
    external,
  })

const weigh = (files: ReturnType<typeof bundled>['all']): Weight => ({
  bytes: bytesOf(files),
  gzipped: files.reduce((sum, { contents }) => sum + gzipSync(contents).byteLength, 0),
})
