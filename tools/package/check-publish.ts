import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ROOT } from '../../lib/authorizer-bundle'

/**
 * `npm run check:publish` says what npm would publish, and what is left to do before. It publishes nothing. Fails for
 * whatever npm warns of, and for entry points that publint or attw (Are the types wrong?) finds fault with; what only
 * the owner can say is named, and is no failure.
 *
 * With paths of tarballs these are looked at; else `npm run package` makes them.
 */
/** Who publishes knows these. npmjs.com resolves the relative links and pictures of a README by the repository. */
const OWNERS_FIELDS = ['repository', 'homepage', 'bugs', 'author']

/** What npm warns of on a machine that nobody is logged in to, or that is set up for other versions of npm. */
const OF_THE_MACHINE = /requires you to be logged in|Unknown (?:user|env|project|global|builtin|cli) config/

function check(tarball: string): string[] {
  const manifest = JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json']).stdout) as Readonly<
    Record<string, unknown>
  >
  const { status, stdout, stderr } = run('npm', ['publish', '--dry-run', '--json', resolve(tarball)])
  const lines = stderr.split('\n').filter((line) => /^npm (warn|error)/i.test(line) && !OF_THE_MACHINE.test(line))
  const name = `${manifest.name} ${manifest.version}`
  const open = OWNERS_FIELDS.filter((field) => manifest[field] === undefined)
  if (status === 0) process.stdout.write(`${name}: ${contentsOf(stdout, String(manifest.name))}\n`)
  if (open.length > 0) process.stdout.write(`${name}: open, for the owner to say: ${open.join(', ')}\n`)
  if (status !== 0 && lines.length === 0) lines.push(stderr.trim() || `npm ended with ${status}`)
  return [...lines, ...entryMistakes(tarball)].map((line) => `${name}: ${line}`)
}

/** What others' checks say of the entry points, for Node and bundlers; and for TypeScript by every way to resolve. */
function entryMistakes(tarball: string): string[] {
  const checks = [
    ['publint', 'run', tarball, '--strict', '--level', 'warning'],
    ['attw', tarball, '--no-emoji', '--format', 'ascii'],
  ] as const
  return checks.flatMap(([name, ...args]) => {
    const { status, stdout, stderr } = run('npx', ['--no-install', name, ...args])
    return status === 0 ? [] : [`${name}:\n${stdout}${stderr}`]
  })
}

const run = (command: string, args: readonly string[]) =>
  spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    shell: process.platform === 'win32', // where npm is a script
  })

/** What npm says of the package: in its newer versions under the package's name. */
function contentsOf(stdout: string, name: string): string {
  const told = JSON.parse(stdout.slice(stdout.indexOf('{')))
  const { entryCount, size, unpackedSize } = told[name] ?? told
  return `${entryCount} files, ${kilobytes(size)} to download, ${kilobytes(unpackedSize)} installed`
}

const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1000)} KB`

const scratch = mkdtempSync(join(tmpdir(), 'sluice-publish-'))
const given = process.argv.slice(2)
const tarballs =
  given.length > 0 ? given : run('npm', ['run', '--silent', 'package', '--', '--to', scratch]).stdout.trim().split('\n')
const failures = tarballs.flatMap(check)
rmSync(scratch, { recursive: true })
for (const failure of failures) process.stderr.write(`${failure}\n`)
process.exitCode = failures.length > 0 ? 1 : 0
