import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { satisfies } from 'semver'

const ROOT = join(__dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Lock {
  readonly packages: Readonly<Record<string, { readonly engines?: { readonly node?: string }; readonly dev?: boolean }>>
}

const { packages } = JSON.parse(read('package-lock.json')) as Lock

/** Packages that do not run on a version of Node, so that npm warns of them. */
const unfit = (version: string, isInstalled: (dev: boolean) => boolean) =>
  Object.entries(packages).flatMap(([path, { engines, dev = false }]) =>
    engines?.node && isInstalled(dev) && !satisfies(version, engines.node) ? `${path}: ${engines.node}` : [],
  )

it.each(['README.md', 'docs/tutorial.md'])('every package of a clone runs on the Node that %s names', (page) => {
  const [, version] = /Node (\d+\.\d+) or newer/.exec(read(page)) ?? []
  expect(unfit(`${version}.0`, () => true)).toEqual([])
})

it('every package that users install runs on the Node that package.json names', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  expect(unfit(`${engines.node.replace('>=', '')}.0`, (dev) => !dev)).toEqual([])
})
