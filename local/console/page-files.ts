import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PageFiles } from '../../pages/build'

/** Beside the bundled command, in the package. */
const PUBLISHED = join(__dirname, '..', 'pages')

let files: Promise<PageFiles> | undefined

/**
 * The files of the pages by name: those that were built when the package was published; in a clone esbuild builds them
 * at the first request, and again after a failure.
 */
export function pageFiles(): Promise<PageFiles> {
  files ??= (existsSync(PUBLISHED) ? published() : built()).catch((error) => {
    files = undefined
    throw error
  })
  return files
}

async function published(): Promise<PageFiles> {
  return new Map(readdirSync(PUBLISHED).map((name) => [name, readFileSync(join(PUBLISHED, name), 'utf8')]))
}

/** Loaded only in a clone: the package has neither the sources nor esbuild. */
async function built(): Promise<PageFiles> {
  const { buildPages } = require('../../pages/build') as typeof import('../../pages/build')
  return buildPages()
}
