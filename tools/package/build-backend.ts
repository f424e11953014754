import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { functionBundleOptions, ROOT } from '../../lib/authorizer-bundle'
import { writeNotices } from '../../lib/third-party-notices'
import { flattened } from './declarations'
import { withSdkOnUse } from './library'

/** Makes the package `sluice-backend`: `sluice/backend` in one file, for functions that install nothing else of it. */
const folder = join(ROOT, 'packages', 'backend')
const dist = join(folder, 'dist')

rmSync(dist, { recursive: true, force: true })
const { metafile } = buildSync({
  ...functionBundleOptions,
  entryPoints: {
    index: join(ROOT, 'backend', 'index.ts'),
    'dynamodb-sdk': join(ROOT, 'limiter', 'stores', 'dynamodb-sdk.ts'),
  },
  outdir: dist,
  external: ['@aws-sdk/client-dynamodb'],
  charset: 'utf8',
  logLevel: 'error',
  metafile: true,
})
const bundle = join(dist, 'index.js')
writeFileSync(bundle, withSdkOnUse(readFileSync(bundle, 'utf8'), './dynamodb-sdk.js'))
writeNotices(metafile, ROOT, dist)

const tsc = require.resolve('typescript/bin/tsc')
const types = mkdtempSync(join(tmpdir(), 'sluice-backend-'))
try {
  execFileSync(process.execPath, [tsc, '-p', folder, '--outDir', types], { stdio: 'inherit' })
  writeFileSync(join(dist, 'index.d.ts'), flattened(join(types, 'backend', 'index.d.ts')))
} finally {
  rmSync(types, { recursive: true, force: true })
}
