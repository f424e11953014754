import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { BuildOptions } from 'esbuild'
import { ROOT } from '../../lib/authorizer-bundle'
import { buildSplit } from '../../lib/split-build'
import { writeNotices } from '../../lib/third-party-notices'

/** What a program has installed, or not. */
const FOREIGN = ['@aws-sdk/client-dynamodb', 'aws-cdk-lib', 'constructs']

/** Loaded before the constructs; no entry point is named so. */
const NEEDS_CDK = 'lib/needs-cdk'
const CONSTRUCTS = 'lib/index'

const options = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  alias: { crypto: 'node:crypto', https: 'node:https', stream: 'node:stream' }, // so that Deno and bundlers know them
  charset: 'utf8',
  legalComments: 'none',
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 120, // for the sake of stack traces
  chunkNames: 'shared/[hash]',
  external: [...FOREIGN, './seed/seed-bundle', './authorizer-bundle'],
} satisfies BuildOptions

/**
 * Builds the entry points with what they use of others' packages in them, and the licenses beside them: installed,
 * those packages would be larger than all of Sluice. Each is a CommonJS module, `.js`, and but for the constructs an ES
 * module, `.mjs`, too (ADR 0057). What several entry points share is in files of its own, so that a class is the same
 * in each.
 *
 * What users install whose programs need it stays outside: the CDK, of which the constructs' entry point tells where it
 * is missing, and the SDK for DynamoDB, which is loaded when something of it is used.
 *
 * @param entries the paths of sources, without `.ts`; each becomes the files of its name.
 */
export function buildLibrary(outdir: string, entries: readonly string[]): void {
  const library = join(outdir, `${CONSTRUCTS}.js`)
  const metafile = buildSplit({ ...options, entryPoints: sourcesOf([...entries, NEEDS_CDK]), outdir }, (code, file) =>
    file === library ? `require("./${basename(NEEDS_CDK)}.js");\n${code}` : code,
  )
  const modules = entries.filter((entry) => entry !== CONSTRUCTS)
  buildSplit({
    ...options,
    entryPoints: sourcesOf(modules),
    outdir,
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    minifyWhitespace: false, // which would leave out what bundlers read in comments
  })
  for (const entry of modules)
    writeFileSync(join(outdir, `${entry}.d.mts`), `export * from './${basename(entry)}.js'\n`)
  writeNotices(metafile, ROOT, outdir)
}

const sourcesOf = (entries: readonly string[]) => Object.fromEntries(entries.map((entry) => [entry, `${entry}.ts`]))
