import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../../lib/authorizer-bundle'
import { withLinksOf } from './packed-links'

/**
 * `npm run package` builds the packages and makes their tarballs, in this folder or the one of `--to`: all packages, or
 * those that are named. `--json` prints what npm says of each.
 *
 * npm packs a folder of what users get: the files that `files` of the manifest names, pages without links that lead
 * nowhere, and a manifest without scripts and what else is only for a clone. So packing the clone itself is refused
 * (`prepack`).
 */
const FOLDERS: Readonly<Record<string, string>> = {
  sluice: ROOT,
  'sluice-backend': join(ROOT, 'packages', 'backend'),
}
const ONLY_IN_A_CLONE = ['scripts', 'devDependencies', 'workspaces', 'overrides', 'files']

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

function pack(name: string): Packed {
  const folder = FOLDERS[name]
  if (folder === undefined)
    throw new Error(`a package must be one of ${Object.keys(FOLDERS).join(', ')}, got "${name}"`)
  npm(folder, 'run', '--silent', 'build')
  const staged = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
  try {
    stage(folder, staged)
    return packIn(staged, '--pack-destination', to)
  } finally {
    rmSync(staged, { recursive: true })
  }
}

const packIn = (folder: string, ...options: readonly string[]): Packed =>
  JSON.parse(npm(folder, 'pack', '--json', '--ignore-scripts', ...options))[0]

/** Copies what `files` names, as users get it. */
function stage(folder: string, staged: string): void {
  const files = packIn(folder, '--dry-run').files.map(({ path }) => path)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  for (const file of files) cpSync(join(folder, file), join(staged, file))
  for (const page of files.filter((file) => file.endsWith('.md'))) {
    const text = readFileSync(join(staged, page), 'utf8')
    writeFileSync(join(staged, page), withLinksOf(text, page, files, manifest.repository))
  }
  const kept = Object.entries(manifest).filter(([field]) => !ONLY_IN_A_CLONE.includes(field))
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`)
}

function npm(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    shell: process.platform === 'win32', // where npm is a script
  })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`)
  return stdout
}

const { values, positionals } = parseArgs({
  options: { to: { type: 'string', default: '.' }, json: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const to = resolve(values.to)
const packed = (positionals.length > 0 ? positionals : Object.keys(FOLDERS)).map(pack)
process.stdout.write(
  values.json ? `${JSON.stringify(packed)}\n` : packed.map(({ filename }) => `${join(values.to, filename)}\n`).join(''),
)
