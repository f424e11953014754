import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

/** Beside a bundle: a comment in it would be loaded with every cold start. */
const FILE = 'THIRD-PARTY-NOTICES.txt'

const HEAD = `The code in this folder contains parts of the packages below, each under its own license.
`

interface Notice {
  /** `valibot 1.5.0`. */
  readonly name: string
  readonly license: string
  readonly text: string
}

/**
 * Writes the licenses of all packages in a bundle into its folder.
 *
 * @param root the folder that the paths of the metafile start from.
 * @throws Error for a package without a license text.
 */
export function writeNotices({ outputs }: Pick<Metafile, 'outputs'>, root: string, outdir: string): void {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  const folders = new Set(
    inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (packageOf(path) ?? []) : [])),
  )
  const notices = [...folders].sort().map((folder) => noticeOf(join(root, folder)))
  const texts = new Map<string, Notice[]>()
  for (const notice of notices.map((one) => withText(one, notices)))
    texts.set(notice.text, [...(texts.get(notice.text) ?? []), notice])
  const parts = [...texts].map(
    ([text, some]) => `${some.map(({ name, license }) => `${name} (${license})`).join('\n')}\n\n${text}\n`,
  )
  writeFileSync(join(outdir, FILE), [HEAD, ...parts].join(`\n${'-'.repeat(80)}\n\n`))
}

/** `node_modules/a/node_modules/@b/c` of a file in it; `undefined` for a file of our own. */
const packageOf = (path: string): string | undefined =>
  /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]

/** A package's license, and its notice, which the Apache License requires to be passed on. */
function noticeOf(folder: string): Notice {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Readonly<
    Record<string, string>
  >
  const files = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)(\.|-|$)/i.test(file))
    .sort()
  const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n')
  return { name: `${name} ${version}`, license: String(license), text }
}

/** A package that was published without its license text gets that of others of its scope, from the same publisher. */
function withText(notice: Notice, others: readonly Notice[]): Notice {
  if (notice.text !== '') return notice
  const scope = /^@[^/]+\//.exec(notice.name)?.[0]
  const alike = others.find(
    ({ name, license, text }) => scope && name.startsWith(scope) && license === notice.license && text !== '',
  )
  if (!alike) throw new Error(`${notice.name} has no license to hand on`)
  return { ...notice, text: alike.text }
}
