import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { buildAuthorizerBundle } from './authorizer-bundle'
import { buildSeedBundle } from './seed/seed-bundle'

/** A step of `npm run build`: the functions' code into `dist`, where `bundledCode` finds it. */
const dist = join(__dirname, '..', 'dist')
withoutComments(dist)
buildAuthorizerBundle(join(dist, 'authorizer'))
buildSeedBundle(join(dist, 'seed'))

/** A seventh of the package would be comments that the types have as well. */
function withoutComments(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.js')) continue
    const path = join(entry.parentPath, entry.name)
    const { code } = transformSync(readFileSync(path, 'utf8'), { target: 'node20', platform: 'node', charset: 'utf8' })
    writeFileSync(path, code)
  }
}
