import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(__dirname, '..', '..')

export interface Packed {
  readonly tarball: string
  /** Paths in the package. */
  readonly files: readonly string[]
  /** Bytes of the tarball. */
  readonly size: number
}

/** Builds a package and makes its tarball in a folder, as `npm run package` does. */
export async function packInto(folder: string, name: 'sluice' | 'sluice-backend' = 'sluice'): Promise<Packed> {
  const options = ['run', '--silent', 'package', '--', '--json', '--to', folder, name]
  const { stdout } = await promisify(execFile)('npm', options, { cwd: ROOT, maxBuffer: 64 * 2 ** 20 })
  const [{ filename, files, size }] = JSON.parse(stdout)
  return { tarball: join(folder, filename), files: files.map(({ path }: { path: string }) => path), size }
}
