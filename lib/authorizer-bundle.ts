import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { BuildOptions, Metafile } from 'esbuild'
import { writeNotices } from './third-party-notices'

export const ROOT = join(__dirname, '..')
const STAND_INS = join(__dirname, 'authorizer-bundle')

/** Options for bundling the code of any of the project's functions; the reasons are below. */
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

/** Lambda gives a function its credentials in the environment: the SDK's other ways to them are left out. */
export const ENVIRONMENT_CREDENTIALS = {
  '@aws-sdk/credential-provider-node': join(STAND_INS, 'environment-credentials.ts'),
} as const

/**
 * Options that build the files that Lambda loads: lambda/handler.ts, the verifier of JWTs, which is loaded with the
 * first token, and the upstream authorizer's client, which is loaded where one is configured. Deployment and the local
 * gateway use the same options.
 *
 * CommonJS, because it loads slightly faster than an ES module; for Node 20, because that is the oldest version that
 * runs the local gateway, and a newer target is no smaller. The SDK is bundled, so that the version tested is the
 * version that runs. `mainFields` selects the SDK's ES modules, whose unused code is removed. The aliases, and the
 * replacements in authorizer-bundle/build.js, remove code that is used only where the authorizer never goes (each
 * stand-in says why). `npm run bench` compares size and load time with a bundle made without all this.
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
    ...ENVIRONMENT_CREDENTIALS,
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
 * `lambda-upstream.js`, which must stay beside it, as must the licenses of the bundled packages. Returns the path of
 * the first. Takes about 0.2 seconds.
 */
export function buildAuthorizerBundle(outdir: string): string {
  writeNotices(bundle({ ...authorizerBundleOptions, outdir }), ROOT, outdir)
  return join(outdir, 'index.js')
}

/**
 * Runs esbuild with these options and the replacements in authorizer-bundle/build.js, and returns what the bundle is
 * made of. Throws esbuild's message.
 *
 * @param kept files of the SDK that are not replaced, to measure what a replacement saves.
 */
export function bundle(options: BuildOptions, kept: readonly string[] = []): Pick<Metafile, 'outputs'> {
  const argument = JSON.stringify({ logLevel: 'error', ...options })
  const outputs = execFileSync(process.execPath, [join(STAND_INS, 'build.js'), argument, JSON.stringify(kept)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { outputs: JSON.parse(outputs.toString()) }
}
