import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { BuildOptions, Metafile } from 'esbuild'
import { writeNotices } from './third-party-notices'

export const ROOT = join(__dirname, '..')
const STAND_INS = join(__dirname, 'authorizer-bundle')

/** How the code of any of our functions becomes what Lambda loads; the reasons are below. */
export const functionBundleOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  mainFields: ['module', 'main'],
  legalComments: 'none',
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
} satisfies BuildOptions

/**
 * How lambda/handler.ts becomes the file that Lambda loads, and the verifier of JWTs the one that this loads when there
 * is a token to verify, and the upstream authorizer's client the one that it loads where an upstream authorizer is
 * configured. Deployment and the local gateway both build with these options.
 *
 * CommonJS, because it loads a little sooner than an ES module; for Node 20, because that is the oldest that runs the
 * local gateway, and a newer target makes it no smaller. The SDK is bundled, so that the version tested is the version
 * that runs. `mainFields` takes the SDK's ES modules, of which what is not called drops out; the aliases, and the
 * replacements in authorizer-bundle/build.js, drop what is called only where the authorizer never goes (each stand-in
 * says why). `npm run bench` prints size and load time against a bundle made without all this.
 */
export const authorizerBundleOptions = {
  ...functionBundleOptions,
  entryPoints: {
    index: join(ROOT, 'lambda', 'handler.ts'),
    // the name by which load-verifier.ts looks for it
    'jwt-verifier': join(ROOT, 'lambda', 'identity', 'jwt-verifier.ts'),
    'lambda-upstream': join(ROOT, 'lambda', 'upstream', 'lambda-upstream.ts'), // and load-upstream.ts
  },
  alias: {
    '@aws-sdk/core/protocols': join(STAND_INS, 'item-calls.ts'),
    '@aws-sdk/credential-provider-node': join(STAND_INS, 'environment-credentials.ts'),
    '@aws-sdk/dynamodb-codec': join(STAND_INS, 'item-calls.ts'),
    '@aws-sdk/middleware-endpoint-discovery': join(STAND_INS, 'no-endpoint-discovery.ts'),
    '@smithy/core/checksum': join(STAND_INS, 'node-sha256.ts'),
    '@smithy/core/event-streams': join(STAND_INS, 'no-event-streams.ts'),
    '@smithy/core/retry': join(STAND_INS, 'no-retries.ts'),
    '@smithy/core/schema': join(STAND_INS, 'item-calls.ts'),
  },
} satisfies BuildOptions

/**
 * Builds the bundle in a folder: `index.js`, to be loaded as `index.handler`, and `jwt-verifier.js` and
 * `lambda-upstream.js`, to stay beside it, as are the licenses of what is in them. Returns the first. Takes two tenths
 * of a second.
 */
export function buildAuthorizerBundle(outdir: string): string {
  writeNotices(bundle({ ...authorizerBundleOptions, outdir }), ROOT, outdir)
  return join(outdir, 'index.js')
}

/**
 * Runs esbuild with these options and what authorizer-bundle/build.js replaces in the SDK, and returns what the bundle
 * is made of. Throws with what esbuild has to say.
 *
 * @param kept files of the SDK that are not replaced, to measure what that is worth.
 */
export function bundle(options: BuildOptions, kept: readonly string[] = []): Pick<Metafile, 'outputs'> {
  const argument = JSON.stringify({ logLevel: 'error', ...options })
  const outputs = execFileSync(process.execPath, [join(STAND_INS, 'build.js'), argument, JSON.stringify(kept)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { outputs: JSON.parse(outputs.toString()) }
}
