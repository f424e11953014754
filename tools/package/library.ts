import { dirname, join, relative } from 'node:path'
import type { BuildOptions } from 'esbuild'
import { ROOT } from '../../lib/authorizer-bundle'
import { buildSplit } from '../../lib/split-build'
import { writeNotices } from '../../lib/third-party-notices'

const SDK = '@aws-sdk/client-dynamodb'
/** What a program has installed, or not. */
const FOREIGN = [SDK, 'aws-cdk-lib', 'constructs']

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
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 120, // for the sake of stack traces
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
  const sdkOnUse = join(outdir, SDK_ON_USE)
  const library = join(outdir, 'lib', 'index.js')
  const metafile = buildSplit(
    {
      ...options,
      entryPoints: Object.fromEntries([...entries, SDK_ON_USE, NEEDS_CDK].map((entry) => [entry, `${entry}.ts`])),
      outdir,
      chunkNames: 'shared/[hash]',
      external: [...FOREIGN, './seed/seed-bundle', './authorizer-bundle'],
    },
    (limited, file) => {
      const code = withWholeStrings(limited)
      if (file === `${sdkOnUse}.js`) return withRequire(code)
      const needs = file === library ? `require("${specifierOf(file, join(outdir, NEEDS_CDK))}");\n` : ''
      return needs + withSdkOnUse(code, specifierOf(file, sdkOnUse))
    },
  )
  writeNotices(metafile, ROOT, outdir)
}

/** Has what was an ES module require the SDK as a CommonJS module does: so a bundler of the user's finds it. */
const withRequire = (code: string): string =>
  code.replace(new RegExp(`\\(0,\\s*\\w+\\.__require\\)\\(\\s*"${SDK}"`), ` require("${SDK}"`)

/** Has code load the SDK when it is used: `from` is the file that does so. */
function withSdkOnUse(code: string, from: string): string {
  const calls = code.replaceAll(
    new RegExp(`(?<!\\(\\s*)require\\(\\s*"${SDK}"\\s*\\)`, 'g'),
    `require("${from}").dynamoDbSdk`,
  )
  if (calls.includes(`"${SDK}"`)) throw new Error(`${SDK} is loaded in a way that would load it at once`)
  return calls
}

/** Without the breaks that the limit of a line makes in strings: names of packages are looked for. */
const withWholeStrings = (code: string): string => code.replace(/(?<!\\)((?:\\\\)*)\\\n/g, '$1')

const specifierOf = (from: string, file: string) => {
  const path = relative(dirname(from), `${file}.js`).replaceAll('\\', '/')
  return path.startsWith('.') ? path : `./${path}`
}
