import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { functionBundleOptions, ROOT } from '../../lib/authorizer-bundle'
import { writeNotices } from '../../lib/third-party-notices'

/**
 * Builds the command line with everything that it needs in it, so that it works wherever the package is installed:
 * `main.js`, and the thread of the local gateway, which `authorizer-instance.ts` looks for beside it.
 */
export function buildCommand(outdir: string): void {
  const { metafile } = buildSync({
    ...functionBundleOptions,
    entryPoints: {
      main: join(ROOT, 'bin', 'main.ts'),
      'authorizer-worker': join(ROOT, 'local', 'gateway', 'authorizer-worker.ts'),
    },
    outdir,
    charset: 'utf8',
    // What the user installs for `sluice dev`, and what only a clone runs.
    external: ['dynalite', 'ws', 'esbuild', '../lib/authorizer-bundle', '../../pages/build'],
    logLevel: 'error',
    metafile: true,
  })
  writeNotices(metafile, ROOT, outdir)
}
