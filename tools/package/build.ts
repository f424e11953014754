import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildAuthorizerBundle, ROOT } from '../../lib/authorizer-bundle'
import { buildSeedBundle } from '../../lib/seed/seed-bundle'
import { writePages } from '../../pages/build'
import { buildCommand } from './command'
import { finishDeclarations } from './declarations'
import { buildLibrary } from './library'

/** The step of `npm run build` after the compiler, which wrote the declarations: `dist` as users get it (ADR 0033). */
const { files: sources } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8')) as {
  files: readonly string[]
}
const entries = sources.map((source) => source.replace(/\.ts$/, ''))

const dist = join(ROOT, 'dist')
buildLibrary(dist, entries)
finishDeclarations(
  dist,
  entries.map((entry) => join(dist, `${entry}.d.ts`)),
)
buildAuthorizerBundle(join(dist, 'authorizer'))
buildSeedBundle(join(dist, 'seed'))
buildCommand(join(dist, 'cli'))
writePages(join(dist, 'pages')).catch((error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exitCode = 1
})
