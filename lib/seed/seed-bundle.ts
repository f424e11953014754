import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { functionBundleOptions, ROOT } from '../authorizer-bundle'
import { writeNotices } from '../third-party-notices'

/**
 * Builds the seed function as `index.js` in a folder, with the SDK in it, so that the version tested is the version
 * that runs, and the licenses beside it.
 */
export function buildSeedBundle(outdir: string): void {
  const { metafile } = buildSync({
    ...functionBundleOptions,
    format: 'cjs',
    entryPoints: [join(__dirname, 'handler.ts')],
    outfile: join(outdir, 'index.js'),
    logLevel: 'silent',
    metafile: true,
  })
  writeNotices(metafile, ROOT, outdir)
}
