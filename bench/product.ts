import { join } from 'node:path'
import { buildSync } from 'esbuild'

const ROOT = join(__dirname, '..')
const CACHE = join(ROOT, 'node_modules', '.cache', 'sluice-bench')

/** `sluice/limiter`, as a program that depends on it would get it. */
export type Product = typeof import('../lambda/limiter')

/** Builds the library from its sources and returns the file; the SDK stays outside, so that whatever is compared shares one copy of it. */
export function buildProduct(): string {
  const outfile = join(CACHE, 'limiter.js')
  buildSync({
    entryPoints: [join(ROOT, 'lambda', 'limiter', 'index.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['@aws-sdk/*'],
    sourcemap: 'inline',
    logLevel: 'silent',
  })
  return outfile
}

/**
 * The library compiled. The bench itself runs through tsx, which renames every inner function each time it is made; a user's program does not, and
 * its figures should not either.
 */
export function loadProduct(): Product {
  return require(buildProduct()) as Product
}
