import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type BuildOptions, buildSync, type Metafile, transformSync } from 'esbuild'

/** Modules that packages import by `import()` for parts that Sluice does not use: they would become files. */
const UNUSED = ['@smithy/core/event-streams']

/**
 * Runs esbuild so that modules imported by `import()`, and modules that several entry points share, get files of their
 * own, all of them CommonJS, which loads faster than ES modules, unless `format` says `esm`. esbuild can split ES
 * modules only, so each file is converted to CommonJS afterwards.
 *
 * @param after changes the code of a file, given its absolute path.
 * @throws Error with esbuild's message.
 */
export function buildSplit(
  options: BuildOptions & { readonly outdir: string },
  after: (code: string, file: string) => string = (code) => code,
): Metafile {
  const { absWorkingDir = '', minify, minifySyntax = minify, minifyWhitespace = minify } = options
  const { metafile } = buildSync({
    logLevel: 'error',
    ...options,
    external: [...UNUSED, ...(options.external ?? [])],
    format: 'esm',
    splitting: true,
    metafile: true,
  })
  for (const output of options.format === 'esm' ? [] : Object.keys(metafile.outputs)) {
    const file = resolve(absWorkingDir, output)
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      charset: options.charset,
      lineLimit: options.lineLimit,
      minifySyntax,
      minifyWhitespace,
      minifyIdentifiers: minify,
      supported: { 'dynamic-import': false },
    })
    writeFileSync(file, after(code, file))
  }
  return metafile
}
