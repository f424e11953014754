import { join } from 'node:path'
import { buildSync } from 'esbuild'

/** Builds the seed function as `index.js` in a folder, with the SDK in it, so that the version tested is the version that runs. */
export function buildSeedBundle(outdir: string): void {
  buildSync({
    entryPoints: [join(__dirname, 'handler.ts')],
    absWorkingDir: join(__dirname, '..', '..'),
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    mainFields: ['module', 'main'],
    legalComments: 'none',
    outfile: join(outdir, 'index.js'),
    logLevel: 'silent',
  })
}
