import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { functionBundleOptions, ROOT } from '../../lib/authorizer-bundle'
import { buildSplit } from '../../lib/split-build'
import { writeNotices } from '../../lib/third-party-notices'

/** Makes the package `sluice-backend`: `sluice/backend` alone, for functions that install nothing else of it. */
const folder = join(ROOT, 'packages', 'backend')
const dist = join(folder, 'dist')

rmSync(dist, { recursive: true, force: true })
const options = {
  ...functionBundleOptions,
  entryPoints: { index: join(ROOT, 'backend', 'index.ts') },
  outdir: dist,
  charset: 'utf8',
} satisfies BuildOptions
const metafile = buildSplit(options)
buildSplit({ ...options, format: 'esm', outExtension: { '.js': '.mjs' } })
writeFileSync(join(dist, 'index.d.mts'), "export * from './index.js'\n")
writeNotices(metafile, ROOT, dist)

/** The types in one file, and only those that the entry point shows: on a disk, each file takes 4 KB. */
async function writeTypes(): Promise<void> {
  const types = await rollup({
    input: join(ROOT, 'backend', 'index.ts'),
    plugins: [dts({ tsconfig: join(folder, 'tsconfig.json') })],
  })
  await types.write({ file: join(dist, 'index.d.ts') })
  await types.close()
}

void writeTypes()
