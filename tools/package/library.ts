import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type BuildOptions, buildSync, transformSync } from 'esbuild'
import { ROOT } from '../../lib/authorizer-bundle'
import { writeNotices } from '../../lib/third-party-notices'

const SDK = '@aws-sdk/client-dynamodb'

/** Files that have an `index.js` of their own, though no entry point is named so: what others load before they run. */
const SDK_ON_USE = 'limiter/stores/dynamodb-sdk'
const NEEDS_CDK = 'lib/needs-cdk'

const options = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'error',
  metafile: true,
} satisfies BuildOptions

/**
 * Builds the entry points with what they use of others' packages in them, and the licenses beside them: installed,
 * those packages would be larger than all of Sluice. What several entry points share is in files of its own, so that a
 * class is the same in each.
 *
 * What users install whose programs need it stays outside: the CDK, of which the constructs' entry point tells where it
 * is missing, and the SDK for DynamoDB, which is loaded when something of it is used.
 *
 * @param entries the paths of sources, without `.ts`; each becomes the file of its name.
 */
export function buildLibrary(outdir: string, entries: readonly string[]): void {
  const { metafile } = buildSync({
    ...options,
    entryPoints: Object.fromEntries([...entries, SDK_ON_USE, NEEDS_CDK].map((entry) => [entry, `${entry}.ts`])),
    outdir,
    // esbuild finds what is shared in ES modules only; each file is made a CommonJS module afterwards.
    format: 'esm',
    splitting: true,
    chunkNames: 'shared/[hash]',
    external: [SDK, 'aws-cdk-lib', 'constructs', './seed/seed-bundle', './authorizer-bundle'],
  })
  for (const output of Object.keys(metafile.outputs)) {
    const file = join(ROOT, output)
    const source = readFileSync(file, 'utf8')
    if (file === join(outdir, `${SDK_ON_USE}.js`)) {
      writeFileSync(file, transformSync(withRequire(source), TO_COMMONJS).code)
      continue
    }
    const { code } = transformSync(source, TO_COMMONJS)
    const needs =
      file === join(outdir, 'lib/index.js') ? `require("${specifierOf(file, join(outdir, NEEDS_CDK))}");\n` : ''
    writeFileSync(file, needs + withSdkOnUse(code, specifierOf(file, join(outdir, SDK_ON_USE))))
  }
  writeNotices(metafile, ROOT, outdir)
}

/** Names stay, and lines, for the sake of stack traces. */
const TO_COMMONJS = {
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  charset: 'utf8',
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 120,
} as const

/** Has an ES module require the SDK as a CommonJS module does, which is how a bundler of the user's finds it. */
function withRequire(source: string): string {
  const call = `__require("${SDK}")`
  if (!source.includes(call)) throw new Error(`nothing loads ${SDK}`)
  return source.replace(call, call.replace('__', ''))
}

/** Has code load the SDK when it is used: `from` is the file that does so. */
export function withSdkOnUse(code: string, from: string): string {
  const calls = code.replaceAll(new RegExp(`(?<!\\()require\\("${SDK}"\\)`, 'g'), `require("${from}").dynamoDbSdk`)
  if (calls.includes(`require("${SDK}")`)) throw new Error(`${SDK} is loaded in a way that would load it at once`)
  return calls
}

const specifierOf = (from: string, file: string) => {
  const path = relative(dirname(from), `${file}.js`).replaceAll('\\', '/')
  return path.startsWith('.') ? path : `./${path}`
}
