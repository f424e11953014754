import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { functionBundleOptions } from '../authorizer-bundle'

/** Builds the seed function as `index.js` in a folder, with the SDK in it, so that the version tested is the version that runs. */
export function buildSeedBundle(outdir: string): void {
  buildSync({
    ...functionBundleOptions,
    entryPoints: [join(__dirname, 'handler.ts')],
    outfile: join(outdir, 'index.js'),
    logLevel: 'silent',
  })
}
