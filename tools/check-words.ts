import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findWords, parseWords } from './words'

const ROOT = join(__dirname, '..')
/** History, what old releases said, and the list of words itself. */
const EXEMPT =
  /^(CHANGELOG\.md|docs\/adr\/|test\/compatibility\/|test\/docs\/words\.test\.ts|tools\/words\.yaml|package-lock\.json)/
const TEXTS = /\.(tsx?|css|js|mjs|md|yaml|yml|json|svg|html)$|^\.ci\//

const words = parseWords(readFileSync(join(__dirname, 'words.yaml'), 'utf8'))
const found = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => TEXTS.test(path) && !EXEMPT.test(path) && existsSync(join(ROOT, path)))
  .flatMap((path) => findWords(words, path, readFileSync(join(ROOT, path), 'utf8')))
for (const { path, line, word, say } of found) console.log(`${path}:${line}: not "${word}": ${say}`)
if (found.length > 0) {
  console.error(`${found.length} found; tools/words.yaml has the list`)
  process.exitCode = 1
}
