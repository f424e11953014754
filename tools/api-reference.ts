import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const TYPEDOC = join(dirname(createRequire(__filename).resolve('typedoc/package.json')), 'bin', 'typedoc')

/**
 * Writes a page for each entry point of the package, in the words of its docstrings. What is exported without one, or
 * mentions a type that is not exported, is an error. docs/api.md leads to the pages; TypeDoc's own list of them goes.
 */
export function writeApiReference(folder: string): void {
  const options = [
    '--options',
    join(__dirname, 'typedoc.json'),
    '--theme',
    'plain',
    '--out',
    folder,
    '--logLevel',
    'Warn',
  ]
  execFileSync(process.execPath, [TYPEDOC, ...options], { stdio: ['ignore', 'inherit', 'inherit'] })
  rmSync(join(folder, 'README.md'))
}
