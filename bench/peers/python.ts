import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

export const ZAE_VERSION = '0.17.0'
const REQUIREMENTS = join(__dirname, 'requirements.txt')
const INSTALLS_WITHIN_MS = 180_000

/** The Python that has zae-limiter, or why there is none. */
export type ZaePython = { readonly python: string } | { readonly missing: string }

/** A virtual environment in the user's cache, made by the first run that has Python 3.11 and an index of packages. */
export function zaePython(): ZaePython {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'sluice', `zae-limiter-${ZAE_VERSION}`)
  const python = join(folder, 'bin', 'python')
  if (existsSync(join(folder, 'complete'))) return { python }
  const version = spawnSync('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], {
    encoding: 'utf8',
  })
  if (version.status !== 0) return { missing: 'Python 3 is not there' }
  const [major, minor] = version.stdout.trim().split('.').map(Number) as [number, number]
  if (major !== 3 || minor < 11) return { missing: `it needs Python 3.11, this is ${version.stdout.trim()}` }

  rmSync(folder, { recursive: true, force: true })
  mkdirSync(dirname(folder), { recursive: true })
  const steps = [
    ['python3', '-m', 'venv', folder],
    [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', REQUIREMENTS],
    ['touch', join(folder, 'complete')],
  ] as const
  for (const [command, ...args] of steps) {
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: INSTALLS_WITHIN_MS })
    if (status === 0) continue
    rmSync(folder, { recursive: true, force: true })
    return { missing: `it could not be installed: ${(stderr ?? '').trim().split('\n').at(-1)}` }
  }
  return { python }
}
