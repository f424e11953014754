import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(__dirname, '..')
const PRETTIER = join(ROOT, 'node_modules', 'prettier', 'bin', 'prettier.cjs')

/**
 * Markdown as `npm run format` lays it out, so that a generator's output passes the linter. It runs in another process:
 * Prettier is loaded with `import()`, which Jest cannot do.
 */
export const formatMarkdown = (text: string): string =>
  execFileSync(process.execPath, [PRETTIER, '--stdin-filepath', 'page.md'], {
    cwd: ROOT,
    input: text,
    encoding: 'utf8',
  })
