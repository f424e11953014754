import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(__dirname, '..', '..')
const PAGES = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)))
  .filter((path) => !/^(docs\/adr\/|CHANGELOG|test\/compatibility\/)/.test(path))

/** Ways to run or install the command from the registry, wherever one is: it may be somebody else's (ADR 0030). */
const FROM_REGISTRY = [
  /\b(?:npx|bunx|npm exec|pnpm dlx|yarn dlx)\b(?: -\S+)* sluice@/,
  /\bnpx(?: \S+)* (?:-y|--yes)(?: \S+)* sluice\b/,
  /\b(?:bunx|pnpm dlx|yarn dlx|npm exec|npm create|npm init) sluice\b(?!@)/,
  /\bnpm (?:i|install|add)(?: \S+)* (?:-g|--global)\b[^\n]*sluice/,
  /\bnpm (?:i|install|add) sluice[^\n]* (?:-g|--global)\b/,
]

/** What a page says before its first `npx sluice`, or links to: where that is this package. */
const WHERE =
  /npm ci\b|npm run package\b|npm install|in the clone|project that has the package|\]\([^)]*(?:tutorial|deploy|cli|run-before-your-own-server)\.md/i

const COMMAND = /\bnpx sluice\b/

/** Why a page may have somebody run a stranger's package. */
function mistakesIn(text: string): string[] {
  const first = COMMAND.exec(text)?.index
  const isSaid = first === undefined || WHERE.test(text.slice(0, first))
  const found = FROM_REGISTRY.flatMap((way) => way.exec(text)?.[0] ?? [])
  return [...found, ...(isSaid ? [] : ['npx sluice, before it is said where that is installed'])]
}

test.each(PAGES)('%s tells to type `npx sluice` only where it is installed', (page) => {
  expect(mistakesIn(readFileSync(join(ROOT, page), 'utf8'))).toEqual([])
})

test.each([
  ['npx sluice tiers list', 1],
  ['In the clone: npx sluice tiers list', 0],
  ['npm ci, then npx sluice@latest dev', 1],
  ['npm ci\nnpx --yes sluice dev', 1],
  ['npm ci\nnpm install -g sluice', 1],
  ['npm ci\nnpm i sluice --global', 1],
  ['npm ci\npnpm dlx sluice init', 1],
  ['npm ci\nnpm exec sluice@1 init', 1],
  ['npm install --save-dev ./sluice-0.1.0.tgz\nnpx sluice dev', 0],
])('%j has %i such mistakes', (text, mistakes) => {
  expect(mistakesIn(text)).toHaveLength(mistakes)
})
