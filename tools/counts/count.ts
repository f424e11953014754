import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { buildSync } from 'esbuild'
import { filesIn, functionsAbove, importedFrom, linesOf, loopsUnderDeadline, testsIn, textOf, wordsIn } from './code'
import recorded from './counts-b620fa4.json'
import { decides, loadedBy, longestChain } from './imports'
import { commandsOf, programOf } from './reference'
import type { WarmTake } from './warm-take'

/** What users get, by folder; `bench`, `acceptance`, `tools` and `examples` are beside it. */
const ROOMS = 'backend bin cli lambda lib limiter local middleware pages provisioning tiered'.split(' ')
const CODE = /\.(tsx?|mjs)$/

/** Everything that is counted of a checkout, by what it is called. */
export type Counts = Readonly<Record<string, number>>

/** Those of b620fa4. */
export const RECORDED: Counts = recorded

export const countAll = (root: string): Counts => ({ ...countFiles(root), ...countRunning(root) })

/** Counts that the text of the files gives. Takes a second. */
export function countFiles(root: string): Counts {
  const lines = (folders: readonly string[]) =>
    folders
      .flatMap((folder) => filesIn(join(root, folder), CODE).map((path) => linesOf(textOf(root, folder, path))))
      .reduce((sum, one) => sum + one, 0)
  const limiter = filesIn(join(root, 'limiter'), /\.ts$/)
  const loaded = loadedBy(join(root, 'limiter'), limiter)
  const direct = limiter.filter((path) => !path.includes('/'))
  const inFiles = (paths: readonly string[], count: (path: string, text: string) => number) =>
    paths.reduce((sum, path) => sum + count(path, textOf(root, 'limiter', path)), 0)
  const suites = filesIn(join(root, 'test'), /\.test\.ts$/)
  const imported = importedFrom(root, 'cli', ['lambda', 'limiter'])
  const pages = filesIn(join(root, 'docs'), /^(?!api\/).*\.md$/)
  return {
    'lines of source': lines(ROOMS),
    'lines of tests': lines(['test']),
    'lines of benches, tools and the acceptance test': lines(['bench', 'tools', 'acceptance']),
    'lines of limiter/': lines(['limiter']),
    'files of limiter/': limiter.length,
    'files of limiter/ beside its folders': direct.length,
    'files of limiter/ above 250 lines': limiter.filter((path) => linesOf(textOf(root, 'limiter', path)) > 250).length,
    'longest chain of imports in limiter/': longestChain(limiter, loaded).length,
    'longest chain among the files that decide': longestChain(limiter.filter(decides), loaded).length,
    'functions of more than 5 parameters beside the folders of limiter/': inFiles(direct, (path, text) =>
      functionsAbove(5, path, text),
    ),
    'loops in limiter/ that await a call under a deadline': inFiles(limiter, loopsUnderDeadline),
    'modules of lambda/ and limiter/ that cli/ imports': new Set(imported).size,
    'imports of them in cli/': imported.length,
    'words of docs/ without docs/api': pages.reduce((sum, path) => sum + wordsIn(textOf(root, 'docs', path)), 0),
    suites: suites.length,
    'tests, a table of cases counted once': suites.reduce((sum, path) => sum + testsIn(textOf(root, 'test', path)), 0),
  }
}

/** Counts for which the code is run or bundled. Takes seconds. */
export function countRunning(root: string): Counts {
  const take = warmTake(root)
  const authorizer = authorizerBytes(root)
  return {
    'functions that a warm take enters': take.functions,
    'files that a warm take enters': take.files,
    'promises of a warm take': take.promises,
    'microtask turns of a warm take': take.turns,
    'words of --help': wordsOfHelp(root),
    commands: commandsOf(root).filter((line) => !line.includes(' -')).length,
    'bytes that the authorizer loads first': authorizer.first,
    'bytes of all its files': authorizer.all,
  }
}

function inScratch<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-counts-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function warmTake(root: string): WarmTake {
  return inScratch((folder) => {
    const outfile = join(folder, 'limiter.js')
    buildSync({
      absWorkingDir: root,
      entryPoints: ['limiter/index.ts'],
      bundle: true,
      platform: 'node',
      outfile,
      logLevel: 'error',
    })
    const child = join(__dirname, 'warm-take.ts')
    return JSON.parse(
      execFileSync(process.execPath, [require.resolve('tsx/cli'), child, outfile], { encoding: 'utf8' }),
    )
  })
}

/** Of code: the file that Lambda loads with those that it requires at once, and all of them. */
function authorizerBytes(root: string): { readonly first: number; readonly all: number } {
  const { buildAuthorizerBundle } = require(
    join(root, 'lib', 'authorizer-bundle'),
  ) as typeof import('../../lib/authorizer-bundle')
  return inScratch((folder) => {
    const bytesOf = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + statSync(file).size, 0)
    const first = new Set([buildAuthorizerBundle(folder)])
    for (const file of first)
      for (const [, name] of textOf(file).matchAll(/=\s?require\("\.\/([^"]+)"\)/g)) first.add(join(folder, name!))
    return { first: bytesOf(first), all: bytesOf(filesIn(folder, /\.js$/).map((name) => join(folder, name))) }
  })
}

/** What `--help` of the program and of each of its commands prints, all of them together. */
function wordsOfHelp(root: string): number {
  let text = ''
  const program = programOf(root, (more) => {
    text += more
  })
  const print = (command: Command): void => {
    command.outputHelp()
    command.commands.forEach(print)
  }
  print(program)
  return wordsIn(text)
}
