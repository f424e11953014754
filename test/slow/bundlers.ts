import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import webpack from 'webpack'

export type Format = 'esm' | 'cjs'

/** The name of a bundle's first file. */
export const firstFile = (format: Format) => `app.${extensionOf(format)}`

const extensionOf = (format: Format) => (format === 'esm' ? 'mjs' : 'cjs')

/**
 * Bundles `app.js` of a project, with the packages that it has installed, into a folder: as a beginner would, with what
 * is needed to run on Node and nothing else. Resolves to the warnings.
 *
 * @throws Error of the bundler.
 */
type Bundler = (project: string, outdir: string, format: Format) => Promise<readonly string[]>

export const BUNDLERS: Readonly<Record<'esbuild' | 'rollup' | 'webpack', Bundler>> = {
  async esbuild(project, outdir, format) {
    const { warnings } = await build({
      absWorkingDir: project,
      entryPoints: ['app.js'],
      bundle: true,
      minify: true,
      platform: 'node',
      format,
      splitting: format === 'esm',
      outdir,
      outExtension: { '.js': `.${extensionOf(format)}` },
      logLevel: 'silent',
    })
    return warnings.map(({ text }) => text)
  },

  async rollup(project, outdir, format) {
    const warnings: string[] = []
    const bundle = await rollup({
      input: join(project, 'app.js'),
      plugins: [nodeResolve({ exportConditions: ['node'] })],
      onwarn: ({ message }) => warnings.push(message),
    })
    const names = { entryFileNames: firstFile(format), chunkFileNames: `[name]-[hash].${extensionOf(format)}` }
    await bundle.write({ dir: outdir, format, ...names })
    await bundle.close()
    return warnings
  },

  webpack(project, outdir, format) {
    const asModule = { module: true, chunkFormat: 'module', library: { type: 'module' } }
    const compiler = webpack({
      mode: 'production',
      context: project,
      entry: './app.js',
      target: 'node20',
      experiments: { outputModule: format === 'esm' },
      output: {
        path: outdir,
        filename: firstFile(format),
        chunkFilename: `[id].${extensionOf(format)}`,
        ...(format === 'esm' ? asModule : { library: { type: 'commonjs2' } }),
      },
    })
    return new Promise((resolve, reject) => {
      compiler.run((error, stats) => {
        const { errors = [], warnings = [] } = stats?.toJson({ all: false, errors: true, warnings: true }) ?? {}
        if (error || errors.length > 0) reject(error ?? new Error(errors.map(({ message }) => message).join('\n')))
        else resolve(warnings.map(({ message }) => message))
      })
    })
  },
}
