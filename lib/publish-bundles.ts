import { join } from 'node:path'
import { buildAuthorizerBundle } from './authorizer-bundle'
import { buildSeedBundle } from './seed/seed-bundle'

/** A step of `npm run build`: the functions' code into `dist`, where `bundledCode` finds it. */
const dist = join(__dirname, '..', 'dist')
buildAuthorizerBundle(join(dist, 'authorizer'))
buildSeedBundle(join(dist, 'seed'))
