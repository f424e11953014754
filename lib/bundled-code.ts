import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AssetHashType, DockerImage } from 'aws-cdk-lib'
import { Code } from 'aws-cdk-lib/aws-lambda'

/** The functions that come with the constructs, and the folder of each one's source. */
const SOURCES = { authorizer: join(__dirname, '..', 'lambda'), seed: join(__dirname, 'seed') } as const

/**
 * A function's code: the folder that was built when the package was published; in a clone, esbuild builds it from the
 * source at synth. It never uses Docker, and leaves nothing behind.
 */
export function bundledCode(name: keyof typeof SOURCES): Code {
  const published = join(__dirname, '..', name)
  if (existsSync(join(published, 'index.js'))) return Code.fromAsset(published)
  return Code.fromAsset(SOURCES[name], {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('scratch'), // required, and never used
      local: {
        tryBundle(outdir) {
          build(name, outdir)
          return true
        },
      },
    },
  })
}

/**
 * The code built in this process: its source does not change while an app is synthesised, however many limiters it has.
 */
const built = new Map<keyof typeof SOURCES, ReadonlyMap<string, Buffer>>()

function build(name: keyof typeof SOURCES, outdir: string): void {
  const files = built.get(name)
  if (files) {
    for (const [file, content] of files) writeFileSync(join(outdir, file), content)
    return
  }
  builderOf(name)(outdir)
  built.set(name, new Map(readdirSync(outdir).map((file) => [file, readFileSync(join(outdir, file))])))
}

/** Loaded only in a clone: the package has neither the builders nor esbuild. */
function builderOf(name: keyof typeof SOURCES): (outdir: string) => void {
  if (name === 'seed') return (require('./seed/seed-bundle') as typeof import('./seed/seed-bundle')).buildSeedBundle
  return (require('./authorizer-bundle') as typeof import('./authorizer-bundle')).buildAuthorizerBundle
}
