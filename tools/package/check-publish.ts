import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../lib/authorizer-bundle'

/**
 * `npm run check:publish` says what npm would publish, and what is left to do before. It publishes nothing. Fails for
 * whatever npm warns of; what only the owner can say is named, and is no failure.
 *
 * With `--built` nothing is built anew.
 */
const FOLDERS = [ROOT, join(ROOT, 'packages', 'backend')]

/** Who publishes knows these. npmjs.com resolves the relative links and pictures of a README by the repository. */
const OWNERS_FIELDS = ['repository', 'homepage', 'bugs', 'author']

/** What npm warns of on a machine that nobody is logged in to, or that is set up for other versions of npm. */
const OF_THE_MACHINE = /requires you to be logged in|Unknown (?:user|env|project|global|builtin|cli) config/

function check(folder: string): string[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Readonly<Record<string, unknown>>
  const scripts = process.argv.includes('--built') ? ['--ignore-scripts'] : []
  const { status, stdout, stderr } = spawnSync('npm', ['publish', '--dry-run', '--json', ...scripts], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32', // where npm is a script
  })
  const lines = stderr.split('\n').filter((line) => /^npm (warn|error)/i.test(line) && !OF_THE_MACHINE.test(line))
  const name = `${manifest.name} ${manifest.version}`
  const open = OWNERS_FIELDS.filter((field) => manifest[field] === undefined)
  if (status === 0) process.stdout.write(`${name}: ${contentsOf(stdout, String(manifest.name))}\n`)
  if (open.length > 0) process.stdout.write(`${name}: open, for the owner to say: ${open.join(', ')}\n`)
  if (status !== 0 && lines.length === 0) lines.push(stderr.trim() || `npm ended with ${status}`)
  return lines.map((line) => `${name}: ${line}`)
}

/** What npm says of the package: in its newer versions under the package's name. */
function contentsOf(stdout: string, name: string): string {
  const told = JSON.parse(stdout.slice(stdout.indexOf('{')))
  const { entryCount, size, unpackedSize } = told[name] ?? told
  return `${entryCount} files, ${kilobytes(size)} to download, ${kilobytes(unpackedSize)} installed`
}

const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1000)} KB`

const failures = FOLDERS.flatMap(check)
for (const failure of failures) process.stderr.write(`${failure}\n`)
process.exitCode = failures.length > 0 ? 1 : 0
