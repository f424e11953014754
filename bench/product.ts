import { join } from 'node:path'
import { buildSync } from 'esbuild'

const ROOT = join(__dirname, '..')
const CACHE = join(ROOT, 'node_modules', '.cache', 'sluice-bench')

/** `sluice/limiter`, as a program that depends on it would get it. */
export type Product = typeof import('../limiter')

/**
 * Builds a file of this repository with all that it imports from it, and returns the result's path. The bench itself
 * runs through tsx, which renames every inner function each time it is made; a user's program does not, and its figures
 * should not either. Packages stay outside, so that whatever is compared shares one copy of the SDK.
 *
 * @param entry as in `limiter/index.ts`
 */
export function compiled(entry: string): string {
  const outfile = join(CACHE, `${entry.replaceAll('/', '-').replace(/\.ts$/, '')}.js`)
  buildSync({
    entryPoints: [join(ROOT, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['@aws-sdk/*', 'rate-limiter-flexible'],
    sourcemap: 'inline',
    logLevel: 'silent',
  })
  return outfile
}

/** Builds the library from its sources and returns the file. */
export const buildProduct = (): string => compiled('limiter/index.ts')

/** The library compiled. */
export function loadProduct(): Product {
  return require(buildProduct()) as Product
}
