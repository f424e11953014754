import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { writeNotices } from '../lib/third-party-notices'

const ROOT = join(__dirname, '..')

/** A page that the local gateway serves, and what it is made of. */
interface Page {
  readonly title: string
  readonly description: string
  /** What runs beside the page, off its thread: the file's name without `.js`, and its source. */
  readonly workers?: Readonly<Record<string, string>>
}

/** The pages by name: `console` is `console.html`, `console.js` and `console.css`, made of `pages/console/main.tsx`. */
export const PAGES = {
  console: {
    title: 'Sluice: the console',
    description: 'Fire requests at the rate limiter that runs here, and see what it does and why.',
  },
  lab: {
    title: 'Sluice: the lab',
    description: 'One stream of requests, every rate-limiting algorithm at once, in virtual time.',
    workers: { 'lab-worker': 'pages/lab/worker.ts' },
  },
} as const satisfies Readonly<Record<string, Page>>

const pages: Readonly<Record<string, Page>> = PAGES

/** What a browser needs of all pages, by the file's name. */
export type PageFiles = ReadonlyMap<string, string>

const options = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  platform: 'browser',
  format: 'iife',
  target: ['chrome115', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  tsconfigRaw: {}, // the folder's own is for the compiler
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
  metafile: true,
  write: false,
  outdir: 'pages',
} satisfies BuildOptions

/**
 * Builds all pages, or some of them. Takes about 0.2 seconds.
 *
 * @param notices gets the licenses of the packages of which the pages have a part. @default they are not written
 * @throws esbuild's message.
 */
export async function buildPages(
  names: readonly string[] = Object.keys(pages),
  notices?: { readonly folder: string },
): Promise<PageFiles> {
  const entryPoints = names.flatMap((name) => [
    [name, join('pages', name, 'main.tsx')] as const,
    ...Object.entries(pages[name]!.workers ?? {}),
  ])
  const { outputFiles, metafile } = await build({ ...options, entryPoints: Object.fromEntries(entryPoints) })
  if (notices) writeNotices(metafile, ROOT, notices.folder)
  const files = new Map(outputFiles.map(({ path, text }) => [path.split(/[\\/]/).at(-1)!, text] as const))
  for (const name of names) files.set(`${name}.html`, htmlOf(name, pages[name]!, files.has(`${name}.css`)))
  return files
}

/** Writes all pages, and the licenses of what is in them, into a folder. */
export async function writePages(folder: string, names?: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of await buildPages(names, { folder })) writeFileSync(join(folder, file), text)
}

const htmlOf = (name: string, { title, description }: Page, isStyled: boolean): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${description}">
<title>${title}</title>
<link rel="icon" href="data:,">
${isStyled ? `<link rel="stylesheet" href="${name}.css">\n` : ''}</head>
<body>
<div id="app"><noscript>This page needs JavaScript.</noscript></div>
<script src="${name}.js"></script>
</body>
</html>
`
