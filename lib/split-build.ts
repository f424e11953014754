import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type BuildOptions, buildSync, type Metafile, transformSync } from 'esbuild'

/** What packages import by `import()` for a part of theirs that nothing of ours uses: it would become a file. */
const UNUSED = ['@smithy/core/event-streams']

/**
 * Runs esbuild so that what is imported by `import()`, and what several entry points share, is in files of its own, all
 * of them CommonJS, which loads faster than ES modules. esbuild can do the first for ES modules only, so each file is
 * made CommonJS afterwards.
 *
 * @param after changes the code of a file, whose path is given in full.
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
  for (const output of Object.keys(metafile.outputs)) {
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
