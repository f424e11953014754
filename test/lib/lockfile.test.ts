import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Entry {
  readonly integrity?: string
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly optional?: boolean
  readonly os?: readonly string[]
}

const { packages } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Entry>
}
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)

/**
 * Binaries of tools for other platforms than the one that this was locked on: the registry that it was locked with does
 * not serve them, so nobody could ask for their hashes. npm takes them from whichever registry it is used with there;
 * none of them is in the package or in a bundle.
 */
const FOR_OTHER_PLATFORMS =
  /^node_modules\/(@biomejs\/cli|@oxc-parser\/binding|@swc\/core|@unrs\/resolver-binding)-(android|darwin|freebsd|linux|openharmony|win32)-/

it('every entry has the hash of its tarball, except bundled packages and tools for other platforms', () => {
  const without = installed.filter(([, { integrity, inBundle }]) => !integrity?.startsWith('sha512-') && !inBundle)
  for (const [path, { optional, os }] of without) {
    expect(path).toMatch(FOR_OTHER_PLATFORMS)
    expect([path, optional, os]).toEqual([path, true, expect.any(Array)])
  }
  expect(without.length).toBeLessThanOrEqual(48)
  expect(installed.length).toBeGreaterThan(500)
})

it('a bundled package comes with a tarball that has a hash', () => {
  for (const [path] of installed.filter(([, { inBundle }]) => inBundle)) {
    const owner = packages[path.slice(0, path.indexOf('/node_modules/'))]
    expect([path, owner?.integrity]).toEqual([path, expect.stringMatching(/^sha512-/)])
  }
})
