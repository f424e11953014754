import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'
import { buildSplit } from './split-build'
import { writeNotices } from './third-party-notices'

export const ROOT = join(__dirname, '..')

const HANDLER = join(ROOT, 'lambda', 'handler.ts')
const LIMITER = join(ROOT, 'limiter', 'rate-limiter.ts')

/** Options for bundling the code of any of the project's functions; the reasons are below. */
export const functionBundleOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  legalComments: 'none',
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
} satisfies BuildOptions

/**
 * Options that build the files that Lambda loads: `index.js` of lambda/handler.ts, and a file for each part that the
 * code imports when it is needed. Deployment and the local gateway use the same options.
 *
 * For Node 20, because that is the oldest version that runs the local gateway, and a newer target is no smaller. Every
 * file depends on the handler and on the limiter (`inject`), so everything that these need is one file, however much of
 * it others share. `mainFields` selects ES modules of packages, whose unused code is removed. The SDK stays outside:
 * the authorizer calls DynamoDB and Lambda without it, and has its credentials in the environment.
 */
export const authorizerBundleOptions = {
  ...functionBundleOptions,
  entryPoints: { index: HANDLER },
  inject: [HANDLER, LIMITER],
} satisfies BuildOptions

/**
 * Builds the bundle in a folder: `index.js`, to be loaded as `index.handler`, and the files that it loads, which must
 * stay beside it, as must the licenses of the bundled packages. Returns the path of the first.
 */
export function buildAuthorizerBundle(outdir: string): string {
  writeNotices(buildSplit({ ...authorizerBundleOptions, outdir }), ROOT, outdir)
  return join(outdir, 'index.js')
}
