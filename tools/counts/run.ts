import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Counts, countAll, RECORDED } from './count'
import { bundleBytes, PROGRAMS } from './first-chunk'
import { LIMITS } from './limits'
import { referenceOf } from './reference'

/**
 * `npm run counts` prints figures of this tree beside those of b620fa4, and what test/counts holds them to.
 * `npm run counts -- --record FOLDER` records those of a checkout of b620fa4, whose packages are installed, and its
 * reference, which test/compatibility compares with today's.
 */
const [option, folder] = process.argv.slice(2)

function record(root: string): void {
  const write = (name: string, value: object) =>
    writeFileSync(join(__dirname, `${name}-b620fa4.json`), `${JSON.stringify(value, undefined, 2)}\n`)
  write('counts', countAll(root))
  write('reference', referenceOf(root))
}

function print(counts: Counts): void {
  const rows = Object.entries(counts).map(([name, now]) => {
    const { most, goal } = LIMITS[name] ?? {}
    return [name, ...[now, RECORDED[name], most, goal].map((one) => one?.toLocaleString('en') ?? '')]
  })
  printTable([['', 'now', 'b620fa4', 'at most', 'goal'], ...rows])
}

function printTable(rows: readonly (readonly string[])[]): void {
  for (const [name, ...figures] of rows)
    process.stdout.write(`${name!.padEnd(68)}${figures.map((one) => one.padStart(10)).join('')}\n`)
}

function printBundles(root: string): void {
  const rows = Object.entries(PROGRAMS).map(([name, { program, most, goal }]) => {
    const { first, all } = bundleBytes(root, program)
    return [name, ...[first, all, most, goal].map((one) => one.toLocaleString('en'))]
  })
  const head = ['bytes of a program, bundled as an ES module and minified', 'first', 'all', 'at most', 'goal']
  printTable([head, ...rows])
}

const ROOT = resolve(__dirname, '..', '..')

if (option === '--record' && folder !== undefined) record(resolve(folder))
else if (option === undefined) {
  print(countAll(ROOT))
  printBundles(ROOT)
} else throw new Error('npm run counts takes nothing, or --record and a folder')
