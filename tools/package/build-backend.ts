import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { functionBundleOptions, ROOT } from '../../lib/authorizer-bundle'
import { buildSplit } from '../../lib/split-build'
import { writeNotices } from '../../lib/third-party-notices'
import { flattened } from './declarations'

/** Makes the package `sluice-backend`: `sluice/backend` alone, for functions that install nothing else of it. */
const folder = join(ROOT, 'packages', 'backend')
const dist = join(folder, 'dist')

rmSync(dist, { recursive: true, force: true })
const metafile = buildSplit({
  ...functionBundleOptions,
  entryPoints: { index: join(ROOT, 'backend', 'index.ts') },
  outdir: dist,
  charset: 'utf8',
})
writeNotices(metafile, ROOT, dist)

const tsc = require.resolve('typescript/bin/tsc')
const types = mkdtempSync(join(tmpdir(), 'sluice-backend-'))
try {
  execFileSync(process.execPath, [tsc, '-p', folder, '--outDir', types], { stdio: 'inherit' })
  writeFileSync(join(dist, 'index.d.ts'), flattened(join(types, 'backend', 'index.d.ts')))
} finally {
  rmSync(types, { recursive: true, force: true })
}
